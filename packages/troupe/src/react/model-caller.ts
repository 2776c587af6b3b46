import type { ContextCompressor } from '../compression/context-compressor.ts';
import { MsgDraft } from '../message/msg-draft.ts';
import { Msg } from '../message/msg.ts';
import type { ModelRequest } from '../model/chat-model-base.ts';
import { ModelError } from '../model/model-error.ts';
import { abortableItems } from '../util/abort.ts';
import { PrefixMemo } from '../util/prefix-memo.ts';
import type { ReActAgent } from './react-agent.ts';
import type { ReplyState } from './reply-state.ts';

/** The parts of a model request that differ from one model call of a reply to the next. */
export interface ModelCall extends Pick<ModelRequest, 'tools' | 'toolChoice'> {
  readonly purpose: 'reasoning' | 'summary';
  /** Follow the history in this prompt only. */
  readonly hints: readonly Msg[];
}

/**
 * Calls the model of an agent: hints, compression, then one model call whose message is printed while it grows. A prompt
 * that the model refuses as too long is compressed, and sent once more.
 */
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

  /** Resolves to the model message. If the model call is stopped or fails, the text so far is kept in memory. */
  async call(call: ModelCall, reply: ReplyState): Promise<Msg> {
    for (const msg of call.hints) {
      await reply.turn.emit({ type: 'hint', msg });
      if (reply.options.printHintMsg) await reply.agent.print(msg);
    }
    await this.#compress(call, reply, false);
    try {
      reply.modelMsg = await this.#stream(call, reply);
    } catch (error) {
      const isTooLong = ModelError.isInstance(error) && error.kind === 'context_overflow';
      if (!isTooLong || !(await this.#compress(call, reply, true))) throw error;
      reply.modelMsg = await this.#stream(call, reply);
    }
    const { modelMsg } = reply;
    // An answer is printed when the reply ends with it. Tool calls without offered tools are not run.
    if (call.tools !== undefined && modelMsg.hasContentBlocks('tool_use')) await reply.agent.print(modelMsg);
    return modelMsg;
  }

  /** One model call, as a step. */
  async #stream({ purpose, hints, ...request }: ModelCall, reply: ReplyState): Promise<Msg> {
    const { turn, agent, options } = reply;
    const { model, formatter, generation } = options;
    const { name } = this.#agent;
    const history = await reply.memory.recall();
    const toolCallIds = this.#toolCallIdsOf(history);
    const draft = new MsgDraft(name, { isToolCallIdTaken: (id) => toolCallIds.has(id) });
    const messages = [...(await this.#sysPromptMsgs()), ...history, ...hints];
    try {
      // one key for both purposes, so that runs recorded by older versions are replayed
      const step = { kind: 'model', name: purpose, key: 'reasoning', modelName: model.modelName } as const;
      const recorded = await turn.step(step, async () => {
        const deltas = model.stream(
          { ...request, messages, generation, formatter, agentName: name },
          { signal: turn.signal },
        );
        for await (const delta of abortableItems(deltas, turn.signal)) {
          draft.add(delta);
          const soFar = draft.snapshot();
          await agent.print(soFar, false);
          await agent.reasoningChunk(soFar);
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

  /** Returns whether the history is shorter now. */
  async #compress({ tools = [], hints }: ModelCall, reply: ReplyState, force: boolean): Promise<boolean> {
    if (this.#compressor === undefined) return false;
    const { turn, options, requestIds } = reply;
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
