import { TroupeError } from '../errors.ts';
import type { ToolResultBlock } from '../message/blocks.ts';
import type { Msg } from '../message/msg.ts';
import type { PendingDecision } from '../message/pending-call.ts';
import { oneLine } from '../util/text.ts';
import { readDecisions, type FitResult } from './decisions.ts';
import { OpenExchange } from './open-exchange.ts';

/** What a call begins with while calls of an earlier one are open. */
export interface Beginning {
  /** Calls to go on with before anything else. */
  readonly resumed?: OpenExchange;
  /** Calls to close, and to remember as they are. */
  readonly closed?: OpenExchange;
  /** What was said to them. */
  readonly answered: readonly ToolResultBlock[];
  /** What to remember behind that. */
  readonly input: readonly Msg[];
}

export interface BeginOptions {
  readonly onPending: 'refuse' | 'close';
  /** Whether the answer of this call is to have a shape. */
  readonly hasShape: boolean;
  /** What is done to results that come from outside. */
  readonly fit: FitResult;
  /** The tool call of another agent in which this one is called. */
  readonly callId: string | undefined;
}

/**
 * Makes out what a call means for the calls that are open. Nothing new: they go on. Their results, or decisions about them: those are
 * taken in, and the rest goes on; what is said besides is read after that. Something else: calls that the program's end has left over are closed; about those that somebody has
 * to decide it is refused.
 * @throws TroupeError before anything has changed.
 */
export function beginWith(
  open: OpenExchange | undefined,
  msgs: readonly Msg[],
  given: readonly PendingDecision[],
  { onPending, hasShape, fit, callId }: BeginOptions,
): Beginning {
  const decisions = readDecisions(given);
  const results = msgs.flatMap((msg) => msg.getContentBlocks('tool_result')).map(fit);
  const input = msgs.flatMap(withoutResults);
  const isNew = input.length > 0;
  if (open === undefined) {
    const [first] = [...decisions, ...results];
    if (first !== undefined) throw notPending(first.id);
    return { input, answered: [] };
  }
  if (results.length + decisions.length === 0) {
    if (!isNew) {
      checkShape(open, hasShape);
      return { resumed: open, input, answered: [] };
    }
    if (open.isWaiting && onPending === 'refuse') throw pendingCalls(open);
    return { closed: open, input, answered: [] };
  }
  if (open.isAskedThrough && open.owner.at(-1) !== callId) throw askedElsewhere(open);
  const supplied = toDecisions(results, open);
  const isWhole = open.isWholeAfter(results, decisions);
  if (isNew && !isWhole && !open.isDecidedBy([...decisions, ...supplied])) throw pendingCalls(open);
  const goesOn = !isNew || !isWhole;
  if (goesOn) checkShape(open, hasShape);
  const decided = open.decide([...decisions, ...supplied], fit);
  for (const result of results) open.answer(result); // the first one stands
  const answered = [...decided, ...results.filter(({ id }) => !decided.some((one) => one.id === id))];
  if (!goesOn) return { closed: open, input, answered };
  open.later.push(...input); // the calls that were allowed come first
  return { resumed: open, input: [], answered };
}

/** The calls at the end of a history that have no results: those of another program, say. */
export function unansweredIn(
  history: readonly Msg[],
  agentName: string,
): { open: OpenExchange; msgs: readonly Msg[] } | undefined {
  const start = history.findLastIndex((msg) => msg.hasContentBlocks('tool_use'));
  const thought = history[start];
  if (thought?.role !== 'assistant' || thought.name !== agentName) return undefined; // nobody else's calls are made
  const behind = history.slice(start + 1);
  if (!behind.every((msg) => withoutResults(msg).length === 0)) return undefined;
  const results = behind.flatMap((msg) => msg.getContentBlocks('tool_result'));
  try {
    const open = new OpenExchange(thought);
    for (const result of results) open.answer(result);
    return open.toDo.length === 0 ? undefined : { open, msgs: [thought, ...behind] };
  } catch {
    return undefined; // it is broken: whoever makes a prompt of it repairs it
  }
}

/** A message as it is without results; none if nothing is left of it. */
function withoutResults(msg: Msg): readonly Msg[] {
  if (!msg.hasContentBlocks('tool_result')) return [msg];
  const content = msg.getContentBlocks().filter(({ type }) => type !== 'tool_result');
  return content.length === 0 ? [] : [msg.with({ content })];
}

/** Results of calls that wait, as decisions about those. @throws TroupeError if one answers no open call, or one twice. */
function toDecisions(results: readonly ToolResultBlock[], open: OpenExchange): readonly PendingDecision[] {
  const waiting = new Map(open.ownPending.map((pending) => [pending.call.id, pending.id]));
  const left = new Set([...waiting.keys(), ...open.toDo.map(({ id }) => id)]);
  return results.flatMap(({ id, output, status }) => {
    if (!left.delete(id)) throw notPending(id);
    const pendingId = waiting.get(id);
    return pendingId === undefined ? [] : [{ id: pendingId, verdict: 'result', output, status }];
  });
}

function pendingCalls(open: OpenExchange): TroupeError {
  const list = open.pending.map(({ call, id }) => `${call.name} (${id})`).join(', ');
  return new TroupeError(
    'pending_calls',
    `Calls are pending: ${list}. Decide about all of them first, by call(undefined, { decisions }), or supply their results.`,
  );
}

function checkShape({ wantsShape }: OpenExchange, hasShape: boolean): void {
  if (wantsShape && !hasShape)
    throw new TroupeError(
      'pending_calls',
      'The reply was to have a shape. Go on with the same structuredModel.',
    );
}

function askedElsewhere({ pending }: OpenExchange): TroupeError {
  const [outermost = 'another agent'] = pending[0]?.agentPath ?? [];
  return new TroupeError(
    'decision_refused',
    `The agent was called by ${oneLine(outermost)}, which waits for it: decide there. If that call is over, end what is pending by closePending().`,
  );
}

function notPending(id: unknown): TroupeError {
  const shown = String(id).slice(0, 64);
  return new TroupeError(
    'decision_refused',
    `There is no pending call '${shown}', or it was decided already.`,
  );
}
