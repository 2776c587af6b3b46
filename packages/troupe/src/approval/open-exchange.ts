import { LoopControl } from '../agent/loop-control.ts';
import { Spending } from '../agent/turn/spending.ts';
import type { ToolResultEvent } from '../event/agent-event.ts';
import type { ToolResultBlock, ToolUseBlock } from '../message/blocks.ts';
import { Exchange } from '../message/exchange.ts';
import { Msg } from '../message/msg.ts';
import type { PendingCall, PendingDecision } from '../message/pending-call.ts';
import type { AuthorizeRequest } from '../toolkit/call/tool-call.ts';
import type { ToolResume } from '../toolkit/tool/tool-suspension.ts';
import { elapsedSince, monotonic } from '../util/clock.ts';
import { copyJsonObject, isJsonObject, type JsonObject, type JsonValue } from '../util/json.ts';
import { toVerdict, type FitResult } from './decisions.ts';
import { refused } from './refused.ts';
import { StatusTable } from './status-table.ts';

export interface OpenExchangeOptions {
  /** Tools without further approvals in this reply. Decisions add tools. */
  readonly grantedTools?: Set<string>;
  /** Ids of the messages to answer. The reply adds ids. */
  readonly requestIds?: ReadonlySet<string>;
  /** Ids of the messages added to memory. The reply adds ids. */
  readonly addedIds?: ReadonlySet<string>;
  /** The tool calls in which the agent was called, from the outermost on. */
  readonly owner?: readonly string[];
  /** Whether the reply has to give structured output. */
  readonly wantsStructuredOutput?: boolean;
}

const OUTCOME_UNKNOWN =
  'The call was started, and then the program ended: its outcome is unknown. It may have taken effect. Check before you call it again.';

/** Maximum characters of edited arguments in a tool result. */
const MAX_NOTE_CHARS = 10_000;

/**
 * An exchange whose tool calls run or are pending: results so far, status of each unfinished tool call, and started tool
 * calls with side effects. Part of the agent's state, so that the end of the process loses nothing: a tool call with a
 * result or a decision is not asked about again, and a started one is not run again.
 */
export class OpenExchange {
  readonly exchange: Exchange;
  readonly grantedTools: Set<string>;
  readonly requestIds: ReadonlySet<string>;
  readonly addedIds: ReadonlySet<string>;
  readonly owner: readonly string[];
  readonly wantsStructuredOutput: boolean;
  /** Messages that came while tool calls were pending: added to memory after the exchange. */
  readonly postponed: Msg[] = [];
  /** Controls that hooks after tool calls returned, by tool call id. */
  readonly controls = new Map<string, LoopControl>();
  /** Spending on the reply. */
  spending = new Spending();
  /** Number of earlier model messages of the reply. */
  iteration = 0;
  /** Whether the owning tool call is suspended for the pending tool calls: only that tool call takes decisions. */
  isAskedThrough = false;
  readonly #statuses = new StatusTable();
  readonly #started = new Set<string>();
  /** When tool calls began or were resumed, by tool call id. */
  readonly #runningSince = new Map<string, number>();
  /** Time spent on tool calls that have a result, by tool call id. */
  readonly #durations = new Map<string, number>();
  /** Ids of tool calls whose end was told by an event. */
  readonly #told = new Set<string>();

  /** @param modelMsg the model message with the tool calls */
  constructor(modelMsg: Msg, options: OpenExchangeOptions = {}) {
    this.exchange = new Exchange(modelMsg);
    this.grantedTools = options.grantedTools ?? new Set();
    this.requestIds = options.requestIds ?? new Set();
    this.addedIds = options.addedIds ?? new Set();
    this.owner = options.owner ?? [];
    this.wantsStructuredOutput = options.wantsStructuredOutput ?? false;
  }

  /** Tool calls that have no result and are not pending. */
  get toRun(): readonly ToolUseBlock[] {
    return this.exchange.calls.filter(
      ({ id }) => !this.exchange.answerTo(id) && !this.#statuses.isPending(id),
    );
  }

  get hasPending(): boolean {
    return this.#statuses.hasPending;
  }

  /** Pending tool calls, of agents in tools too. */
  get pending(): readonly PendingCall[] {
    return this.#statuses.pending;
  }

  /** Pending tool calls of the exchange itself. */
  get ownPending(): readonly PendingCall[] {
    return this.#statuses.ownPending;
  }

  /** States of suspended tools that were not resumed, by tool call id. */
  get suspended(): ReadonlyMap<string, JsonValue> {
    return this.#statuses.suspended;
  }

  /** Whether the exchange has such a tool call, without a result. */
  isOpen(toolCallId: string): boolean {
    return (
      this.exchange.calls.some(({ id }) => id === toolCallId) &&
      this.exchange.answerTo(toolCallId) === undefined
    );
  }

  answer(result: ToolResultBlock): void {
    if (!this.exchange.answer(result)) return;
    this.#durations.set(result.id, this.#durationOf(result.id));
    this.#statuses.delete(result.id);
  }

