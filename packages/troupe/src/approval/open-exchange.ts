import { LoopControl } from '../agent/turn/loop-control.ts';
import { Spending } from '../agent/turn/spending.ts';
import type { ToolResultEvent } from '../event/agent-event.ts';
import type { ToolResultBlock, ToolUseBlock } from '../message/blocks.ts';
import { Exchange } from '../message/exchange.ts';
import type { Msg } from '../message/msg.ts';
import type { PendingCall, PendingDecision } from '../message/pending-call.ts';
import type { AuthorizeRequest } from '../toolkit/call/tool-call.ts';
import { foreignSourceOf, qualifiedName } from '../toolkit/tool/known-tools.ts';
import type { NestedSuspension } from '../toolkit/tool/tool-suspension.ts';
import { elapsedSince, monotonic } from '../util/clock.ts';
import { toVerdict, type FitResult } from './decisions.ts';
import { refused } from './refused.ts';
import { StatusTable } from './status-table.ts';
import { escapeTags } from '../util/escape-tags.ts';

export interface OpenExchangeOptions {
  /** Tools without further approvals in this reply, by `qualifiedName`. Decisions add tools. */
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

/** Maximum characters of edited arguments in a tool result. */
const MAX_NOTE_CHARS = 10_000;

/**
 * An exchange whose tool calls run or are pending: results so far, status of each unfinished tool call, and started tool
 * calls with side effects. Part of the agent's state, so that the end of the process loses nothing: a tool call with a
 * result or a decision is not asked about again, and a started one is not run again. `saved-exchange.ts` has the saved form.
 * Folder `approval`: start here.
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
  /** Whether the tool call in which the agent was called is suspended for the pending tool calls: only that tool call takes decisions. */
  isDecidedByOwner = false;
  /** Status of each unfinished tool call that is or was pending. */
  readonly statuses = new StatusTable();
  /** Ids of tool calls that must not run twice, and were about to run. */
  readonly started = new Set<string>();
  /** Ids of the tool calls whose limits a decision has lifted. Not saved: a saved state can't lift limits. */
  readonly #lifted = new Set<string>();
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
      ({ id }) => !this.exchange.resultOf(id) && !this.statuses.isPending(id),
    );
  }

  /** Whether the state of the exchange allows tool calls, or suggests to. */
  get hasGrants(): boolean {
    return this.grantedTools.size > 0 || this.statuses.hasGrants;
  }

  /** Whether the exchange has such a tool call, without a result. */
  isUnfinished(toolCallId: string): boolean {
    return (
      this.exchange.calls.some(({ id }) => id === toolCallId) &&
      this.exchange.resultOf(toolCallId) === undefined
    );
  }

  /** Records the result of a tool call. The first result of a tool call counts. */
  addResult(result: ToolResultBlock): void {
    if (!this.exchange.addResult(result)) return;
    this.#durations.set(result.id, this.#durationOf(result.id));
    this.statuses.delete(result.id);
  }

  /** Starts the time of a tool call. @returns whether the tool call begins; false if it was suspended and is resumed */
  begin(toolCallId: string): boolean {
    this.#runningSince.set(toolCallId, monotonic());
    return !this.statuses.has(toolCallId);
  }

  /** The end of a tool call, for its event. Returned once. @param result the tool result as it is stored */
  takeEnd(result: ToolResultBlock): ToolResultEvent | undefined {
    if (this.#told.has(result.id)) return undefined;
    const call = this.exchange.calls.find(({ id }) => id === result.id);
    if (call === undefined) return undefined;
    this.#told.add(call.id);
    const durationMs = this.#durations.get(call.id) ?? this.#durationOf(call.id);
    return { type: 'tool_result', call, result, durationMs };
  }

  /** Counts the results so far as told: an earlier agent call or program told them. */
  setTold(): void {
    for (const { id } of this.exchange.calls) if (this.exchange.resultOf(id)) this.#told.add(id);
  }

  /** Makes a tool call pending until a decision about it. */
  setPending(pending: PendingCall): void {
    this.statuses.setPending(pending, this.#pause(pending.call.id));
  }

  /** Makes a tool call pending until decisions about tool calls of the agent in its tool. */
  setNestedPending(toolCallId: string, suspension: NestedSuspension): void {
    this.statuses.setNestedPending(toolCallId, suspension, this.#pause(toolCallId));
  }

  /** The tool call as it runs: with the model's arguments, or with those of a decision. */
  runnable(call: ToolUseBlock): ToolUseBlock {
    const edited = this.statuses.editedInput(call.id);
    return edited === undefined ? call : { ...call, input: edited };
  }

  /** Whether a decision allowed this tool of this source with exactly these arguments, or, unless asked each time, for the whole run. */
  isGranted(request: AuthorizeRequest, isAskedEachTime = false): boolean {
    const name = qualifiedName(request.call.name, foreignSourceOf(request.tool));
    const isGrantedForRun = this.grantedTools.has(name) && !isAskedEachTime;
    return isGrantedForRun || this.statuses.isGranted(request);
  }

  /** Whether a decision has lifted the limits of any tool call. */
  get hasLifted(): boolean {
    return this.#lifted.size > 0;
  }

  /** Whether a decision has lifted the limits of this tool with exactly these arguments. */
  isLifted(request: AuthorizeRequest): boolean {
    return this.#lifted.has(request.call.id) && this.statuses.isGranted(request);
  }

  /** Adds a note to a result if a decision changed the arguments: the model knows only its own. */
  withNote(result: ToolResultBlock): ToolResultBlock {
    const edited = this.statuses.editedInput(result.id);
    if (edited === undefined) return result;
    const text = JSON.stringify(edited);
    const shown = text.length > MAX_NOTE_CHARS ? `${text.slice(0, MAX_NOTE_CHARS)}… (cut)` : text;
    const note = `<system-info>The user changed the arguments to ${escapeTags(shown)}.</system-info>`;
    const { output } = result;
    return {
      ...result,
      output: typeof output === 'string' ? `${note}\n${output}` : [{ type: 'text', text: note }, ...output],
    };
  }

  /** Whether every tool call would have a result after these results and decisions. */
  isCompleteAfter(results: readonly ToolResultBlock[], decisions: readonly PendingDecision[]): boolean {
    const decided = new Set(decisions.filter(({ verdict }) => verdict !== 'allow').map(({ id }) => id));
    const withResult = new Set(results.map(({ id }) => id));
    for (const { id, call } of this.statuses.ownPending) if (decided.has(id)) withResult.add(call.id);
    return this.exchange.calls.every(({ id }) => this.exchange.resultOf(id) || withResult.has(id));
  }

  /** Whether tool calls are pending, and the decisions are about all of them. */
  isDecidedBy(decisions: readonly PendingDecision[]): boolean {
    const decided = new Set(decisions.map(({ id }) => id));
    return this.statuses.hasPending && this.statuses.pending.every(({ id }) => decided.has(id));
  }

  /**
   * Applies decisions, as `readDecisions` gives them: all of them or none.
   * @returns the results from denials and supplied results
   * @throws TroupeError if a decision is about a tool call that is not pending, or does not fit its kind.
   */
  applyDecisions(decisions: readonly PendingDecision[], fit: FitResult): readonly ToolResultBlock[] {
    const undecided = new Map(this.statuses.pending.map((pending) => [pending.id, pending]));
    const verdicts = new Map(
      decisions.map((decision) => {
        const pending = undecided.get(decision.id);
        if (pending === undefined) throw refused(decision.id, this.#whyUnknown(decision.id));
        undecided.delete(decision.id); // one decision for each pending tool call
        return [decision.id, toVerdict(decision, pending, fit)];
      }),
    );
    const own = new Map(this.statuses.ownPending.map((pending) => [pending.id, pending]));
    for (const decision of decisions) {
      const { call, source } = own.get(decision.id) ?? {};
      if (call === undefined) continue;
      this.#lifted.delete(call.id);
      if (decision.verdict !== 'allow') continue;
      if (decision.confinement === 'none') this.#lifted.add(call.id);
      if (decision.scope === 'run') this.grantedTools.add(qualifiedName(call.name, source));
    }
    const results = this.statuses.apply(decisions, verdicts, this.grantedTools);
    for (const result of results) this.addResult(result);
    return results;
  }

  /** Joins the controls of the hooks after all tool calls, in the order of the tool calls. */
  get control(): LoopControl | undefined {
    if (this.controls.size === 0) return undefined;
    return LoopControl.merged(this.exchange.calls.flatMap(({ id }) => this.controls.get(id) ?? []));
  }

  /** The tool result of the hook that stopped the agent. */
  get stoppedAt(): ToolResultBlock | undefined {
    const call = this.exchange.calls.find(({ id }) => this.controls.get(id)?.kind === 'stop');
    return call && this.exchange.resultOf(call.id);
  }

  /** Time spent on an unfinished tool call, without the time in which it was pending. */
  #durationOf(toolCallId: string): number {
    const since = this.#runningSince.get(toolCallId);
    return this.statuses.msOf(toolCallId) + (since === undefined ? 0 : elapsedSince(since));
  }

  /** Stops the time of a tool call. @returns the time spent so far */
  #pause(toolCallId: string): number {
    const ms = this.#durationOf(toolCallId);
    this.#runningSince.delete(toolCallId);
    return ms;
  }

  #whyUnknown(id: unknown): string {
    if (this.statuses.pending.some((pending) => pending.id === id))
      return 'has two decisions here: give one for each pending tool call';
    const isToolCallId = this.statuses.pending.some(({ call }) => call.id === id);
    if (isToolCallId) return 'is a tool call: decide by the `id` that stands beside `call` in pendingCalls';
    return 'was never asked for, or has been decided already: read pendingCalls again';
  }
}
