import type { AudioBlock, ContentBlock, ToolOutputBlock, ToolResultBlock } from '../message/blocks.ts';
import type { ModelDelta } from '../message/model-delta.ts';
import type { Msg } from '../message/msg.ts';
import type { ChatModelBase, ModelRequest } from '../model/chat-model-base.ts';
import { WrapperModel, type RelayOptions } from '../model/wrappers/wrapper-model.ts';
import { soundOfBlock } from '../util/audio/wav.ts';
import type { SttModelBase } from './stt-model-base.ts';

/**
 * Lets a model that can't hear take part in spoken conversations: sounds of messages and tool results become text before the model
 * call. Each sound is written down once, also if it stays in the history. Sounds that are no WAV and no PCM stay as they are.
 *
 * @example
 * ```ts no-run
 * import { ReActAgent } from 'troupe';
 * import { OpenAIChatModel, OpenAISttModel } from 'troupe/openai';
 * import { TranscribeModel } from 'troupe/speech';
 *
 * const stt = new OpenAISttModel({ modelName: 'gpt-transcribe' });
 * const model = new TranscribeModel(new OpenAIChatModel({ modelName: 'deepseek-chat', vendor: 'deepseek' }), stt);
 * console.log(new ReActAgent({ name: 'Friday', model }).name);
 * ```
 */
export class TranscribeModel extends WrapperModel {
  static override readonly className: string = 'TranscribeModel';

  readonly #stt: SttModelBase;
  /** Texts of sounds, by the block: messages are immutable. */
  readonly #texts = new WeakMap<AudioBlock, Promise<string>>();
  /** Messages without their sounds: the same message gives the same object, whose wire form is kept. */
  readonly #readable = new WeakMap<Msg, Msg>();

  constructor(model: ChatModelBase, stt: SttModelBase) {
    super(model);
    this.#stt = stt;
  }

  protected override async *relay(
    request: ModelRequest,
    options: RelayOptions,
  ): AsyncGenerator<ModelDelta, void, void> {
    const messages: Msg[] = [];
    for (const msg of request.messages) messages.push(await this.#read(msg, options.signal));
    yield* this.model.stream({ ...request, messages }, options);
  }

  async #read(msg: Msg, signal: AbortSignal): Promise<Msg> {
    const known = this.#readable.get(msg);
    if (known !== undefined) return known;
    if (!msg.getContentBlocks().some(hasSound)) return msg;
    const content: ContentBlock[] = [];
    for (const block of msg.getContentBlocks()) content.push(await this.#readBlock(block, signal));
    const readable = msg.with({ content });
    this.#readable.set(msg, readable);
    return readable;
  }

  async #readBlock(block: ContentBlock, signal: AbortSignal): Promise<ContentBlock> {
    if (block.type === 'audio') return this.#write(block, signal);
    if (block.type !== 'tool_result' || typeof block.output === 'string') return block;
    const output: ToolOutputBlock[] = [];
    for (const one of block.output) output.push(one.type === 'audio' ? await this.#write(one, signal) : one);
    return { ...block, output } satisfies ToolResultBlock;
  }

  async #write(block: AudioBlock, signal: AbortSignal): Promise<AudioBlock | { type: 'text'; text: string }> {
    const sound = soundOfBlock(block);
    if (sound === undefined) return block;
    let text = this.#texts.get(block);
    if (text === undefined) {
      text = this.#stt.toTranscript(sound, { signal }).then((transcript) => transcript.text.trim());
      this.#texts.set(block, text);
      text.catch(() => this.#texts.delete(block)); // the next model call tries again
    }
    return { type: 'text', text: (await text) || '(nothing was said)' };
  }
}

function hasSound(block: ContentBlock): boolean {
  if (block.type === 'tool_result' && typeof block.output !== 'string')
    return block.output.some(({ type }) => type === 'audio');
  return block.type === 'audio';
}
