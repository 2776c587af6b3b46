import { isProgramObserved, tellObservers } from '../agent/program-observers.ts';
import type { ContextCompressor } from '../compression/context-compressor.ts';
import { MsgDraft } from '../message/msg-draft.ts';
import { Msg } from '../message/msg.ts';
import type { ModelRequest, ToolSchema } from '../model/chat-model-base.ts';
import { deltaBatches } from '../model/delta-stream.ts';
import { ModelError } from '../model/model-error.ts';
import { abortableItems } from '../util/abort.ts';
import { PrefixMemo } from '../util/prefix-memo.ts';
import { hintMsg, SUMMARY_HINT } from './hints.ts';
import type { ModelCallPurpose, ModelPrompt } from '../agent/turn/hook-results.ts';
import type { ReplyAgent, ReplyState } from './reply-state.ts';

/** The parts of a model request that differ from one model call of a reply to the next. */
interface ModelCall extends Pick<ModelRequest, 'tools' | 'toolChoice'> {
  readonly purpose: ModelCallPurpose;
}

/** Calls the model of an agent: hints, compression and a prompt first, then one model call whose message is printed while it grows. */
export class ModelCaller {
  readonly #compressor: ContextCompressor | undefined;
  /** Ids of all tool calls of a history. */
  readonly #toolCallIds = new PrefixMemo<Msg, Set<string>>();
  /** The system prompt: the same message while the text stays the same, so that its wire form is cached. */
  #sysPrompt: Msg | undefined;

  constructor(compressor: ContextCompressor | undefined) {
    this.#compressor = compressor;
  }

  /**
   * Resolves to the model message. If the model call is stopped or fails, the text so far is kept in memory, as its hooks leave it. A prompt that the model
   * refuses as too long is compressed, and sent once more.
   */
  async call(call: ModelCall, reply: ReplyState): Promise<Msg> {
    const { agent, control } = reply;
    const { purpose, tools } = call;
    try {
      const prompt = await agent.prompt(purpose, control.turn);
      const msg = await this.#stream(call, prompt, reply).catch(async (error: unknown) => {
        const isTooLong = ModelError.isInstance(error) && error.kind === 'context_overflow';
        if (!isTooLong || !(await this.#compress(tools ?? [], reply, true))) throw error;
        const shorter = await agent.hookAgain(purpose, await this.#prompt(reply), control.turn);
        return this.#stream(call, shorter, reply);
      });
      reply.modelMsg = msg;
      // An answer is printed when the reply ends with it. Tool calls without offered tools are not run.
      if (tools !== undefined && msg.hasContentBlocks('tool_use')) await agent.self.print(msg);
      reply.notices = []; // read by the model
      return msg;
    } catch (error) {
      this.giveNoticesBack(reply);
      throw error;
    }
  }

  /** The prompt of the next model call, after compression. Sends its hints as events, and prints them if wanted. */
  async makePrompt(purpose: ModelCallPurpose, reply: ReplyState): Promise<ModelPrompt> {
    const { agent, control, options, toolkit } = reply;
    const isSummary = purpose === 'summary';
    reply.hints = isSummary ? [hintMsg(SUMMARY_HINT)] : await this.#takeHints(reply);
    for (const msg of reply.hints) {
      await control.emit({ type: 'hint', msg });
      if (options.printHintMsg) await agent.self.print(msg);
    }
    await this.#compress(isSummary ? [] : toolkit.getJsonSchemas(), reply, false);
    return this.#prompt(reply);
  }

  /** Keeps notices that no model has read for the next prompt. */
  giveNoticesBack(reply: ReplyState): void {
    reply.options.background?.giveNoticesBack(reply.notices);
    reply.notices = [];
  }

  /** Hints for one prompt: of the loop, of background tasks, and about the plan. */
  async #takeHints(reply: ReplyState): Promise<readonly Msg[]> {
    const { planNotebook, background } = reply.options;
    const planHint =
      planNotebook?.isActiveIn(reply.toolkit) && (await planNotebook.getCurrentHint(reply.agent.self.name));
    reply.notices = background?.takeNotices() ?? [];
    const hints = [...reply.nextHints.splice(0), ...reply.notices].map(hintMsg);
    return planHint ? [...hints, planHint] : hints;
  }

