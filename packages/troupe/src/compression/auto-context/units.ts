import type { Msg } from '../../message/msg.ts';
import type { Entry } from './working-memory.ts';

/**
 * What is kept or taken out as a whole. `exchange`: a message that calls tools, with all its results. `pending`: such a
 * message that still waits for a result. `broken`: calls that nobody will answer any more, and results of no call.
 */
export interface Unit {
  readonly kind: 'plain' | 'exchange' | 'pending' | 'broken';
  /** From this place in the conversation to that before `end`. */
  readonly start: number;
  readonly end: number;
}

/** A conversation as units: each of its messages is in one of them, in order. */
export function unitsOf(entries: readonly Entry[]): readonly Unit[] {
  const lastWord = entries.findLastIndex(({ msg }) => msg.role === 'assistant');
  const units: Unit[] = [];
  const open = new Set<string>();
  let start = -1;
  let isBroken = false;

  function close(end: number): void {
    if (start < 0) return;
    const isOpen = open.size > 0;
    const kind = isBroken ? 'broken' : !isOpen ? 'exchange' : lastWord < end ? 'pending' : 'broken';
    units.push({ kind, start, end });
    open.clear();
    isBroken = false;
    start = -1;
  }

  for (const [i, { msg }] of entries.entries()) {
    const { calls, results } = toolIdsOf(msg);
    const answers = results.filter((id) => open.delete(id)).length;
    if (start >= 0 && answers === 0) close(i);
    if (calls.length === 0 && results.length === 0) {
      units.push({ kind: 'plain', start: i, end: i + 1 });
      continue;
    }
    if (start < 0) start = i;
    isBroken ||= answers < results.length || (calls.length > 0 && open.size > 0);
    for (const id of calls) open.add(id);
    if (open.size === 0) close(i + 1);
  }
  close(entries.length);
  return units;
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
