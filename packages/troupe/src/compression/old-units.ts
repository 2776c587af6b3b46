import type { Msg } from '../message/msg.ts';

/** Messages that are kept or taken out together, in order. */
export type MsgUnit = readonly Msg[];

export interface OldUnits {
  /** From before the newest turn. */
  readonly past: readonly MsgUnit[];
  /** Those too that the newest turn has left behind. */
  readonly all: readonly MsgUnit[];
}

/**
 * What can be taken out of a conversation, oldest first: all but the newest units. A message that calls tools is one
 * unit with the results, and all in between. Instructions stay, and what the user has asked for in the newest turn.
 */
export function oldUnitsOf(msgs: readonly Msg[], keepRecent: number): OldUnits {
  const requests = requestsOf(msgs);
  const [firstRequest = msgs.length] = requests;
  const starts = startsOf(msgs);
  const all = starts.slice(0, Math.max(0, starts.length - keepRecent)).flatMap((start, i) => {
    const end = starts[i + 1] ?? msgs.length;
    const unit = msgs
      .slice(start, end)
      .filter((msg, j) => !requests.includes(start + j) && !isInstruction(msg));
    return unit.length === 0 ? [] : [{ unit, isPast: end <= firstRequest }];
  });
  return {
    past: all.filter(({ isPast }) => isPast).map(({ unit }) => unit),
    all: all.map(({ unit }) => unit),
  };
}

/** Where the units begin. */
function startsOf(msgs: readonly Msg[]): readonly number[] {
  const starts: number[] = [];
  const unitOfCall = new Map<string, number>();
  for (const [i, msg] of msgs.entries()) {
    let unit = starts.length;
    for (const { id } of msg.getContentBlocks('tool_result')) {
      unit = Math.min(unit, unitOfCall.get(id) ?? unit);
      unitOfCall.delete(id);
    }
    starts.push(i);
    starts.length = unit + 1; // all since the call is one unit
    for (const { id } of msg.getContentBlocks('tool_use')) unitOfCall.set(id, unit);
  }
  return starts;
}

/**
 * The places of what the newest turn is about: the last message of a user and, if that only steers work that has begun, what that
 * work was begun for.
 */
function requestsOf(msgs: readonly Msg[]): readonly number[] {
  const requests: number[] = [];
  let hasWork = true;
  for (let i = msgs.length - 1; i >= 0; i--) {
    const msg = msgs[i];
    if (msg?.hasContentBlocks(['tool_use', 'tool_result'])) hasWork = true;
    else if (msg?.role === 'user' && hasWork) {
      requests.splice(0, Math.max(0, requests.length - 1), i); // the first of all, and the last
      hasWork = false;
    } else if (requests.length > 0) break;
  }
  return requests;
}

function isInstruction(msg: Msg): boolean {
  return msg.role === 'system' && !msg.hasContentBlocks('tool_result');
}
