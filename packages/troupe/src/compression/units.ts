import type { Msg } from '../message/msg.ts';
import type { CompressionTask } from './context-compressor.ts';

/**
 * What is kept or taken out as a whole. `exchange`: a message that calls tools, with all its results. `pending`: such a
 * message that still waits for a result. `broken`: calls that nobody will answer any more, results of no call, and calls
 * with something else between them and their results.
 */
export interface Unit {
  readonly kind: 'plain' | 'exchange' | 'pending' | 'broken';
  /** From this place in the conversation to that before `end`. */
  readonly start: number;
  readonly end: number;
}

/** By whom a conversation is told what was said to whom. */
export type Audience = Pick<CompressionTask, 'agentName' | 'requestIds'>;

/** The name of messages that nobody gave another: such an answer is the agent's own. */
const NO_NAME = 'assistant';

/** Whether somebody else has said it: a user, or another agent. */
export function isSaidToAgent(msg: Msg, { agentName, requestIds }: Audience): boolean {
  if (hasToolBlocks(msg)) return false;
  if (msg.role === 'user' || requestIds.has(msg.id)) return true;
  return msg.role === 'assistant' && msg.name !== agentName && msg.name !== NO_NAME;
}

/** Whether the agent has said it, or called a tool. */
export function isOwn(msg: Msg, audience: Audience): boolean {
  return msg.role === 'assistant' && !isSaidToAgent(msg, audience);
}

/**
 * The places of what the agent was asked, in runs without work in between. If nobody says what that is, then it is all that
 * others have said since the newest answer, or before it if that is the last word.
 */
export function requestGroups(msgs: readonly Msg[], audience: Audience): readonly (readonly number[])[] {
  const asked = [...msgs.keys()].filter((i) => audience.requestIds.has(msgs[i]?.id ?? ''));
  if (asked.length > 0) return [asked];
  const runs: number[][] = [];
  let isNew = true;
  for (let i = msgs.length - 1; i >= 0; i--) {
    const msg = msgs[i] as Msg;
    if (isSaidToAgent(msg, audience)) {
      if (isNew) runs.unshift([]);
      runs[0]?.unshift(i);
      isNew = false;
    } else if (hasToolBlocks(msg)) isNew = true;
    else if (msg.role === 'assistant' && runs.length > 0) break;
  }
  return runs;
}

/** A conversation as units: each of its messages is in one of them, in order. */
export function unitsOf(msgs: readonly Msg[], audience: Audience): readonly Unit[] {
  const lastWord = msgs.findLastIndex((msg) => isOwn(msg, audience));
  const starts = startsOf(msgs);
  return starts.map((start, i) => {
    const end = starts[i + 1] ?? msgs.length;
    return { kind: kindOf(msgs.slice(start, end), lastWord < end), start, end };
  });
}

/** Where the units begin: calls are one with their results, and with all in between. */
function startsOf(msgs: readonly Msg[]): readonly number[] {
  const starts: number[] = [];
  const unitOfCall = new Map<string, number>();
  for (const [i, msg] of msgs.entries()) {
    const { calls, results } = toolIdsOf(msg);
    let unit = starts.length;
    for (const id of results) {
      unit = Math.min(unit, unitOfCall.get(id) ?? unit);
      unitOfCall.delete(id);
    }
    starts.push(i);
    starts.length = unit + 1;
    for (const id of calls) unitOfCall.set(id, unit);
  }
  return starts;
}

function kindOf(msgs: readonly Msg[], isNewest: boolean): Unit['kind'] {
  const open = new Set<string>();
  let isPlain = true;
  let isBroken = false;
  for (const msg of msgs) {
    const { calls, results } = toolIdsOf(msg);
    const answers = results.filter((id) => open.delete(id)).length;
    isPlain &&= calls.length + results.length === 0;
    isBroken ||= answers < results.length || (open.size > 0 && (answers === 0 || calls.length > 0));
    for (const id of calls) open.add(id);
  }
  if (isPlain) return 'plain';
  if (isBroken) return 'broken';
  return open.size === 0 ? 'exchange' : isNewest ? 'pending' : 'broken';
}

interface ToolIds {
  readonly calls: readonly string[];
  readonly results: readonly string[];
}

const NONE: ToolIds = { calls: [], results: [] };
const known = new WeakMap<Msg, ToolIds>();

function toolIdsOf(msg: Msg): ToolIds {
  if (typeof msg.content === 'string') return NONE;
  let ids = known.get(msg);
  if (ids === undefined) {
    const calls = msg.getContentBlocks('tool_use').map(({ id }) => id);
    const results = msg.getContentBlocks('tool_result').map(({ id }) => id);
    ids = calls.length + results.length === 0 ? NONE : { calls, results };
    known.set(msg, ids);
  }
  return ids;
}

function hasToolBlocks(msg: Msg): boolean {
  return toolIdsOf(msg) !== NONE;
}