  /** The prompt of a model call, from what is in memory now. */
  async #prompt({ agent, hints, memory, options, retrieved, requestIds }: ReplyState): Promise<ModelPrompt> {
    const text = await this.#sysPromptText(agent);
    if (this.#sysPrompt?.text !== text) this.#sysPrompt = text === '' ? undefined : Msg.system(text);
    const opening = this.#sysPrompt === undefined ? [] : [this.#sysPrompt];
    const history = await memory.recall();
    const asked = history.findLastIndex(({ id }) => requestIds.has(id));
    const behind = retrieved.length === 0 || asked < 0 ? history.length : asked + 1;
    const messages = [
      ...opening,
      ...history.slice(0, behind),
      ...retrieved,
      ...history.slice(behind),
      ...hints,
    ];
    return { messages, generation: options.generation, http: undefined };
  }

  /** One model call, as a step. */
  async #stream({ purpose, ...request }: ModelCall, prompt: ModelPrompt, reply: ReplyState): Promise<Msg> {
    const { control, agent } = reply;
    const { model, formatter } = reply.options;
    const { name: agentName } = agent.self;
    const history = await reply.memory.recall();
    const toolCallIds = this.#toolCallIdsOf(history);
    const draft = new MsgDraft(agentName, { isToolCallIdTaken: (id) => toolCallIds.has(id) });
    try {
      // one key for both purposes, so that runs recorded by older versions are replayed
      const step = { kind: 'model', name: purpose, key: 'reasoning', modelName: model.modelName } as const;
      if (isProgramObserved()) this.#tellPrompt({ purpose, ...request }, prompt, reply);
      const recorded = await control.steps.run(step, async () => {
        const { signal } = control;
        const deltas = model.stream({ ...request, ...prompt, formatter, agentName }, { signal });
        for await (const batch of abortableItems(deltaBatches(deltas), signal)) {
          for (const delta of batch) {
            signal.throwIfAborted();
            draft.add(delta);
            const waits = agent.showDraft(purpose, draft, delta, control);
            if (waits) await waits;
          }
        }
        return draft.finish();
      });
      const msg = recorded instanceof Msg ? recorded : Msg.from(recorded); // a replayed step gives JSON
      await control.addUsage(msg.usage, msg.id);
      return msg;
    } catch (error) {
      const rest = draft.cutShort();
      if (rest !== undefined) {
        const args = { toolChoice: request.toolChoice, turn: control.turn, ...prompt };
        const kept = await reply.hookCutMsg(purpose, args, rest, history);
        if (kept !== undefined) await reply.storeWithoutRunning(kept);
        await agent.self.print(kept ?? rest); // ends the printed message, also when memory does not keep it
      }
      throw error;
    }
  }

  #tellPrompt({ purpose, tools = [], toolChoice }: ModelCall, prompt: ModelPrompt, reply: ReplyState): void {
    const { agentId, runId, agentPath } = reply.control.place;
    const { messages, generation } = prompt;
    const { modelName } = reply.options.model;
    const place = { agentId, runId, replyId: reply.id, agentPath };
    const observed = { ...place, purpose, modelName, messages, tools, toolChoice, generation };
    tellObservers((observer) => observer.onPrompt(observed));
  }

  /** Returns whether the history is shorter now. @param force the model refused the prompt as too long */
  async #compress(tools: readonly ToolSchema[], reply: ReplyState, force: boolean): Promise<boolean> {
    if (this.#compressor === undefined) return false;
    const { control, agent, options, requestIds, hints } = reply;
    return this.#compressor.compress({
      signal: control.signal,
      model: options.model,
      formatter: options.formatter?.untruncated ?? options.formatter,
      sysPrompt: await this.#sysPromptText(agent),
      tools,
      hints,
      agentName: agent.self.name,
      requestIds,
      force,
      planHint: options.planNotebook?.getCompressionHint(),
      step: (step, body) => control.steps.run(step, body),
      emit: (event) => control.emit(event),
      addUsage: (usage) => control.addUsage(usage),
    });
  }

  async #sysPromptText({ self: { sysPrompt } }: ReplyAgent): Promise<string> {
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
