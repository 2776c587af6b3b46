import { getLogger } from '../../config/run-config.ts';
import { messageOf } from '../../errors.ts';
import type { BlockChange } from '../../message/block-change.ts';
import type { AudioBlock } from '../../message/blocks.ts';
import type { Msg } from '../../message/msg.ts';
import { MarkdownSpeech, SentenceSplitter, type SpeakableFilter } from '../../tts/speech-text.ts';
import { pcmMediaType, type SpeechDelta, type TtsModelBase } from '../../tts/tts-model-base.ts';
import { abortable, abortableItems, whenAborted } from '../../util/abort.ts';
import { BoundedQueue } from '../../util/async/bounded-queue.ts';
import { toBase64 } from '../../util/base64.ts';
import type { TurnControl } from '../turn/turn-control.ts';

/** Prints a message with a piece of its speech. */
type PrintSpeech = (msg: Msg, last: boolean, speech: AudioBlock) => Promise<void>;

export interface SpeechOptions {
  readonly ttsModel: TtsModelBase;
  /** Makes the filter of one text: what is read out of it. @default leaves out code, tables and marks of Markdown */
  readonly speakable?: (() => SpeakableFilter) | undefined;
}

/** Speech of one message. */
interface Utterance {
  /** The message as it was printed last. */
  msg: Msg;
  isComplete: boolean;
  filter: SpeakableFilter;
  readonly splitter: SentenceSplitter;
  /** Sentences that are not spoken yet. */
  readonly sentences: BoundedQueue<string>;
}

/** Filter of a message whose speech has failed: nothing is read out any more. */
const SILENT: SpeakableFilter = { feed: () => '', end: () => '' };

/**
 * Speaks the text of printed messages while it grows, sentence by sentence, one message at a time. The reply does not wait for
 * speech, its end does. An interrupt ends speech at once; a failure of speech is an `error` event, and ends the speech of that
 * message only. The answer to an interrupt is not spoken.
 */
export class SpeechOutput {
  readonly #model: TtsModelBase;
  readonly #newFilter: () => SpeakableFilter;
  readonly #print: PrintSpeech;
  readonly #utterances = new Map<string, Utterance>();
  readonly #own = new WeakSet<AudioBlock>();
  /** Settles when everything so far is spoken. Never rejects. */
  #spoken: Promise<void> = Promise.resolve();
  /** The last reply that was stopped: the answer to its interrupt is not spoken. */
  #stoppedReplyId: string | undefined;

  constructor({ ttsModel, speakable = () => new MarkdownSpeech() }: SpeechOptions, print: PrintSpeech) {
    this.#model = ttsModel;
    this.#newFilter = speakable;
    this.#print = print;
  }

  /** Whether this object made the speech, for a message whose text is printed apart from it. */
  isOwn(speech: AudioBlock | undefined): boolean {
    return speech !== undefined && this.#own.has(speech);
  }

  /** Speaks what is new in a printed message. */
  take(changes: readonly BlockChange[], msg: Msg, last: boolean, call: TurnControl): void {
    if (msg.role !== 'assistant' || call.signal.aborted || call.reply.id === this.#stoppedReplyId) return;
    let utterance = this.#utterances.get(msg.id);
    for (const change of changes) {
      if (change.type === 'msg_reset') {
        utterance?.sentences.close();
        this.#utterances.delete(msg.id);
        utterance = undefined;
      } else if (change.type === 'text_delta') {
        const { filter, splitter } = (utterance ??= this.#begin(msg, call));
        say(utterance, () => splitter.feed(filter.feed(change.text)), call);
      } else if (change.type === 'block_end' && utterance !== undefined) {
        endText(utterance, call);
      }
    }
    if (utterance === undefined) return;
    utterance.msg = msg;
    if (last) this.#complete(utterance, call);
  }

  /** Resolves when the messages of a call are spoken, or at once if it is stopped. */
  async end(call: TurnControl): Promise<void> {
    for (const utterance of this.#utterances.values()) this.#complete(utterance, call);
    if (call.signal.aborted) this.#stoppedReplyId = call.reply.id;
    call.isSpeaking = true;
    await abortable(this.#spoken, call.signal).catch(() => {});
    call.isSpeaking = false;
  }

  #begin(msg: Msg, call: TurnControl): Utterance {
    const utterance: Utterance = {
      msg,
      isComplete: false,
      filter: SILENT,
      splitter: new SentenceSplitter(),
      sentences: new BoundedQueue(Number.MAX_SAFE_INTEGER), // bounded by the text of one message
    };
    try {
      utterance.filter = this.#newFilter();
    } catch (error) {
      fail(utterance, error, call);
    }
    this.#utterances.set(msg.id, utterance);
    this.#spoken = this.#spoken.then(() => this.#speak(utterance, call));
    return utterance;
  }

  #complete(utterance: Utterance, call: TurnControl): void {
    endText(utterance, call);
    utterance.isComplete = true;
    utterance.sentences.close();
    this.#utterances.delete(utterance.msg.id);
  }

  async #speak(utterance: Utterance, call: TurnControl): Promise<void> {
    const { signal } = call;
    const { sentences } = utterance;
    const unlink = whenAborted(signal, () => sentences.close());
    try {
      const texts = this.#model.takesTextStream ? [sentences] : sentences;
      for await (const text of texts) {
        signal.throwIfAborted();
        const speech = this.#model.synthesize(text, { signal });
        for await (const delta of abortableItems(speech, signal))
          await abortable(this.#tell(delta, utterance, call), signal);
      }
    } catch (error) {
      if (!signal.aborted) fail(utterance, error, call);
    } finally {
      unlink();
    }
  }

  async #tell(
    { audio, usage }: SpeechDelta,
    { msg, isComplete }: Utterance,
    call: TurnControl,
  ): Promise<void> {
    await call.addUsage(usage);
    if (audio === undefined || audio.data.length === 0) return;
    const mediaType = pcmMediaType(audio.rate);
    const speech: AudioBlock = {
      type: 'audio',
      source: { type: 'base64', mediaType, data: toBase64(audio.data) },
    };
    this.#own.add(speech);
    await this.#print(msg, isComplete, speech);
  }
}

/** Adds what is read out of a text. A filter that fails ends the speech of the message. */
function say(utterance: Utterance, read: () => readonly string[], call: TurnControl): void {
  try {
    for (const text of read()) void utterance.sentences.put(text);
  } catch (error) {
    fail(utterance, error, call);
  }
}

/** Ends a text block: what follows is another text. */
function endText(utterance: Utterance, call: TurnControl): void {
  const { filter, splitter } = utterance;
  say(utterance, () => [...splitter.feed(filter.end()), ...splitter.end()], call);
}

function fail(utterance: Utterance, error: unknown, call: TurnControl): void {
  utterance.filter = SILENT;
  utterance.sentences.close();
  const message = `${utterance.msg.name} could not speak: ${messageOf(error)}`;
  getLogger().log('warn', message);
  void call.emit({ type: 'error', error: { message } });
}
