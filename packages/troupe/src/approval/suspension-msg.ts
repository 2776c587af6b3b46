import { Msg } from '../message/msg.ts';
import { isPendingCall, type PendingCall } from '../message/pending-call.ts';
import { copyJson } from '../util/json.ts';
import { oneLine } from '../util/text.ts';

const MAX_INPUT_CHARS = 200;

/** What an agent answers whose calls wait for somebody outside. The calls are in the metadata, as `_pending`. */
export function suspensionMsg(name: string, pending: readonly PendingCall[]): Msg {
  const lines = pending.map(({ call, kind, reason }) => {
    const input = JSON.stringify(call.input);
    const shown = input.length > MAX_INPUT_CHARS ? `${input.slice(0, MAX_INPUT_CHARS)}…` : input;
    const what = kind === 'approval' ? 'May I call' : 'I need the result of';
    return oneLine(`${what} ${call.name} with ${shown}?${reason === undefined ? '' : ` (${reason})`}`);
  });
  return Msg.assistant(lines.join('\n'), { name, metadata: { _pending: copyJson(pending, 'pending') } });
}

/** The calls that an answer waits for, if it does. */
export function pendingIn(answer: Msg): readonly PendingCall[] | undefined {
  const { _end_reason: reason, _pending: pending } = answer.metadata;
  return reason === 'tool_suspended' && Array.isArray(pending) && pending.every(isPendingCall)
    ? pending
    : undefined;
}
