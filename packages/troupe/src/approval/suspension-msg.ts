import { Msg } from '../message/msg.ts';
import type { PendingCall } from '../message/pending-call.ts';
import { oneLine } from '../util/text.ts';
import { questionText } from './answers.ts';
import { inputText } from './input-text.ts';

/** The question with which an agent answers while tool calls are pending. */
export function suspensionMsg(name: string, pending: readonly PendingCall[]): Msg {
  const lines = pending.map(({ call, kind, reason, question }) => {
    if (question !== undefined) return questionText(question);
    const what = kind === 'approval' ? 'May I call' : 'I need the result of';
    return oneLine(
      `${what} ${call.name} with ${inputText(call.input)}?${reason === undefined ? '' : ` (${reason})`}`,
    );
  });
  return Msg.assistant(lines.join('\n'), { name, endReason: 'tool_suspended', pending });
}
