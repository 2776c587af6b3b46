import type { ToolResultBlock, ToolUseBlock } from '../../message/blocks.ts';
import type { Msg } from '../../message/msg.ts';

/** Earlier tool call with its result. */
export interface PastCall {
  readonly call: ToolUseBlock;
  readonly result: ToolResultBlock;
}

/** Where a conversation stands. */
export interface Conversation {
  /** The newest message of the user. */
  readonly question: string;
  /** Tool calls since then, in order. */
  readonly pastCalls: readonly PastCall[];
  /** Whether there is no assistant message yet. */
  readonly isNew: boolean;
}

export function readConversation(messages: readonly Msg[]): Conversation {
  const at = messages.findLastIndex(
    (msg) =>
      msg.role === 'user' && !msg.hasContentBlocks('tool_result') && !msg.text.startsWith('<system-hint>'),
  );
  return {
    question: messages[at]?.text ?? '',
    pastCalls: pastCallsIn(messages.slice(at + 1)),
    isNew: !messages.some((msg) => msg.role === 'assistant' && msg.text !== ''),
  };
}

function pastCallsIn(messages: readonly Msg[]): readonly PastCall[] {
  const calls = new Map(
    messages.flatMap((msg) => msg.getContentBlocks('tool_use')).map((call) => [call.id, call]),
  );
  return messages
    .flatMap((msg) => msg.getContentBlocks('tool_result'))
    .flatMap((result) => {
      const call = calls.get(result.id);
      return call === undefined ? [] : [{ call, result }];
    });
}
