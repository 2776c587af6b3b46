import { TroupeError } from '../errors.ts';
import { isProviderTool } from '../message/blocks.ts';
import type { Msg } from '../message/msg.ts';

/** Whether a model message has neither text nor tool calls. Searches of the provider alone are no answer. */
export function isEmpty(modelMsg: Msg): boolean {
  return modelMsg
    .getContentBlocks()
    .every(
      (block) =>
        block.type === 'thinking' ||
        isProviderTool(block) ||
        (block.type === 'text' && block.text.trim() === ''),
    );
}

/** Whether the provider has run tools for a model message. */
export function hasProviderTools(modelMsg: Msg): boolean {
  return modelMsg.hasContentBlocks(['provider_tool_use', 'provider_tool_result']);
}

/** Whether a model message was cut off at the limit of tokens. */
export function isCutOff({ finishReason }: Msg): boolean {
  return finishReason === 'length';
}

/** Removes tool calls from a summary: no tool runs after it. */
export function withoutToolCalls(summary: Msg): Msg {
  if (!summary.hasContentBlocks('tool_use')) return summary;
  return summary.with({ content: summary.getContentBlocks().filter(({ type }) => type !== 'tool_use') });
}

/** @throws TroupeError if a hook replaced a model message with one that would break the history. */
export function assertValidReplacement(modelMsg: Msg, history: readonly Msg[]): void {
  const calls = modelMsg.getContentBlocks('tool_use');
  const ids = new Set(calls.map(({ id }) => id));
  const isKnown = (msg: Msg): boolean =>
    msg.id === modelMsg.id || msg.getContentBlocks('tool_use').some(({ id }) => ids.has(id));
  const isWhole = ids.size === calls.length && !modelMsg.hasContentBlocks('tool_result');
  if (modelMsg.role === 'assistant' && isWhole && !history.some(isKnown)) return;
  throw new TroupeError(
    'invalid_reply',
    'A hook must replace a model message with a new assistant message, with new tool call ids and without tool results.',
  );
}
