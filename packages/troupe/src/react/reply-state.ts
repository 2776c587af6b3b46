import { controlOf } from '../agent/turn/controlled-turn.ts';
import type { ReplyScope, TurnControl } from '../agent/turn/turn-control.ts';
import type { Turn } from '../agent/turn/turn.ts';
import { resultsIn, type OpenToolCalls } from '../approval/open-tool-calls.ts';
import { OpenExchange } from '../approval/open-exchange.ts';
import type { OrderedMemory } from '../memory/ordered-memory.ts';
import { withoutResults, type CallStart } from '../approval/call-start.ts';
import type { ContentBlock, ToolResultBlock, ToolUseBlock } from '../message/blocks.ts';
import type { EndReason } from '../message/end-reason.ts';
import type { Exchange } from '../message/exchange.ts';
import type { ModelDelta } from '../message/model-delta.ts';
import { Msg } from '../message/msg.ts';
import type { Toolkit } from '../toolkit/toolkit.ts';
import { isJsonObject } from '../util/json.ts';
import { assertValidReplacement } from './model-message.ts';
import type { ReActAgentOptions } from './react-agent-options.ts';
import { RepeatedFailures } from './repeated-failures.ts';
import { StructuredOutputTool } from './structured-output-tool.ts';

/** The agent as the parts of a reply use it. */
export interface ReplyAgent {
  readonly options: ReActAgentOptions;
  /** The toolkit, with the tools of memory, plan, compression and background tasks. */
  readonly tools: Toolkit;
  readonly memory: OrderedMemory;
  readonly openToolCalls: OpenToolCalls;
  print(msg: Msg, last?: boolean): Promise<void>;
  /** Runs the `reasoningChunk` or `summaryChunk` hooks. */
  modelChunk(purpose: 'reasoning' | 'summary', msg: Msg, delta: ModelDelta): Promise<void>;
  /** Runs the `actingChunk` hooks. */
  actingChunk(
    call: ToolUseBlock,
    result: ToolResultBlock,
    previous: ToolResultBlock | undefined,
  ): Promise<void>;
  hasHooks(type: 'postReasoning' | 'postActing'): boolean;
}

/**
 * State of one reply, passed to every part of it: the turn, the tools, the messages added to memory, and the exchange
 * whose tool calls run or are pending. Found again by the turn, where a subclass or a hook calls a step with nothing else.
 */
export class ReplyState implements ReplyScope {
  readonly id: string;
  readonly agent: ReplyAgent;
  readonly turn: Turn;
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
  /** Texts of hints for the next prompt. */
  readonly nextHints: string[] = [];
  /** Hints in the current prompt. */
  hints: readonly Msg[] = [];
  /** Notices of background tasks in the current prompt. */
  notices: readonly string[] = [];
  /** Tools that need no further approval in this reply. */
  readonly grantedTools = new Set<string>();
  /** Tool results whose `postActing` hooks still run, by tool call id. */
  readonly results = new Map<string, ToolResultBlock>();
  /** Model message whose hooks still run. */
  modelMsg: Msg | undefined;
  /** Exchange whose tool calls run or are pending. */
  open: OpenExchange | undefined;
  /** Whether the input is in memory, or on its way there. */
  isInputStored = false;

  /** @throws SchemaError if the schema for structured output has no JSON Schema. */
  constructor(agent: ReplyAgent, turn: Turn) {
    const { structuredModel } = turn;
    this.id = turn.replyId;
    this.agent = agent;
    this.turn = turn;
    this.structuredOutput = structuredModel && new StructuredOutputTool(structuredModel);
    this.toolkit = this.structuredOutput ? agent.tools.withTools(this.structuredOutput.tool) : agent.tools;
    this.control = controlOf(turn);
    this.control.replyScope = this;
  }

  get options(): ReActAgentOptions {
    return this.agent.options;
  }

  get memory(): OrderedMemory {
    return this.agent.memory;
  }

  /** Whether a tool call of this reply has no result yet. */
  isCallOpen(toolCallId: string): boolean {
    return this.open?.isOpen(toolCallId) ?? false;
  }

  get resultsSoFar(): readonly Msg[] {
    const { exchange } = this.open ?? {};
    if (exchange === undefined || exchange.isClosed) return [];
    const results = exchange.calls.flatMap(({ id }) => exchange.answerTo(id) ?? []);
    return results.map((result) => exchange.resultMsg(result));
  }

  /** Has the state saved, before a tool changes something; with `toolCallId` noted as started. */
  async checkpoint(toolCallId: string | undefined): Promise<void> {
    if (toolCallId !== undefined) this.open?.start(toolCallId);
    await this.agent.openToolCalls.checkpoint();
  }

  /** Adds the input to memory, after a closed exchange, and sends events for supplied tool results. */
  async takeInput({ resumed, closed, answered, input }: CallStart): Promise<void> {
    const earlier = resumed ?? closed;
    this.isInputStored = true;
    if (resumed !== undefined) this.control.costs.resume(resumed.spending);
    for (const id of earlier?.requestIds ?? []) this.requestIds.add(id); // not answered yet
    await Promise.all([closed && this.closeExchange(closed), this.remember(input)]); // in this order
    for (const { id } of [...input, ...(earlier?.postponed ?? [])]) this.requestIds.add(id);
    await this.#recall(earlier?.addedIds);
    if (earlier !== undefined) await this.tell(earlier, answered);
  }

