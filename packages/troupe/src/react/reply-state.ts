import { controlOf } from '../agent/turn/current-turn.ts';
import type { ReplyScope } from '../agent/turn/current-reply.ts';
import type { TurnControl } from '../agent/turn/turn-control.ts';
import type { Turn } from '../agent/turn/turn.ts';
import { resultsIn, type UnfinishedToolCalls } from '../approval/unfinished-tool-calls.ts';
import { OpenExchange } from '../approval/open-exchange.ts';
import { getLogger } from '../config/run-config.ts';
import { messageOf } from '../errors.ts';
import type { OrderedMemory } from '../memory/ordered-memory.ts';
import { withoutResults, type CallStart } from '../approval/call-start.ts';
import type { ToolResultBlock, ToolUseBlock } from '../message/blocks.ts';
import { both } from '../event/event-outlet.ts';
import type { ModelDelta } from '../message/model-delta.ts';
import type { MsgDraft } from '../message/msg-draft.ts';
import type { Msg } from '../message/msg.ts';
import type { ToolChoice } from '../model/chat-model-base.ts';
import type { KnowledgeCitation } from '../rag/citation-text.ts';
import type { KnowledgeBase } from '../rag/knowledge-base.ts';
import type { Toolkit } from '../toolkit/toolkit.ts';
import { untilStopped } from '../util/async/grace.ts';
import { assertValidReplacement } from './model-message.ts';
import type { ModelCallPurpose, ModelPrompt } from '../agent/turn/hook-results.ts';
import type { ReActAgentOptions } from './react-agent-options.ts';
import type { ReActAgentBase } from './react-agent-base.ts';
import { RepeatedFailures } from './repeated-failures.ts';
import { StructuredOutputTool } from './structured-output-tool.ts';

/** Hooks after a model call. */
type PostModelHook = 'postReasoning' | 'postSummary';

/** Arguments of the hooks after a model call. */
interface ModelCallArgs extends ModelPrompt {
  readonly toolChoice: ToolChoice | undefined;
  readonly turn: Turn;
}

/** The agent as the parts of a reply use it: with what `ReActAgent` keeps private or protected. */
export interface ReplyAgent {
  readonly self: Pick<ReActAgentBase, 'name' | 'print' | 'hooksOf'> & {
    readonly sysPrompt: string | (() => string | Promise<string>);
    readonly knowledge: readonly KnowledgeBase[];
  };
  readonly options: ReActAgentOptions;
  /** The toolkit, with the tools of memory, plan, compression, background tasks and hooks. */
  readonly tools: () => Toolkit;
  readonly memory: OrderedMemory;
  readonly unfinishedToolCalls: UnfinishedToolCalls;
  /** The prompt of a model call, as its hooks left it. */
  readonly prompt: (purpose: ModelCallPurpose, turn: Turn) => Promise<ModelPrompt>;
  /** Has the hooks before a model call change a prompt that was made anew. */
  readonly hookAgain: (purpose: ModelCallPurpose, prompt: ModelPrompt, turn: Turn) => Promise<ModelPrompt>;
  /** Has the hooks after a model call change a model message that was cut off. */
  readonly hookCutMsg: (type: PostModelHook, args: ModelCallArgs, msg: Msg, end: AbortSignal) => Promise<Msg>;
  /**
   * Prints a model message that grows, then runs the `reasoningChunk` or `summaryChunk` hooks. Returns a promise only where somebody is
   * slow, or a hook is registered.
   */
  readonly showDraft: (
    purpose: ModelCallPurpose,
    draft: MsgDraft,
    delta: ModelDelta,
    control: TurnControl,
  ) => void | Promise<void>;
  /** Runs the `actingChunk` hooks. */
  readonly actingChunk: (
    call: ToolUseBlock,
    result: ToolResultBlock,
    previous: ToolResultBlock | undefined,
  ) => Promise<void>;
}

/**
 * State of one reply, passed to every part of it: the control of its agent call, the tools, the messages added to memory, and the exchange
 * whose tool calls run or are pending. Found again by the turn, where a subclass or a hook calls a step with nothing else.
 */
