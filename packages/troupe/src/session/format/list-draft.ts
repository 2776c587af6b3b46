import type { StateList } from '../../state/state-module.ts';
import { writeItem } from './session-format.ts';
import type { LogRange } from './session-store.ts';

/** A list as it was last saved or loaded: its items, where each of them is in the log, and the same with neighbours as one. */
export interface SavedList {
  readonly items: readonly object[];
  readonly places: readonly LogRange[];
  readonly ranges: readonly LogRange[];
}

/** A list as it is going to be saved. */
export interface ListDraft {
  readonly path: readonly string[];
  /** What it begins with, if that is all of what was saved. */
  readonly start: SavedList | undefined;
  /** What follows: where a part of it is in the log already, or the text of an item that is new. */
  readonly parts: readonly (LogRange | string)[];
  /** The items of the whole list; undefined if it belongs to a component that is not here. */
  readonly items: readonly object[] | undefined;
}

/** Finds what is new in a list: items are known by their identity, and only the new ones are turned into text. */
export function draftList({ path, items, toJson }: StateList, saved: SavedList | undefined): ListDraft {
  const known = saved?.items ?? [];
  let same = 0;
  while (same < items.length && same < known.length && items[same] === known[same]) same++;
  const hasGrown = same === known.length; // most lists only do that, and most of such a list is not looked at again
  const parts: (LogRange | string)[] = hasGrown ? [] : (saved?.places.slice(0, same) ?? []);
  const moved = new Map(known.slice(same).map((item, i) => [item, saved?.places[same + i]]));
  for (let i = same; i < items.length; i++) {
    const item = items[i] as object;
    parts.push(moved.get(item) ?? writeItem(toJson(item), [...path, i]));
  }
  return { path, start: hasGrown ? saved : undefined, parts, items: items.slice() };
}

/** Neighbours as one range. */
export function mergeRanges(ranges: readonly LogRange[]): readonly LogRange[] {
  const merged: { from: number; to: number; count: number }[] = [];
  for (const { from, to, count } of ranges) {
    const last = merged.at(-1);
    if (last?.to === from) {
      last.to = to;
      last.count += count;
    } else merged.push({ from, to, count });
  }
  return merged;
}

export function lengthOf(ranges: readonly LogRange[]): number {
  return ranges.reduce((sum, { from, to }) => sum + to - from, 0);
}

/** What is in the log already, and what is new. */
export function splitParts(parts: ListDraft['parts']): {
  readonly ranges: LogRange[];
  readonly texts: string[];
} {
  const ranges: LogRange[] = [];
  const texts: string[] = [];
  for (const part of parts) {
    if (typeof part === 'string') texts.push(part);
    else ranges.push(part);
  }
  return { ranges, texts };
}
