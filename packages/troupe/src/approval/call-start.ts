import { TroupeError } from '../errors.ts';
import type { ToolResultBlock } from '../message/blocks.ts';
import type { Msg } from '../message/msg.ts';
import type { PendingDecision } from '../message/pending-call.ts';
import { oneLine } from '../util/text.ts';
import type { FitResult } from './decisions.ts';
import { OpenExchange } from './open-exchange.ts';

/** Start of an agent call, with regard to unfinished tool calls of an earlier one. */
export interface CallStart {
  /** Exchange to resume before the first model call. */
  readonly resumed?: OpenExchange;
  /** Exchange to add to memory as it is. */
  readonly closed?: OpenExchange;
  /** Tool results that the input and the decisions brought. */
  readonly suppliedResults: readonly ToolResultBlock[];
  /** Input to add to memory after that. */
  readonly input: readonly Msg[];
  /** Answer that is in memory already: the process ended before the agent's state said so. */
  readonly answer?: Msg | undefined;
}

export interface CallStartOptions {
  readonly onPending: 'refuse' | 'close';
  /** Whether the caller wants structured output. */
  readonly hasStructuredModel: boolean;
  readonly fit: FitResult;
  /** The tool call of another agent in which this agent is called. */
  readonly outerToolCallId: string | undefined;
  /** Exchange with all its results in memory. Decisions about its tool calls come too late and have no effect. */
  readonly settled?: OpenExchange | undefined;
}

/**
 * Decides what a new agent call does with unfinished tool calls: resume, apply decisions, close or refuse.
 * - No input: resume.
 * - Results or decisions: apply them and resume; other input is read after the exchange.
 * - Only other input: close tool calls that the end of a process left unfinished; refuse, or close if `onPending` says so, while tool calls are pending.
 * @throws TroupeError before anything has changed.
 */
export function planCallStart(
  open: OpenExchange | undefined,
  msgs: readonly Msg[],
  given: readonly PendingDecision[],
  { onPending, hasStructuredModel, fit, outerToolCallId, settled }: CallStartOptions,
): CallStart {
  const isLate = (id: string): boolean =>
    settled?.statuses.pending.some((pending) => pending.id === id) ?? false;
  const decisions = given.filter(({ id }) => !isLate(id));
  const results = msgs
    .flatMap((msg) => msg.getContentBlocks('tool_result'))
    .filter(({ id }) => !settled?.exchange.calls.some((call) => call.id === id))
    .map((result) => fromOutside(result, fit));
  const input = msgs.flatMap(withoutResults);
  const hasInput = input.length > 0;
  if (open === undefined) {
    const [first] = [...decisions, ...results];
    if (first !== undefined) throw notPending(first.id);
    return { input, suppliedResults: [] };
  }
  if (results.length + decisions.length === 0) {
    if (!hasInput) {
      checkStructuredModel(open, hasStructuredModel);
      return { resumed: open, input, suppliedResults: [] };
    }
    if (open.statuses.hasPending && onPending === 'refuse') throw stillPending(open);
    return { closed: open, input, suppliedResults: [] };
  }
  if (open.isDecidedByOwner && open.owner.at(-1) !== outerToolCallId) throw askedElsewhere(open);
  const supplied = toDecisions(results, open);
  const isComplete = open.isCompleteAfter(results, decisions);
  if (hasInput && !isComplete && !open.isDecidedBy([...decisions, ...supplied]))
    throw stillPending(open, results);
  const isResumed = !hasInput || !isComplete;
  if (isResumed) checkStructuredModel(open, hasStructuredModel);
  const decided = open.applyDecisions([...decisions, ...supplied], fit);
  for (const result of results) open.addResult(result); // the first result of a tool call counts
  const suppliedResults = [...decided, ...results.filter(({ id }) => !decided.some((one) => one.id === id))];
  if (!isResumed) return { closed: open, input, suppliedResults };
  open.postponed.push(...input); // allowed tool calls first
  return { resumed: open, input: [], suppliedResults };
}

