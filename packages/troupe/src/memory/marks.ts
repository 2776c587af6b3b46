import { TroupeError } from '../errors.ts';
import type { MarkChange, MemoryFilter } from './memory-base.ts';

/** Marks as a list without doubles. @throws TroupeError if one is no text, or empty. */
export function markList(marks: string | readonly string[] | undefined): readonly string[] {
  const list: readonly unknown[] = typeof marks === 'string' ? [marks] : (marks ?? []);
  if (!Array.isArray(list) || !list.every((mark) => typeof mark === 'string' && mark !== '')) {
    throw new TroupeError('invalid_input', 'A mark must be a text that is not empty.');
  }
  return Object.freeze([...new Set(list as readonly string[])]);
}

/** @throws TroupeError if it says neither what mark to add nor what mark to remove. */
export function checkMarkChange({ newMark, oldMark }: MarkChange): void {
  if (newMark === undefined && oldMark === undefined) {
    throw new TroupeError(
      'invalid_input',
      'Say which mark to add (newMark), which to remove (oldMark), or both.',
    );
  }
  markList([newMark, oldMark].filter((mark) => mark !== undefined));
}

/** What a change makes of the marks of a message; undefined if it leaves them as they are. */
export function changedMarks(
  marks: readonly string[],
  { newMark, oldMark }: MarkChange,
): readonly string[] | undefined {
  if (oldMark !== undefined && !marks.includes(oldMark)) return undefined;
  if (newMark !== undefined && marks.includes(newMark) && (oldMark ?? newMark) === newMark) return undefined;
  const others = marks.filter((mark) => mark !== oldMark && mark !== newMark);
  return Object.freeze(newMark === undefined ? others : [...others, newMark]);
}

/** Whether a message with these marks is one that was asked for. */
export function isWanted(marks: readonly string[], { mark, excludeMark }: MemoryFilter): boolean {
  return (
    (mark === undefined || marks.includes(mark)) &&
    (excludeMark === undefined || !marks.includes(excludeMark))
  );
}