export class ReplyState implements ReplyScope {
  readonly id: string;
  readonly agent: ReplyAgent;
  readonly options: ReActAgentOptions;
  readonly memory: OrderedMemory;
  readonly control: TurnControl;
  /** The tools of the agent, and the structured output tool if the caller wants structured output. */
  readonly toolkit: Toolkit;
  readonly structuredOutput: StructuredOutputTool | undefined;
  readonly repeatedFailures = new RepeatedFailures();
  /** Ids of the messages that the reply answers. Compression keeps these messages. */
  readonly requestIds = new Set<string>();
  /** Messages of the reply in memory. */
  readonly added: Msg[] = [];
  readonly addedIds = new Set<string>();
  /** Messages from long-term memory and knowledge, behind the input in each prompt of the reply, and not in memory. */
  retrieved: readonly Msg[] = [];
  readonly retrievedIds = new Set<string>();
  /** Sources of what was retrieved before the reply. */
  citations: readonly KnowledgeCitation[] = [];
  /** Texts of hints for the next prompt. */
  readonly nextHints: string[] = [];
  /** Hints in the current prompt. */
  hints: readonly Msg[] = [];
  /** Notices of background tasks in the current prompt. */
  notices: readonly string[] = [];
  /** Tools that need no further approval in this reply, by `qualifiedName`. */
  readonly grantedTools = new Set<string>();
  /** Tool results whose `postActing` hooks still run, by tool call id. */
  readonly unhookedResults = new Map<string, ToolResultBlock>();
  /** Model message whose hooks still run. */
  modelMsg: Msg | undefined;
  /** Exchange whose tool calls run or are pending. */
  open: OpenExchange | undefined;
  /** Whether the input is in memory, or on its way there. */
  isInputStored = false;

  /** @throws SchemaError if the schema for structured output has no JSON Schema. */
  constructor(agent: ReplyAgent, turn: Turn) {
    this.control = controlOf(turn);
    const { structuredModel, id } = this.control.reply;
    const tools = agent.tools();
    this.id = id;
    this.agent = agent;
    this.options = agent.options;
    this.memory = agent.memory;
    this.structuredOutput = structuredModel && new StructuredOutputTool(structuredModel);
    this.toolkit = this.structuredOutput ? tools.withTools(this.structuredOutput.tool) : tools;
    this.control.reply.scope = this;
  }

  /** Whether a tool call of this reply has no result yet. */
  isUnfinished(toolCallId: string): boolean {
    return this.open?.isUnfinished(toolCallId) ?? false;
  }

  get unstoredResultMsgs(): readonly Msg[] {
    const { exchange } = this.open ?? {};
    if (exchange === undefined || exchange.isClosed) return [];
    const results = exchange.calls.flatMap(({ id }) => exchange.resultOf(id) ?? []);
    return results.map((result) => exchange.resultMsg(result));
  }

  noteStart(toolCallId: string): void {
    this.open?.started.add(toolCallId);
  }

  /** Adds the input to memory, after a closed exchange, and sends events for supplied tool results. */
  async takeInput({ resumed, closed, suppliedResults, input }: CallStart): Promise<void> {
    const earlier = resumed ?? closed;
    this.isInputStored = true;
    if (resumed !== undefined) this.control.costs.resume(resumed.spending);
    for (const id of earlier?.requestIds ?? []) this.requestIds.add(id); // not answered yet
    await Promise.all([closed && this.closeExchange(closed), this.remember(input)]); // in this order
    for (const { id } of [...input, ...(earlier?.postponed ?? [])]) this.requestIds.add(id);
    if (earlier === undefined) return;
    await this.#recall(earlier.addedIds);
    await this.tell(earlier, suppliedResults);
  }

  /** Makes an exchange the open one, before its tool calls run. */
  beginExchange(open: OpenExchange): void {
    this.control.stop.assertNotOver(); // another agent call may have the exchange by now
    this.agent.unfinishedToolCalls.current = open;
    this.open = open;
    open.spending = this.control.costs.spending;
    for (const name of open.grantedTools) this.grantedTools.add(name);
  }

  /** Stores an exchange: the model message and one result for each tool call. Sends events for the results that were not told yet. */
  async closeExchange(open: OpenExchange): Promise<void> {
    this.control.stop.assertNotOver(); // the exchange stays open: the next agent call closes it
    const msgs = open.exchange.toMsgs();
    const written = this.remember([...msgs, ...open.postponed]); // first, because a turn that is over writes nothing
    await Promise.all([written, this.tell(open, resultsIn(msgs))]);
    this.agent.unfinishedToolCalls.forget(open);
  }