/** A tool result from outside, which can't end the reply as a tool can. */
function fromOutside({ responseMsg: _, ...result }: ToolResultBlock, fit: FitResult): ToolResultBlock {
  return fit(result);
}

/** The exchange at the end of a history in which tool calls have no results, such as one of another program. */
export function unfinishedExchange(
  history: readonly Msg[],
  agentName: string,
): { open: OpenExchange; msgs: readonly Msg[] } | undefined {
  const start = history.findLastIndex((msg) => msg.hasContentBlocks('tool_use'));
  const modelMsg = history[start];
  if (modelMsg?.role !== 'assistant' || modelMsg.name !== agentName) return undefined; // tool calls of other agents are not run
  const behind = history.slice(start + 1);
  if (!behind.every((msg) => withoutResults(msg).length === 0)) return undefined;
  const results = behind.flatMap((msg) => msg.getContentBlocks('tool_result'));
  try {
    const open = new OpenExchange(modelMsg);
    for (const result of results) open.addResult(result);
    open.setTold();
    return open.toRun.length === 0 ? undefined : { open, msgs: [modelMsg, ...behind] };
  } catch {
    return undefined; // invalid: the formatter repairs it in the prompt
  }
}

/** The message without tool results; none if nothing else is in it. */
export function withoutResults(msg: Msg): readonly Msg[] {
  if (!msg.hasContentBlocks('tool_result')) return [msg];
  const content = msg.getContentBlocks().filter(({ type }) => type !== 'tool_result');
  return content.length === 0 ? [] : [msg.with({ content })];
}

/** Supplied results of pending tool calls, as decisions. @throws TroupeError if a result belongs to no unfinished tool call, or comes twice. */
function toDecisions(results: readonly ToolResultBlock[], open: OpenExchange): readonly PendingDecision[] {
  const pendingIds = new Map(open.statuses.ownPending.map((pending) => [pending.call.id, pending.id]));
  const unfinished = new Set([...pendingIds.keys(), ...open.toRun.map(({ id }) => id)]);
  return results.flatMap(({ id, output, status }) => {
    if (!unfinished.delete(id)) throw notPending(id);
    const pendingId = pendingIds.get(id);
    return pendingId === undefined ? [] : [{ id: pendingId, verdict: 'result', output, status }];
  });
}

/** @param results results that came with the refused call */
function stillPending(open: OpenExchange, results: readonly ToolResultBlock[] = []): TroupeError {
  const pending = open.statuses.pending.map(({ call, id }) => `${call.name} (${id})`);
  const isSupplied = (id: string): boolean => results.some((result) => result.id === id);
  const others = open.toRun.filter(({ id }) => !isSupplied(id)).map(({ name, id }) => `${name} (${id})`);
  const problem =
    pending.length > 0
      ? `Tool calls are pending: ${pending.join(', ')}. Decide about all of them first, by call(undefined, { decisions }), or supply their results.`
      : `Tool calls have no result yet: ${others.join(', ')}. Supply their results too, or call without a message first, so that they run.`;
  return new TroupeError('pending_calls', problem);
}

function checkStructuredModel({ wantsStructuredOutput }: OpenExchange, hasStructuredModel: boolean): void {
  if (wantsStructuredOutput && !hasStructuredModel)
    throw new TroupeError(
      'pending_calls',
      'The reply has to give structured output. Resume it with the same structuredModel.',
    );
}

function askedElsewhere({ statuses }: OpenExchange): TroupeError {
  const [outermost = 'another agent'] = statuses.pending[0]?.agentPath ?? [];
  return new TroupeError(
    'decision_refused',
    `The agent was called by ${oneLine(outermost)}, which waits for the answer: decide there. If that agent call is over, end the pending tool calls by closePending().`,
  );
}

function notPending(id: unknown): TroupeError {
  const shown = String(id).slice(0, 64);
  return new TroupeError(
    'decision_refused',
    `There is no pending tool call '${shown}', or it was decided already: read pendingCalls again.`,
  );
}