  /** Starts the time of a tool call. @returns whether the tool call begins; false if it was suspended and is resumed */
  begin(toolCallId: string): boolean {
    this.#runningSince.set(toolCallId, monotonic());
    return !this.#statuses.has(toolCallId);
  }

  /** The end of a tool call, for its event. Returned once. @param result the tool result as it is stored */
  takeEnd(result: ToolResultBlock): ToolResultEvent | undefined {
    const call = this.exchange.calls.find(({ id }) => id === result.id);
    if (call === undefined || this.#told.has(call.id)) return undefined;
    this.#told.add(call.id);
    const durationMs = this.#durations.get(call.id) ?? this.#durationOf(call.id);
    return { type: 'tool_result', call, result, durationMs };
  }

  /** Counts the results so far as told: an earlier agent call or program told them. */
  setTold(): void {
    for (const { id } of this.exchange.calls) if (this.exchange.answerTo(id)) this.#told.add(id);
  }

  /** Makes a tool call pending until a decision about it. */
  setPending(pending: PendingCall): void {
    this.#statuses.setPending(pending, this.#pause(pending.call.id));
  }

  /** Makes a tool call pending until decisions about tool calls of the agent in its tool. */
  setNestedPending(toolCallId: string, state: JsonValue, pending: readonly PendingCall[]): void {
    this.#statuses.setNestedPending(toolCallId, state, pending, this.#pause(toolCallId));
  }

  /** Notes that a tool call which must not run twice is about to run. */
  start(toolCallId: string): void {
    this.#started.add(toolCallId);
  }

  /** The tool call as it runs: with the model's arguments, or with those of a decision. */
  runnable(call: ToolUseBlock): ToolUseBlock {
    const edited = this.#statuses.editedInput(call.id);
    return edited === undefined ? call : { ...call, input: edited };
  }

  /** State and decisions for a tool that was suspended. */
  resumeOf(toolCallId: string): ToolResume | undefined {
    return this.#statuses.resumeOf(toolCallId);
  }

  /** Whether a decision allowed this tool with exactly these arguments, or, unless asked each time, for the whole run. */
  isGranted(request: AuthorizeRequest, isAskedEachTime = false): boolean {
    const isGrantedForRun = this.grantedTools.has(request.call.name) && !isAskedEachTime;
    return isGrantedForRun || this.#statuses.isGranted(request);
  }

  /** Adds a note to a result if a decision changed the arguments: the model knows only its own. */
  withNote(result: ToolResultBlock): ToolResultBlock {
    const edited = this.#statuses.editedInput(result.id);
    if (edited === undefined) return result;
    const text = JSON.stringify(edited);
    const shown = text.length > MAX_NOTE_CHARS ? `${text.slice(0, MAX_NOTE_CHARS)}… (cut)` : text;
    const note = `<system-info>The user changed the arguments to ${shown}.</system-info>`;
    const { output } = result;
    return {
      ...result,
      output: typeof output === 'string' ? `${note}\n${output}` : [{ type: 'text', text: note }, ...output],
    };
  }

  /** Whether every tool call would have a result after these results and decisions. */
  isCompleteAfter(results: readonly ToolResultBlock[], decisions: readonly PendingDecision[]): boolean {
    const decided = new Set(decisions.filter(({ verdict }) => verdict !== 'allow').map(({ id }) => id));
    const answered = new Set(results.map(({ id }) => id));
    for (const { id, call } of this.ownPending) if (decided.has(id)) answered.add(call.id);
    return this.exchange.calls.every(({ id }) => this.exchange.answerTo(id) || answered.has(id));
  }

  /** Whether tool calls are pending, and the decisions are about all of them. */
  isDecidedBy(decisions: readonly PendingDecision[]): boolean {
    const decided = new Set(decisions.map(({ id }) => id));
    return this.hasPending && this.pending.every(({ id }) => decided.has(id));
  }

  /**
   * Applies decisions, as `readDecisions` gives them: all of them or none.
   * @returns the results from denials and supplied results
   * @throws TroupeError if a decision is about a tool call that is not pending, or does not fit its kind.
   */
  decide(decisions: readonly PendingDecision[], fit: FitResult): readonly ToolResultBlock[] {
    const undecided = new Map(this.pending.map((pending) => [pending.id, pending]));
    const verdicts = new Map(
      decisions.map((decision) => {
        const pending = undecided.get(decision.id);
        if (pending === undefined) throw refused(decision.id, this.#whyUnknown(decision.id));
        undecided.delete(decision.id); // one decision for each pending tool call
        return [decision.id, toVerdict(decision, pending, fit)];
      }),
    );
    const own = new Map(this.ownPending.map(({ id, call }) => [id, call.name]));
    for (const decision of decisions) {
      const name = own.get(decision.id);
      if (name !== undefined && decision.verdict === 'allow' && decision.scope === 'run')
        this.grantedTools.add(name);
    }
    const results = this.#statuses.apply(decisions, verdicts, this.grantedTools);
    for (const result of results) this.answer(result);
    return results;
  }

  /** Joins the controls of the hooks after all tool calls, in the order of the tool calls. */
  get control(): LoopControl | undefined {
    return LoopControl.merged(this.exchange.calls.flatMap(({ id }) => this.controls.get(id) ?? []));
  }

  /** The tool result of the hook that stopped the agent. */
  get stoppedAt(): ToolResultBlock | undefined {
    const call = this.exchange.calls.find(({ id }) => this.controls.get(id)?.kind === 'stop');
    return call && this.exchange.answerTo(call.id);
  }

  /** The keys are those of saved states, and stay. */
  toJSON(): JsonObject {
    const { modelMsg, calls } = this.exchange;
    const answers = calls.map(({ id }) => this.exchange.answerTo(id)).filter((one) => one !== undefined);
    return copyJsonObject(
      {
        thought: modelMsg.toJSON(),
        answers,
        started: [...this.#started],
        standings: this.#statuses.toJSON(),
        grantedTools: [...this.grantedTools],
        later: this.postponed.map((msg) => msg.toJSON()),
        requestIds: [...this.requestIds],
        saidIds: [...this.addedIds],
        owner: this.owner,
        wantsShape: this.wantsStructuredOutput,
        spent: this.spending.toJSON(),
        iteration: this.iteration,
        isAskedThrough: this.isAskedThrough,
        ...(this.controls.size > 0 && { controls: controlsToJson(this.controls) }),
      },
      'the open exchange',
    );
  }

  /** Reads the result of `toJSON`. Tool calls that were started get a result with an unknown outcome. @throws TypeError if it is not readable. */
  static from(json: JsonValue): OpenExchange {
    if (!isJsonObject(json)) throw new TypeError('it is no object');
    const { iteration = 0 } = json;
    if (!Number.isSafeInteger(iteration) || Number(iteration) < 0)
      throw new TypeError('iteration must be a whole number');
    const modelMsg = Msg.from(json['thought']);
    if (modelMsg.role !== 'assistant') throw new TypeError('its model message has not the role assistant');
    const open = new OpenExchange(modelMsg, {
      grantedTools: new Set(strings(json, 'grantedTools')),
      requestIds: new Set(strings({ requestIds: [], ...json }, 'requestIds')), // missing in states of older versions
      addedIds: new Set(strings({ saidIds: [], ...json }, 'saidIds')),
      owner: strings(json, 'owner'),
      wantsStructuredOutput: json['wantsShape'] === true,
    });
    open.spending = new Spending(json['spent']);
    open.iteration = Number(iteration);
    for (const answer of list(json, 'answers')) open.answer(answer as JsonValue & ToolResultBlock);
    open.setTold();
    for (const id of strings(json, 'started')) open.start(id);
    for (const msg of list(json, 'later')) open.postponed.push(Msg.from(msg));
    open.#statuses.load(json['standings'], (id) => open.isOpen(id));
    open.isAskedThrough = json['isAskedThrough'] === true;
    const { controls = {} } = json;
    if (!isJsonObject(controls)) throw new TypeError('controls must be an object');
    for (const [id, control] of Object.entries(controls)) open.controls.set(id, LoopControl.from(control));
    open.#closeStarted();
    return open;
  }

  /** Time spent on an unfinished tool call, without the time in which it was pending. */
  #durationOf(toolCallId: string): number {
    const since = this.#runningSince.get(toolCallId);
    return this.#statuses.msOf(toolCallId) + (since === undefined ? 0 : elapsedSince(since));
  }

  /** Stops the time of a tool call. @returns the time spent so far */
  #pause(toolCallId: string): number {
    const ms = this.#durationOf(toolCallId);
    this.#runningSince.delete(toolCallId);
    return ms;
  }

  #whyUnknown(id: unknown): string {
    const isToolCallId = this.pending.some(({ call }) => call.id === id);
    if (isToolCallId) return 'is a tool call: decide by the `id` that stands beside `call` in pendingCalls';
    return 'was never asked for, or has been decided already';
  }

  /** A tool call that was started before the process ended is not run again. */
  #closeStarted(): void {
    for (const { id, name } of this.toRun) {
      if (this.#started.has(id))
        this.answer({ type: 'tool_result', id, name, output: OUTCOME_UNKNOWN, status: 'interrupted' });
    }
  }
}

function controlsToJson(controls: ReadonlyMap<string, LoopControl>): JsonObject {
  return Object.fromEntries(Array.from(controls, ([id, control]) => [id, control.toJSON()]));
}

function list(json: JsonObject, key: string): readonly JsonValue[] {
  const value = json[key];
  if (Array.isArray(value)) return value as readonly JsonValue[];
  throw new TypeError(`${key} must be a list`);
}

function strings(json: JsonObject, key: string): readonly string[] {
  const found = list(json, key).filter((one) => typeof one === 'string');
  if (found.length === list(json, key).length) return found;
  throw new TypeError(`${key} must be a list of strings`);
}
