import type { ContextCompressor } from '../compression/context-compressor.ts';
import { MsgDraft } from '../message/msg-draft.ts';
import { Msg } from '../message/msg.ts';
import type { ModelRequest, ToolSchema } from '../model/chat-model-base.ts';
import { abortableItems } from '../util/abort.ts';
import { PrefixMemo } from '../util/prefix-memo.ts';
import type { ModelPrompt } from './react-agent-base.ts';
import type { ReActAgent } from './react-agent.ts';
import type { ReplyState } from './reply-state.ts';

/** The parts of a model request that differ from one model call of a reply to the next. */
export interface ModelCall extends Pick<ModelRequest, 'tools' | 'toolChoice'> {
  readonly purpose: 'reasoning' | 'summary';
}

/** Calls the model of an agent: compression and a prompt first, then one model call whose message is printed while it grows. */
export class ModelCaller {
  readonly #agent: Pick<ReActAgent, 'name' | 'sysPrompt'>;
  readonly #compressor: ContextCompressor | undefined;
  /** Ids of all tool calls of a history. */
  readonly #toolCallIds = new PrefixMemo<Msg, Set<string>>();
  #sysPrompt: Msg | undefined;

  constructor(agent: Pick<ReActAgent, 'name' | 'sysPrompt'>, compressor: ContextCompressor | undefined) {
    this.#agent = agent;
    this.#compressor = compressor;
  }

  /** Sends the hints of the next model call as events, and prints them if wanted. */
  async tellHints({ hints, turn, options, agent }: ReplyState): Promise<void> {
    for (const msg of hints) {
      await turn.emit({ type: 'hint', msg });
      if (options.printHintMsg) await agent.print(msg);
    }
  }

  /** The prompt of a model call, from what is in memory now. */
  async makePrompt({ hints, memory, options }: ReplyState): Promise<ModelPrompt> {
    const messages = [...(await this.#sysPromptMsgs()), ...(await memory.recall()), ...hints];
    return { messages, generation: options.generation };
  }

  /** Resolves to the model message. If the model call is stopped or fails, the text so far is kept in memory. */
  async call(call: ModelCall, prompt: ModelPrompt, reply: ReplyState): Promise<Msg> {
    const modelMsg = await this.#stream(call, prompt, reply);
    reply.modelMsg = modelMsg;
    // An answer is printed when the reply ends with it. Tool calls without offered tools are not run.
    if (call.tools !== undefined && modelMsg.hasContentBlocks('tool_use')) await reply.agent.print(modelMsg);
    return modelMsg;
  }

  /** One model call, as a step. */
  async #stream({ purpose, ...request }: ModelCall, prompt: ModelPrompt, reply: ReplyState): Promise<Msg> {
    const { turn, agent } = reply;
    const { model, formatter } = reply.options;
    const { name: agentName } = this.#agent;
    const toolCallIds = this.#toolCallIdsOf(await reply.memory.recall());
    const draft = new MsgDraft(agentName, { isToolCallIdTaken: (id) => toolCallIds.has(id) });
    try {
      // one key for both purposes, so that runs recorded by older versions are replayed
      const step = { kind: 'model', name: purpose, key: 'reasoning', modelName: model.modelName } as const;
      const recorded = await turn.step(step, async () => {
        const { signal } = turn;
        const deltas = model.stream({ ...request, ...prompt, formatter, agentName }, { signal });
        for await (const delta of abortableItems(deltas, signal)) {
          draft.add(delta);
          const soFar = draft.snapshot();
          await agent.print(soFar, false);
          await agent.modelChunk(purpose, soFar, delta);
        }
        return draft.finish();
      });
      const msg = recorded instanceof Msg ? recorded : Msg.from(recorded); // a replayed step gives JSON
      await turn.addUsage(msg.usage, msg.id);
      return msg;
    } catch (error) {
      const rest = draft.cutShort();
      if (rest !== undefined) {
        await reply.rememberUnrun(rest);
        await agent.print(rest);
      }
      throw error;
    }
  }

  /** Returns whether the history is shorter now. @param force the model refused the prompt as too long */
  async compress(tools: readonly ToolSchema[], reply: ReplyState, force: boolean): Promise<boolean> {
    if (this.#compressor === undefined) return false;
    const { turn, options, requestIds, hints } = reply;
    return this.#compressor.compress({
      signal: turn.signal,
      model: options.model,
      formatter: options.formatter?.untruncated ?? options.formatter,
      sysPrompt: await this.#sysPromptText(),
      tools,
      hints,
      agentName: this.#agent.name,
      requestIds,
      force,
      planHint: options.planNotebook?.getCompressionHint(),
      step: (step, body) => turn.step(step, body),
      emit: (event) => turn.emit(event),
      addUsage: (usage) => turn.addUsage(usage),
    });
  }

  /** The system prompt as a message: the same object while the text stays the same, so that its wire form is cached. */
  async #sysPromptMsgs(): Promise<readonly Msg[]> {
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

  #toolCallIdsOf(history: readonly Msg[]): ReadonlySet<string> {
    return this.#toolCallIds.workOn(
      history,
      () => new Set<string>(),
      (ids, msg) => {
        for (const call of msg.getContentBlocks('tool_use')) ids.add(call.id);
        return ids;
      },
    );
  }
}
