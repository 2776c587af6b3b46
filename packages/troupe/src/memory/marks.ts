import { TroupeError } from '../errors.ts';
import type { MarkChange, MemoryFilter } from './memory-base.ts';

/**
 * Marks as a list without duplicates.
 * @throws TroupeError for a mark that is empty or not a text
 */
export function markList(marks: string | readonly string[] | undefined): readonly string[] {
  const list: readonly unknown[] = typeof marks === 'string' ? [marks] : (marks ?? []);
  if (!Array.isArray(list) || !list.every((mark) => typeof mark === 'string' && mark !== '')) {
    throw new TroupeError('invalid_input', 'A mark must be a non-empty text.');
  }
  return Object.freeze([...new Set(list as readonly string[])]);
}

/** @throws TroupeError if there is neither a mark to add nor a mark to remove */
export function checkMarkChange({ newMark, oldMark }: MarkChange): void {
  if (newMark === undefined && oldMark === undefined) {
    throw new TroupeError(
      'invalid_input',
      'Give the mark to add (newMark), the mark to remove (oldMark), or both.',
    );
  }
  markList([newMark, oldMark].filter((mark) => mark !== undefined));
}

/** Marks after a change; undefined if nothing changes. */
export function changedMarks(
  marks: readonly string[],
  { newMark, oldMark }: MarkChange,
): readonly string[] | undefined {
  if (oldMark !== undefined && !marks.includes(oldMark)) return undefined;
  if (newMark !== undefined && marks.includes(newMark) && (oldMark ?? newMark) === newMark) return undefined;
  const others = marks.filter((mark) => mark !== oldMark && mark !== newMark);
  return Object.freeze(newMark === undefined ? others : [...others, newMark]);
}

/** Tells whether a message with these marks passes the filter. */
export function passesFilter(marks: readonly string[], { mark, excludeMark }: MemoryFilter): boolean {
  return (
    (mark === undefined || marks.includes(mark)) &&
    (excludeMark === undefined || !marks.includes(excludeMark))
  );
}
