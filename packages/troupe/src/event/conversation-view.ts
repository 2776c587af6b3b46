import { impliedSender, type BlockChange } from '../message/block-change.ts';
import type { ToolResultBlock } from '../message/blocks.ts';
import { resultMsgId } from '../message/exchange.ts';
import type { PendingCall } from '../message/pending-call.ts';
import type { AgentEvent, EventError, EventOf, EventOrigin, RunStatus } from './agent-event.ts';
import { MsgFold, type MsgView, type ViewableMsg } from './msg-fold.ts';

/** A conversation at one moment, as JSON. */
export interface ConversationState {
  readonly messages: readonly ViewableMsg[];
  /** Pending tool calls of the last run. */
  readonly pending?: readonly PendingCall[] | undefined;
  /** Status of the last run. @default 'idle': no run yet */
  readonly status?: RunStatus | 'running' | 'idle' | undefined;
  /** Why the last run failed. */
  readonly error?: EventError | undefined;
}

/** Events that were seen of one run. */
interface SeenRun {
  lastSeq: number;
  /** Length of the shortest agent path: that of the agent whose stream it is. */
  depth: number;
}

/** Codes of agent calls that are refused before anything has changed. */
const REFUSED: readonly unknown[] = ['pending_calls', 'decision_refused'];

/**
 * Folds the events of any number of runs into messages, in constant time for each event, whatever came before. Takes events of a stream in this
 * program, and events that `JSON.parse` gave. Events that were added already change nothing, so a server may send events again.
 *
 * For each agent the messages are those that the agent printed, in the order of its memory: a model message, then the results of its tool
 * calls. Messages of nested agents stand where they began. Input of users is in no event: `addMsg` adds it.
 *
 * @example
 * ```ts
 * import { ReActAgent } from 'troupe';
 * import { ConversationView } from 'troupe/events';
 * import { ScriptedModel } from 'troupe/testing';
 *
 * const agent = new ReActAgent({ name: 'Friday', model: new ScriptedModel(['Hello, Ann.']), console: false });
 * const view = new ConversationView();
 * for await (const event of agent.stream('Hi!')) view.add(event);
 * console.log(view.status, view.messages.map(({ name, content }) => [name, content]));
 * ```
 */
export class ConversationView {
  readonly #msgs = new Map<string, MsgFold>();
  /** The messages in order. The results of one model message are one group. */
  readonly #groups: MsgFold[][] = [];
  /** The model message of each tool call, by agent path and tool call id. */
  readonly #callers = new Map<string, MsgFold>();
  readonly #runs = new Map<string, SeenRun>();
  #messages: readonly MsgView[] | undefined;
  #pending: readonly PendingCall[];
  /** Pending tool calls before the current run. */
  #pendingBefore: readonly PendingCall[] = [];
  #status: RunStatus | 'running' | 'idle';
  #error: EventError | undefined;

  /** @param state the conversation so far, such as the messages of a memory, or `view.toJSON()` of another program */
  constructor({ messages = [], pending = [], status = 'idle', error }: Partial<ConversationState> = {}) {
    for (const msg of messages) this.addMsg(msg);
    this.#pending = pending;
    this.#status = status;
    this.#error = error;
  }

