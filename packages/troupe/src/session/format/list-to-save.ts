import type { StateList } from '../../state/state-module.ts';
import { writeItem } from './session-format.ts';
import type { LogRange } from './session-store.ts';

/** List as last saved or loaded: its items, the log range of each item, and the merged ranges. */
export interface SavedList {
  readonly items: readonly object[];
  readonly itemRanges: readonly LogRange[];
  readonly ranges: readonly LogRange[];
}

/** List to be saved. */
export interface ListToSave {
  readonly path: readonly string[];
  /** Unchanged start of the list, if it is the whole saved list. */
  readonly start: SavedList | undefined;
  /** Remaining parts: log ranges of saved items, or texts of new items. */
  readonly parts: readonly (LogRange | string)[];
  /** Items of the whole list; undefined for a component that is not part of the save. */
  readonly items: readonly object[] | undefined;
}

/** Finds new items of a list by object identity. Only new items are converted to text. */
export function listToSave({ path, items, toJson }: StateList, saved: SavedList | undefined): ListToSave {
  const known = saved?.items ?? [];
  let same = 0;
  while (same < items.length && same < known.length && items[same] === known[same]) same++;
  const hasGrown = same === known.length; // the usual case, which skips most of the list
  const parts: (LogRange | string)[] = hasGrown ? [] : (saved?.itemRanges.slice(0, same) ?? []);
  const moved = new Map(known.slice(same).map((item, i) => [item, saved?.itemRanges[same + i]]));
  for (let i = same; i < items.length; i++) {
    const item = items[i] as object;
    parts.push(moved.get(item) ?? writeItem(toJson(item), [...path, i]));
  }
  return { path, start: hasGrown ? saved : undefined, parts, items: items.slice() };
}

/** Merges adjacent ranges. */
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

/** Separates saved ranges from new texts. */
export function splitParts(parts: ListToSave['parts']): {
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
