import { PrefixMemo } from '../formatter/prefix-memo.ts';
import { MsgDraft } from '../message/msg-draft.ts';
import { Msg } from '../message/msg.ts';
import type { ModelRequest } from '../model/chat-model-base.ts';
import { abortableItems } from '../util/abort.ts';
import type { ReActAgent, ReActAgentOptions } from './react-agent.ts';
import type { Turn } from './turn.ts';

export interface Thought extends Pick<ModelRequest, 'tools' | 'toolChoice'> {
  readonly history: readonly Msg[];
  /** Stand behind the history, for this once. */
  readonly hints: readonly Msg[];
}

export interface ThoughtListener {
  /** The thought has grown. */
  onChunk(soFar: Msg): Promise<void>;
  /** The thought was stopped, or the model failed: this is what there is of it. */
  onCutShort(rest: Msg): Promise<void>;
}

/** Asks the model of an agent. */
export class Thinker {
  readonly #agent: Pick<ReActAgent, 'name' | 'sysPrompt'>;
  readonly #options: ReActAgentOptions;
  /** The ids of all calls of a history. */
  readonly #callIds = new PrefixMemo<Msg, Set<string>>();
  #sysPrompt: Msg | undefined;

  constructor(agent: Pick<ReActAgent, 'name' | 'sysPrompt'>, options: ReActAgentOptions) {
    this.#agent = agent;
    this.#options = options;
  }

  /** One model call, as a step of the turn. */
  async think({ history, hints, ...request }: Thought, turn: Turn, listener: ThoughtListener): Promise<Msg> {
    const { model, formatter, generateOptions: generation } = this.#options;
    const { name } = this.#agent;
    const callIds = this.#callIdsOf(history);
    const draft = new MsgDraft(name, { isCallIdTaken: (id) => callIds.has(id) });
    const messages = [...(await this.#sysPromptNow()), ...history, ...hints];
    try {
      const thought = await turn.step('model', async () => {
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

  /** The system prompt of now: the very same message as long as its text is the same. */
  async #sysPromptNow(): Promise<readonly Msg[]> {
    const { sysPrompt } = this.#agent;
    const text = typeof sysPrompt === 'string' ? sysPrompt : await sysPrompt();
    if (text === '') return [];
    if (this.#sysPrompt?.text !== text) this.#sysPrompt = Msg.system(text);
    return [this.#sysPrompt];
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
