import type { Msg } from '../message/msg.ts';
import type { CompressionTask } from './context-compressor.ts';

/**
 * Messages that are kept or removed together. `plain`: one message without tool blocks. `exchange`: a model
 * message with tool calls and all their results. `pending`: an exchange with missing results and no later
 * message by the agent. `broken`: tool calls that will never get a result, results without a tool call, and
 * exchanges interrupted by other messages.
 */
export interface Unit {
  readonly kind: 'plain' | 'exchange' | 'pending' | 'broken';
  /** Index of the first message of the unit; `end` is exclusive. */
  readonly start: number;
  readonly end: number;
}

/** Decides which messages are input for the agent and which are the agent's own. */
export type Audience = Pick<CompressionTask, 'agentName' | 'requestIds'>;

/** Default name of assistant messages. An unnamed message is the agent's own. */
const NO_NAME = 'assistant';

/** True for messages by a user or by another agent. */
export function isSaidToAgent(msg: Msg, { agentName, requestIds }: Audience): boolean {
  if (hasToolBlocks(msg)) return false;
  if (msg.role === 'user' || requestIds.has(msg.id)) return true;
  return msg.role === 'assistant' && msg.name !== agentName && msg.name !== NO_NAME;
}

/** True for model messages of this agent, with or without tool calls. */
export function isOwn(msg: Msg, audience: Audience): boolean {
  return msg.role === 'assistant' && !isSaidToAgent(msg, audience);
}

/**
 * Indexes of the requests, in groups without tool calls between them. If `requestIds` matches no message,
 * requests are all inputs after the newest answer; if there are none, the inputs before the newest answer.
 */
export function requestGroups(msgs: readonly Msg[], audience: Audience): readonly (readonly number[])[] {
  const known = [...msgs.keys()].filter((i) => audience.requestIds.has(msgs[i]?.id ?? ''));
  if (known.length > 0) return [known];
  const groups: number[][] = [];
  let startsGroup = true;
  for (let i = msgs.length - 1; i >= 0; i--) {
    const msg = msgs[i] as Msg;
    if (isSaidToAgent(msg, audience)) {
      if (startsGroup) groups.unshift([]);
      groups[0]?.unshift(i);
      startsGroup = false;
    } else if (hasToolBlocks(msg)) startsGroup = true;
    else if (msg.role === 'assistant' && groups.length > 0) break;
  }
  return groups;
}

/** Splits a conversation into units. Every message is in exactly one unit, in order. */
export function unitsOf(msgs: readonly Msg[], audience: Audience): readonly Unit[] {
  const lastWord = msgs.findLastIndex((msg) => isOwn(msg, audience));
  const starts = startsOf(msgs);
  return starts.map((start, i) => {
    const end = starts[i + 1] ?? msgs.length;
    return { kind: kindOf(msgs.slice(start, end), lastWord < end), start, end };
  });
}

/** Start indexes of all units. A unit reaches from a tool call to its last result. */
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
