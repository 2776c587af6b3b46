import type { ContextCompressor } from '../compression/context-compressor.ts';
import { PrefixMemo } from '../util/prefix-memo.ts';
import { MsgDraft } from '../message/msg-draft.ts';
import { Msg } from '../message/msg.ts';
import type { ModelRequest } from '../model/chat-model-base.ts';
import { ModelError } from '../model/model-error.ts';
import { abortableItems } from '../util/abort.ts';
import type { OrderedMemory } from '../approval/ordered-memory.ts';
import type { ReActAgent } from './react-agent.ts';
import type { ReActAgentOptions } from './react-agent-options.ts';
import type { Turn } from '../agent/turn.ts';

export interface Thought extends Pick<ModelRequest, 'tools' | 'toolChoice'> {
  /** Stand behind the history, for this once. */
  readonly hints: readonly Msg[];
  /** The ids of what was asked. */
  readonly requestIds: ReadonlySet<string>;
}

export interface ThoughtListener {
  /** The thought has grown. */
  onChunk(soFar: Msg): Promise<void>;
  /** The thought was stopped, or the model failed: this is what there is of it. */
  onCutShort(rest: Msg): Promise<void>;
}

/**
 * Asks the model of an agent, after whoever keeps the conversation small has had a chance. If the model refuses a
 * prompt because it is too long, room is made and it is asked once more.
 */
export class Thinker {
  readonly #agent: Pick<ReActAgent, 'name' | 'sysPrompt'>;
  readonly #memory: OrderedMemory;
  readonly #compressor: ContextCompressor | undefined;
  readonly #options: ReActAgentOptions;
  /** The ids of all calls of a history. */
  readonly #callIds = new PrefixMemo<Msg, Set<string>>();
  #sysPrompt: Msg | undefined;

  constructor(
    agent: Pick<ReActAgent, 'name' | 'sysPrompt'>,
    memory: OrderedMemory,
    options: ReActAgentOptions,
    compressor: ContextCompressor | undefined,
  ) {
    this.#agent = agent;
    this.#memory = memory;
    this.#compressor = compressor;
    this.#options = options;
  }

  async think(request: Thought, turn: Turn, listener: ThoughtListener): Promise<Msg> {
    await this.#compress(request, turn, false);
    try {
      return await this.#think(request, turn, listener);
    } catch (error) {
      const isTooLong = ModelError.isInstance(error) && error.kind === 'context_overflow';
      if (!isTooLong || !(await this.#compress(request, turn, true))) throw error;
    }
    return this.#think(request, turn, listener);
  }

  /** One model call, as a step of the turn. */
  async #think(
    { hints, requestIds: _, ...request }: Thought,
    turn: Turn,
    listener: ThoughtListener,
  ): Promise<Msg> {
    const { model, formatter, generation } = this.#options;
    const { name } = this.#agent;
    const history = await this.#memory.recall();
    const callIds = this.#callIdsOf(history);
    const draft = new MsgDraft(name, { isCallIdTaken: (id) => callIds.has(id) });
    const messages = [...(await this.#sysPromptNow()), ...history, ...hints];
    try {
      const thought = await turn.step({ kind: 'model', name: 'reasoning' }, async () => {
        const deltas = model.stream(
          { ...request, messages, generation, formatter, agentName: name },
          { signal: turn.signal },
        );
        for await (const delta of abortableItems(deltas, turn.signal)) {
          draft.add(delta);
          await listener.onChunk(draft.snapshot());
        }
        return draft.finish();
      });
      const msg = thought instanceof Msg ? thought : Msg.from(thought); // what was recorded may come back as JSON
      await turn.addUsage(msg.usage);
      return msg;
    } catch (error) {
      const rest = draft.cutShort();
      if (rest !== undefined) await listener.onCutShort(rest);
      throw error;
    }
  }

  /** Returns whether there is more room now. */
  async #compress({ tools = [], hints, requestIds }: Thought, turn: Turn, force: boolean): Promise<boolean> {
    const { model, planNotebook } = this.#options;
    return (
      this.#compressor?.compress({
        signal: turn.signal,
        model,
        sysPrompt: await this.#sysPromptText(),
        tools,
        hints,
        agentName: this.#agent.name,
        requestIds,
        force,
        planHint: planNotebook?.getCompressionHint(),
        step: (step, body) => turn.step(step, body),
        emit: (event) => turn.emit(event),
        addUsage: (usage) => turn.addUsage(usage),
      }) ?? false
    );
  }

  /** The system prompt of now: the very same message as long as its text is the same. */
  async #sysPromptNow(): Promise<readonly Msg[]> {
    const text = await this.#sysPromptText();
    if (text === '') return [];
    if (this.#sysPrompt?.text !== text) this.#sysPrompt = Msg.system(text);
    return [this.#sysPrompt];
  }

  async #sysPromptText(): Promise<string> {
    const { sysPrompt } = this.#agent;
    const own = typeof sysPrompt === 'string' ? sysPrompt : await sysPrompt();
    const { contextInstruction = '' } = this.#compressor ?? {};
    return [own, contextInstruction].filter((text) => text !== '').join('\n\n');
  }

  #callIdsOf(history: readonly Msg[]): ReadonlySet<string> {
    return this.#callIds.workOn(
      history,
      () => new Set<string>(),
      (ids, msg) => {
        for (const call of msg.getContentBlocks('tool_use')) ids.add(call.id);
        return ids;
      },
    );
  }
}