  /** Makes an exchange the open one, before its tool calls run. */
  beginExchange(open: OpenExchange): void {
    this.control.assertNotOver(); // another agent call may have the exchange by now
    this.agent.openToolCalls.current = open;
    this.open = open;
    open.spending = this.control.costs.spending;
    for (const name of open.grantedTools) this.grantedTools.add(name);
  }

  /** Stores an exchange: the model message and one result for each tool call. Sends events for the results that were not told yet. */
  async closeExchange(open: OpenExchange): Promise<void> {
    this.control.assertNotOver(); // the exchange stays open: the next agent call closes it
    const msgs = open.exchange.toMsgs();
    const written = this.remember([...msgs, ...open.postponed]); // first, because a turn that is over writes nothing
    await Promise.all([written, this.tell(open, resultsIn(msgs))]);
    this.agent.openToolCalls.release(open);
  }

  /** Stores a model message whose tool calls are not run: they get the status `interrupted`. */
  async rememberUnrun(modelMsg: Msg): Promise<void> {
    if (!this.control.state.isOver) await this.closeExchange(new OpenExchange(modelMsg));
  }

  /** Stores an exchange whose tool calls are not run: tool results among the messages are theirs, and the rest is read after them. */
  async skipToolCalls(open: OpenExchange, msgs: readonly Msg[]): Promise<void> {
    for (const result of resultsIn(msgs)) if (open.isOpen(result.id)) open.answer(result);
    open.postponed.push(...this.asRequests(msgs));
    await this.closeExchange(open);
  }

  /** Messages that the reply has to answer too, without tool results: those belong to tool calls. */
  asRequests(msgs: readonly Msg[]): readonly Msg[] {
    const requests = msgs.flatMap(withoutResults);
    for (const { id } of requests) this.requestIds.add(id);
    return requests;
  }

  /** Sends the `tool_result` events of tool calls, once for each tool call. */
  async tell(open: OpenExchange, results: readonly ToolResultBlock[]): Promise<void> {
    if (this.control.outlet.isClosed) return; // the next agent call tells them
    const ends = results.flatMap((result) => open.takeEnd(result) ?? []);
    await Promise.all(ends.map(async (end) => this.turn.emit(end))); // sent at once, then awaited
  }

  /**
   * Waits for a model message and its hooks. If that fails, the model's own message is kept in memory, unless `postReasoning` hooks may
   * have had to change it.
   */
  async hooked(reasoning: Promise<Msg>): Promise<Msg> {
    try {
      const msg = await reasoning;
      if (msg !== this.modelMsg) assertValidReplacement(msg, await this.memory.recall());
      return msg;
    } catch (error) {
      if (this.modelMsg !== undefined && !this.agent.hasHooks('postReasoning'))
        await this.rememberUnrun(this.modelMsg);
      throw error;
    } finally {
      this.modelMsg = undefined;
    }
  }

  /** The answer in an exchange: validated structured output, what a tool gave as the answer, or the result of a tool with `returnDirect`. */
  async answerIn(exchange: Exchange, name: string): Promise<{ msg: Msg; reason: EndReason } | undefined> {
    const output = await this.structuredOutput?.read(exchange);
    if (output !== undefined) {
      const text = exchange.modelMsg.text || JSON.stringify(output.metadata);
      const { answeredBy } = exchange.modelMsg;
      return { msg: Msg.assistant(text, { name, answeredBy, ...output }), reason: 'structured' };
    }
    if (this.structuredOutput !== undefined) return undefined;
    const answer = exchange.calls
      .map(({ id }) => exchange.answerTo(id))
      .findLast((one) => one?.responseMsg !== undefined);
    if (answer !== undefined) return { msg: answerOf(answer, name), reason: 'finished' };
    const [call, ...others] = exchange.calls;
    if (call === undefined || others.length > 0) return undefined;
    const result = exchange.answerTo(call.id);
    if (result?.status !== 'ok' || !this.toolkit.get(call.name)?.returnDirect) return undefined;
    return { msg: Msg.assistant(result.output, { name }), reason: 'finished' };
  }

  /** Adds messages to memory, also after an interrupt. A turn that is over changes nothing. */
  async remember(msgs: readonly Msg[]): Promise<void> {
    if (msgs.length === 0 || this.control.state.isOver) return;
    this.added.push(...msgs);
    for (const { id } of msgs) this.addedIds.add(id);
    await this.memory.add(msgs, (write) => this.turn.write({ name: 'memory' }, write));
  }

  /** Finds the messages that the reply added before its tool calls were pending: the long-term memory records them. */
  async #recall(ids: ReadonlySet<string> | undefined): Promise<void> {
    if (!ids?.size || this.options.longTermMemory === undefined) return;
    const msgs = (await this.memory.recall()).filter(({ id }) => ids.has(id));
    this.added.unshift(...msgs);
    for (const { id } of msgs) this.addedIds.add(id);
  }
}

/** The answer that a tool gave with its result. It is a new message, so that a tool may give the same one again. */
function answerOf({ output, responseMsg }: ToolResultBlock, name: string): Msg {
  if (!isJsonObject(responseMsg)) return Msg.assistant(output, { name });
  const { content, metadata } = Msg.from(responseMsg);
  const isAnswer = ({ type }: ContentBlock): boolean => type !== 'tool_use' && type !== 'tool_result';
  return Msg.assistant(typeof content === 'string' ? content : content.filter(isAnswer), { name, metadata });
}

/** The state of the current reply of a turn, if this agent makes it. */
export function replyStateOf(turn: Turn, agent: ReplyAgent): ReplyState | undefined {
  const { replyScope: reply } = controlOf(turn);
  return reply instanceof ReplyState && reply.agent === agent ? reply : undefined;
}