  /** Stores a model message whose tool calls are not run: they get the status `interrupted`. */
  async storeWithoutRunning(modelMsg: Msg): Promise<void> {
    if (!this.control.state.isOver) await this.closeExchange(new OpenExchange(modelMsg));
  }

  /**
   * A model message that was cut off, as the hooks after the model call leave it; undefined if they fail, or take too long after a stop.
   * Hooks that have not begun by then do not run.
   * @param history the memory, read before: nothing but the hooks takes the time
   */
  async hookCutMsg(
    purpose: ModelCallPurpose,
    args: ModelCallArgs,
    msg: Msg,
    history: readonly Msg[],
  ): Promise<Msg | undefined> {
    const type: PostModelHook = purpose === 'summary' ? 'postSummary' : 'postReasoning';
    if (this.agent.self.hooksOf(type).length === 0) return msg;
    const { signal } = this.control;
    const end = new AbortController();
    let kept: Msg | undefined;
    const done = this.agent.hookCutMsg(type, args, msg, end.signal).then((changed) => {
      if (changed !== msg) assertValidReplacement(changed, history);
      kept = changed;
    });
    try {
      await untilStopped(done, signal);
    } catch (error) {
      if (!signal.aborted)
        getLogger().log('warn', `The text of a model message so far is withheld: ${messageOf(error)}`);
    }
    end.abort();
    return kept;
  }

  /** Stores an exchange whose tool calls are not run: tool results among the messages are theirs, and the rest is read after them. */
  async skipToolCalls(open: OpenExchange, msgs: readonly Msg[]): Promise<void> {
    for (const result of resultsIn(msgs)) if (open.isUnfinished(result.id)) open.addResult(result);
    open.postponed.push(...this.asRequests(msgs));
    await this.closeExchange(open);
  }

  /** Messages that the reply has to answer too, without tool results: those belong to tool calls. */
  asRequests(msgs: readonly Msg[]): readonly Msg[] {
    const requests = msgs.flatMap(withoutResults);
    for (const { id } of requests) this.requestIds.add(id);
    return requests;
  }

  /** Sends the `tool_result` events of tool calls, once for each tool call. Returns a promise only if somebody is slow. */
  tell(open: OpenExchange, results: readonly ToolResultBlock[]): void | Promise<unknown> {
    if (this.control.outlet.isClosed) return; // the next agent call tells them
    let waits: void | Promise<unknown> = undefined;
    for (const result of results) {
      const end = open.takeEnd(result);
      if (end !== undefined) waits = both(waits, this.control.emit(end)); // sent at once, then awaited
    }
    return waits;
  }

  /**
   * Waits for a model message and its hooks. If that fails, the model's own message is kept in memory, unless hooks may have had to
   * change it.
   * @param type the hooks after the model call
   */
  async hooked(type: PostModelHook, called: Promise<Msg>): Promise<Msg> {
    try {
      const msg = await called;
      if (msg !== this.modelMsg) assertValidReplacement(msg, await this.memory.recall());
      return msg;
    } catch (error) {
      if (this.modelMsg !== undefined && this.agent.self.hooksOf(type).length === 0)
        await this.storeWithoutRunning(this.modelMsg);
      throw error;
    } finally {
      this.modelMsg = undefined;
    }
  }

  /** Adds messages to memory, also after an interrupt. A turn that is over changes nothing. */
  async remember(msgs: readonly Msg[]): Promise<void> {
    if (msgs.length === 0 || this.control.state.isOver) return;
    this.added.push(...msgs);
    for (const { id } of msgs) this.addedIds.add(id);
    await this.memory.add(msgs, (write) => this.control.steps.write({ name: 'memory' }, write));
  }

  /** Finds the messages that the reply added before its tool calls were pending: the long-term memory records them. */
  async #recall(ids: ReadonlySet<string>): Promise<void> {
    if (ids.size === 0 || this.options.longTermMemory === undefined) return;
    const msgs = (await this.memory.recall()).filter(({ id }) => ids.has(id));
    this.added.unshift(...msgs);
    for (const { id } of msgs) this.addedIds.add(id);
  }
}
