import { TroupeError } from '../errors.ts';
import type { Msg } from '../message/msg.ts';

/** Whether a thought neither says nor does anything. */
export function isEmpty(thought: Msg): boolean {
  return thought
    .getContentBlocks()
    .every((block) => block.type === 'thinking' || (block.type === 'text' && block.text.trim() === ''));
}

/** A summary makes no calls: nobody would answer them. */
export function withoutCalls(summary: Msg): Msg {
  if (!summary.hasContentBlocks('tool_use')) return summary;
  return summary.with({ content: summary.getContentBlocks().filter(({ type }) => type !== 'tool_use') });
}

/** @throws TroupeError if a hook put a message in the place of a thought that would break the history. */
export function assertFits(thought: Msg, history: readonly Msg[]): void {
  const calls = thought.getContentBlocks('tool_use');
  const ids = new Set(calls.map(({ id }) => id));
  const isKnown = (msg: Msg): boolean =>
    msg.id === thought.id || msg.getContentBlocks('tool_use').some(({ id }) => ids.has(id));
  const isWhole = ids.size === calls.length && !thought.hasContentBlocks('tool_result');
  if (thought.role === 'assistant' && isWhole && !history.some(isKnown)) return;
  throw new TroupeError(
    'invalid_reply',
    'A thought must be a new message of the assistant, with call ids of its own and no results.',
  );
}
