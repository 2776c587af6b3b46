import { TroupeError } from '../errors.ts';
import type { ToolResultBlock } from '../message/blocks.ts';
import type { Msg } from '../message/msg.ts';
import type { PendingDecision } from '../message/pending-call.ts';
import { OpenExchange } from './open-exchange.ts';

/** What a call begins with while calls of an earlier one are open. */
export interface Beginning {
  /** Calls to go on with before anything else. */
  readonly resumed: OpenExchange | undefined;
  /** Calls to close, and to remember as they are. */
  readonly closed: OpenExchange | undefined;
  /** What to remember behind that. */
  readonly input: readonly Msg[];
}

/**
 * Makes out what a call means for the calls that are open. Nothing new: they go on. Their results: those are taken in, and
 * the rest goes on. Something else: calls that the program's end has left over are closed; about those that somebody has to
 * decide it is refused.
 * @throws TroupeError before anything has changed.
 */
export function beginWith(
  open: OpenExchange | undefined,
  msgs: readonly Msg[],
  decisions: readonly PendingDecision[],
  onPending: 'refuse' | 'close',
): Beginning {
  if (open === undefined) {
    const [decision] = decisions;
    if (decision !== undefined) throw notPending(decision.id);
    return { resumed: undefined, closed: undefined, input: msgs };
  }
  const results = msgs.flatMap((msg) => msg.getContentBlocks('tool_result'));
  const input = msgs.filter((msg) => !msg.hasContentBlocks('tool_result'));
  const isNew = input.length > 0;
  if (results.length + decisions.length === 0) {
    if (!isNew) return { resumed: open, closed: undefined, input };
    if (open.isWaiting && onPending === 'refuse') throw pendingCalls(open);
    return { resumed: undefined, closed: open, input };
  }
  const supplied = toDecisions(results, open);
  const answered = results.length + decisions.filter(({ verdict }) => verdict !== 'allow').length;
  if (isNew && answered < open.toDo.length + open.pending.length) throw pendingCalls(open);
  open.decide([...decisions, ...supplied]);
  for (const result of results) open.answer(result); // the first one stands
  return isNew ? { resumed: undefined, closed: open, input } : { resumed: open, closed: undefined, input };
}

/** Results of calls that wait, as decisions about those. @throws TroupeError if one answers no open call, or one twice. */
function toDecisions(results: readonly ToolResultBlock[], open: OpenExchange): readonly PendingDecision[] {
  const waiting = new Map(open.ownPending.map((pending) => [pending.call.id, pending.id]));
  const left = new Set([...waiting.keys(), ...open.toDo.map(({ id }) => id)]);
  return results.flatMap(({ id, output, status }) => {
    if (!left.delete(id)) {
      const problem = `There is no pending call '${id.slice(0, 64)}', or it was answered twice.`;
      throw new TroupeError('pending_calls', problem);
    }
    const pendingId = waiting.get(id);
    return pendingId === undefined ? [] : [{ id: pendingId, verdict: 'result', output, status }];
  });
}

/** The calls at the end of a history that have no results: of another program, say. */
export function unansweredIn(
  history: readonly Msg[],
): { open: OpenExchange; msgs: readonly Msg[] } | undefined {
  const start = history.findLastIndex((msg) => msg.hasContentBlocks('tool_use'));
  const thought = history[start];
  if (thought === undefined || thought.role !== 'assistant') return undefined;
  const behind = history.slice(start + 1);
  const results = behind.flatMap((msg) => msg.getContentBlocks('tool_result'));
  const isOnlyResults = behind.every((msg) =>
    msg.getContentBlocks().every(({ type }) => type === 'tool_result'),
  );
  if (!isOnlyResults || results.length >= thought.getContentBlocks('tool_use').length) return undefined;
  const open = new OpenExchange(thought);
  for (const result of results) open.answer(result);
  return { open, msgs: [thought, ...behind] };
}

function pendingCalls(open: OpenExchange): TroupeError {
  const list = open.pending.map(({ call, id }) => `${call.name} (${id})`).join(', ');
  return new TroupeError(
    'pending_calls',
    `Calls are pending: ${list}. Decide about all of them first, by call(undefined, { decisions }), or supply their results.`,
  );
}

function notPending(id: string): TroupeError {
  return new TroupeError('decision_refused', `There is no pending call '${String(id).slice(0, 64)}'.`);
}