  /** All messages with content. The same list as long as nothing changes; messages that do not change stay the same objects. */
  get messages(): readonly MsgView[] {
    this.#messages ??= Object.freeze(
      this.#groups
        .flat()
        .map(({ view }) => view)
        .filter(({ content }) => content.length > 0),
    );
    return this.#messages;
  }

  /** Tool calls that wait for a decision. Empty while a run decides about them. */
  get pending(): readonly PendingCall[] {
    return this.#pending;
  }

  /** `running`, or how the last run ended. */
  get status(): RunStatus | 'running' | 'idle' {
    return this.#status;
  }

  /** Why the last run failed. */
  get error(): EventError | undefined {
    return this.#error;
  }

  /** Adds a message that no event tells, such as the input of a user. A message with a known id replaces the one before. */
  addMsg(msg: ViewableMsg): void {
    const { agentPath = msg.role === 'assistant' ? [msg.name] : [], replyId } = msg;
    this.#put(msg, agentPath, replyId);
  }

  /** Adds the next event. Types of events that this version doesn't know change nothing. */
  add(event: AgentEvent): void {
    const run = this.#newEventOf(event);
    if (run === undefined) return;
    if (event.type !== 'run_end') this.#status = 'running';
    switch (event.type) {
      case 'block_start':
      case 'text_delta':
      case 'thinking_delta':
      case 'tool_input_delta':
      case 'audio_delta':
      case 'citations_delta':
      case 'image_delta':
      case 'block_end':
      case 'msg_reset':
        return this.#change(event);
      case 'tool_chunk':
        return this.#result(event.result, event, true);
      case 'tool_result':
        return this.#result(event.result, event, false);
      case 'usage':
        return this.#setUsage(event);
      case 'approval_needed':
        return this.#ask(event.pending);
      case 'reply_start':
        return this.#startReply(event, run);
      case 'run_end':
        return this.#endRun(event, run);
      default: // events that are not about messages
    }
  }

  /** The conversation as JSON, for `new ConversationView(state)`. Taken between two runs it is complete. */
  toJSON(): ConversationState & { readonly messages: readonly MsgView[] } {
    const { messages, pending, status, error } = this;
    return { messages, pending, status, ...(error && { error }) };
  }

  /** The run of an event; undefined if the event was added before. */
  #newEventOf({ runId, seq, agentPath }: EventOrigin): SeenRun | undefined {
    if (runId === '') return { lastSeq: seq, depth: agentPath.length }; // refused before a run began
    const run = this.#runs.get(runId) ?? { lastSeq: -1, depth: agentPath.length };
    if (seq <= run.lastSeq) return undefined;
    run.lastSeq = seq;
    run.depth = Math.min(run.depth, agentPath.length);
    this.#runs.set(runId, run);
    return run;
  }

  #change(event: BlockChange & EventOrigin): void {
    this.#messages = undefined;
    const fold = this.#msgs.get(event.msgId) ?? this.#openPrinted(event);
    fold.change(event);
    if (event.type === 'block_start' && event.blockType === 'tool_use')
      this.#noteCall(event.toolCallId, fold);
    else if (event.type !== 'block_end' || event.block === undefined) return;
    else if (event.block.type === 'tool_use') this.#noteCall(event.block.id, fold);
    else if (event.block.type === 'tool_result') this.#adopt(event.block, fold);
  }

  /** A message whose first event is this one; with the sender that is usual, if its first block started before the first event that was added. */
  #openPrinted(event: BlockChange & EventOrigin): MsgFold {
    const { msgId: id, agentPath, replyId } = event;
    const isStart = event.type === 'block_start';
    const sender = isStart ? event.sender : undefined;
    const type = isStart ? event.blockType : 'text';
    return this.#open(new MsgFold({ id, ...(sender ?? impliedSender(type, agentPath)), agentPath, replyId }));
  }

  #noteCall(toolCallId: string | undefined, modelMsg: MsgFold): void {
    if (toolCallId !== undefined) this.#callers.set(callKey(modelMsg.agentPath, toolCallId), modelMsg);
  }

  #setUsage({ usage, msgId = '' }: EventOf<'usage'>): void {
    this.#messages = undefined;
    this.#msgs.get(msgId)?.set({ usage });
  }

  /** Removes the result message whose id was not known, when the agent prints it with its id. */
  #adopt(result: ToolResultBlock, fold: MsgFold): void {
    const unnamed = this.#msgs.get(callKey(fold.agentPath, result.id));
    if (unnamed !== undefined && unnamed !== fold) unnamed.clear();
  }

  /** Adds a tool result to the results of its model message. */
  #result(result: ToolResultBlock, { agentPath, replyId }: EventOrigin, isPartial: boolean): void {
    this.#messages = undefined;
    const key = callKey(agentPath, result.id);
    const modelMsg = this.#callers.get(key);
    const id = modelMsg === undefined ? key : resultMsgId(modelMsg.id, result.id);
    let fold = this.#msgs.get(id);
    if (fold === undefined) {
      const sender = impliedSender('tool_result', agentPath);
      fold = new MsgFold({ id, ...sender, agentPath, replyId });
      this.#open(fold, modelMsg);
    }
    fold.setResult(result, isPartial);
  }

  #ask(pending: PendingCall): void {
    if (!this.#pending.some(({ id }) => id === pending.id)) this.#pending = [...this.#pending, pending];
  }

  #startReply({ agentPath }: EventOrigin, { depth }: SeenRun): void {
    if (agentPath.length > depth) return;
    if (this.#pending.length > 0) this.#pendingBefore = this.#pending;
    this.#pending = [];
    this.#error = undefined;
  }

  #endRun({ msg, status, error, agentPath, replyId }: EventOf<'run_end'>, { depth }: SeenRun): void {
    if (msg !== undefined && msg.pending === undefined) this.#put(msg, agentPath, replyId);
    if (agentPath.length > depth) return void (this.#status = 'running');
    if (status === 'suspended') this.#pending = msg?.pending ?? this.#pending;
    else if (REFUSED.includes(error?.code) && this.#pendingBefore.length > 0)
      this.#pending = this.#pendingBefore;
    this.#pendingBefore = [];
    this.#status = status;
    this.#error = error;
  }

  /** Adds a whole message, or replaces the one with its id. */
  #put(msg: ViewableMsg, agentPath: readonly string[], replyId: string | undefined): void {
    this.#messages = undefined;
    const fields = { ...fieldsOf(msg), agentPath, ...(replyId !== undefined && { replyId }) };
    const fold = this.#msgs.get(msg.id) ?? this.#open(new MsgFold(fields));
    fold.setMsg(fields, msg.content);
    for (const id of fold.callIds) this.#noteCall(id, fold);
  }

  /** Adds a message to the end, or to the results of its model message. */
  #open(fold: MsgFold, modelMsg?: MsgFold): MsgFold {
    this.#msgs.set(fold.id, fold);
    if (modelMsg === undefined) {
      this.#groups.push([fold]);
      return fold;
    }
    const { results } = modelMsg;
    if (results.length === 0) this.#groups.push(results);
    const ids = modelMsg.callIds.map((id) => resultMsgId(modelMsg.id, id));
    const behind = results.findIndex(({ id }) => ids.indexOf(id) > ids.indexOf(fold.id));
    results.splice(behind === -1 ? results.length : behind, 0, fold);
    return fold;
  }
}

function callKey(agentPath: readonly string[], toolCallId: string): string {
  return `${agentPath.join('/')}:${toolCallId}`;
}

/** The fields of a message that a view has, but for its content. */
function fieldsOf(msg: ViewableMsg): Omit<ViewableMsg, 'content'> {
  const { id, name, role, metadata, timestamp, usage, endReason, finishReason, responseId } = msg;
  return {
    id,
    name,
    role,
    ...(metadata && { metadata }),
    ...(timestamp !== undefined && { timestamp }),
    ...(usage && { usage }),
    ...(endReason && { endReason }),
    ...(finishReason && { finishReason }),
    ...(responseId !== undefined && { responseId }),
  };
}
