import type { Msg } from '../../message/msg.ts';
import { redactKeys } from '../../util/redaction/key-patterns.ts';
import { cutText, oneLine } from '../../util/text.ts';

/** Short form of a recent message of the host. */
export type RecentEvent = {
  readonly id: string;
  readonly role: string;
  readonly name: string;
  readonly preview: string;
  readonly timestamp: string;
};

export const MAX_RECENT_EVENTS = 4;
export const MAX_PREVIEW = 200;
/** Characters of a message that are read. */
const MAX_READ = 5 * MAX_PREVIEW;
/** Newest messages in which events are looked for. */
const MAX_CANDIDATES = 100;

/**
 * Chooses the events that matter most for a task, oldest first: those since the latest message of a user, and
 * those that share a word with the task; then the newest others. A model message with tool calls is no event, its
 * tool results are.
 */
export function recentEvents(msgs: readonly Msg[], task: string): readonly RecentEvent[] {
  const texts = msgs.slice(-MAX_CANDIDATES).flatMap((msg) => {
    const text = textOf(msg);
    return text === '' ? [] : [{ msg, text }];
  });
  const request = texts.findLastIndex(({ msg }) => msg.role === 'user');
  const words = wordsIn(task);
  const isRelevant = ({ text }: { text: string }, i: number): boolean =>
    (request >= 0 && i >= request) || [...wordsIn(text)].some((word) => words.has(word));
  const candidates = texts.map((one, i) => ({ ...one, i, isRelevant: isRelevant(one, i) }));
  return candidates
    .toSorted((a, b) => Number(b.isRelevant) - Number(a.isRelevant) || b.i - a.i)
    .slice(0, MAX_RECENT_EVENTS)
    .toSorted((a, b) => a.i - b.i)
    .map(({ msg, text }) => toEvent(msg, text));
}

function toEvent({ id, role, name, timestamp }: Msg, text: string): RecentEvent {
  // another vendor's model may read the preview
  const preview = cutText(redactKeys(oneLine(text)), MAX_PREVIEW);
  return { id, role, name, preview, timestamp };
}

/** Text and tool results of a message; empty for a model message with tool calls. */
function textOf(msg: Msg): string {
  if (msg.hasContentBlocks('tool_use')) return '';
  const results = msg.getContentBlocks('tool_result').map(({ name, output, status }) => {
    const texts =
      typeof output === 'string'
        ? [output]
        : output.flatMap((block) => (block.type === 'text' ? [block.text] : []));
    return `${name} (${status}): ${texts.join(' ')}`;
  });
  return [msg.text, ...results].join(' ').trim().slice(0, MAX_READ);
}

/** Words of four letters or more, and pairs of Chinese characters. */
function wordsIn(text: string): ReadonlySet<string> {
  const words =
    text
      .slice(0, MAX_READ)
      .toLowerCase()
      .match(/[\p{L}\p{N}]{4,}/gu) ?? [];
  const pairs = Array.from(text.matchAll(/(?=(\p{Script=Han}{2}))/gu), ([, pair = '']) => pair);
  return new Set([...words, ...pairs]);
}
