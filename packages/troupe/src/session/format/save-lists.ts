import { now } from '../../util/clock.ts';
import { newId } from '../../util/ids.ts';
import { lengthOf, mergeRanges, splitParts, type ListToSave, type SavedList } from './list-to-save.ts';
import { SessionConflictError, SessionCorruptError, SessionError } from './session-error.ts';
import {
  checkItem,
  MAX_LIST_NUMBER,
  MAX_RANGES,
  readHead,
  writeHead,
  type Head,
  type HeadList,
} from './session-format.ts';
import { isHashed, type CheckedKey, type NamedKey } from './session-key.ts';
import type { LogRange, SessionStore } from './session-store.ts';
import { advance, pathText, type SavedState, type SyncState } from './sync-state.ts';

/** List with its number in the log. */
type NumberedList = ListToSave & { readonly listNumber: number };

/**
 * Saves a state and advances the sync states. Writes only new items, or a whole new log if too much of the
 * old log is unused.
 */
export async function saveLists(
  store: SessionStore,
  key: NamedKey,
  syncStates: readonly [SyncState, ...SyncState[]],
  { components, macs }: Pick<Head, 'components' | 'macs'>,
  listsToSave: readonly ListToSave[],
): Promise<Head> {
  const { base, lastSaved } = syncStates[0];
  const revision = (base?.revision ?? (await store.lastRevision?.(key)) ?? 0) + 1;
  const old =
    lastSaved === undefined || isWasteful(store, lastSaved.head, listsToSave) ? undefined : lastSaved.head;
  const lists = numberLists(
    old,
    lastSaved === undefined || old !== undefined
      ? listsToSave
      : await withTexts(store, key, lastSaved.head, listsToSave),
  );
  const log = old?.log ?? `${revision}-${newId()}`;
  const savedAt = now();
  const id = newId();
  let saved: (SavedState & { readonly text: string }) | undefined;
  try {
    await store.commit(key, {
      base,
      revision,
      savedAt,
      log,
      parts: lists
        .map(({ listNumber, parts }) => ({ listNumber, items: splitParts(parts).texts }))
        .concat(lists.length === 0 ? [{ listNumber: 0, items: [] }] : [])
        .filter(({ listNumber, items }) => items.length > 0 || (listNumber === 0 && old === undefined)),
      head: (positions) => {
        const ids = isHashed(key) ? { key: key.ids } : {};
        const state =
          macs !== undefined && Object.keys(macs).length > 0 ? { components, macs } : { components };
        saved = savedStateOf({ revision, savedAt, id, ...ids, log, ...state }, old, lists, positions);
        return saved.text;
      },
    });
  } catch (error) {
    if (!(error instanceof SessionConflictError))
      for (const syncState of syncStates) syncState.uncertain = saved;
    throw error;
  }
  if (saved === undefined) throw new SessionError('The store has saved a session without its head.');
  for (const syncState of syncStates) advance(syncState, saved);
  return saved.head;
}

/**
 * Stored texts of items in the log.
 * @throws SessionCorruptError
 */
export async function readTexts(
  store: SessionStore,
  key: CheckedKey,
  log: string,
  listNumber: number,
  ranges: readonly LogRange[],
): Promise<readonly string[]> {
  const items = await store.readItems(key, log, listNumber, ranges);
  for (const item of items) checkItem(item.text, () => store.locationOf(key, log, listNumber, item));
  return items.map(({ text }) => text);
}

/** Tells whether most of the log is unused or in too many pieces, or lists share a number, as in the first sessions. */
function isWasteful({ minGarbage }: SessionStore, head: Head, listsToSave: readonly ListToSave[]): boolean {
  if (new Set(head.lists.map(({ listNumber }) => listNumber)).size < head.lists.length) return true;
  let [live, count] = [0, 0];
  for (const { start, parts } of listsToSave) {
    const ranges = mergeRanges([...(start?.ranges ?? []), ...splitParts(parts).ranges]);
    live += lengthOf(ranges);
    count += ranges.length;
  }
  return count > MAX_RANGES / 2 || head.logEnd - 2 * live > minGarbage;
}

/** Numbers the lists: known lists keep their number, new lists get a new one. */
function numberLists(old: Head | undefined, listsToSave: readonly ListToSave[]): readonly NumberedList[] {
  const known = new Map(old?.lists.map(({ path, listNumber }) => [pathText(path), listNumber]));
  let next = Math.max(-1, ...known.values()) + 1;
  const numbered = listsToSave.map((listToSave) => ({
    ...listToSave,
    listNumber: known.get(pathText(listToSave.path)) ?? next++,
  }));
  if (next > MAX_LIST_NUMBER + 1)
    throw new SessionError(`A session can have up to ${MAX_LIST_NUMBER + 1} lists.`);
  return numbered;
}

/**
 * Lists with the text of every item.
 * @throws SessionConflictError if items are gone because another program continued
 */
async function withTexts(
  store: SessionStore,
  key: CheckedKey,
  head: Head,
  listsToSave: readonly ListToSave[],
): Promise<readonly ListToSave[]> {
  const numbers = new Map(head.lists.map(({ path, listNumber }) => [pathText(path), listNumber]));
  const whole: ListToSave[] = [];
  try {
    for (const listToSave of listsToSave) {
      const parts = [...(listToSave.start?.itemRanges ?? []), ...listToSave.parts];
      const ranges = mergeRanges(splitParts(parts).ranges);
      const listNumber = numbers.get(pathText(listToSave.path)) ?? 0;
      const texts = (await readTexts(store, key, head.log, listNumber, ranges)).values();
      const take = (count: number): string[] => Array.from({ length: count }, () => texts.next().value ?? '');
      const all = parts.flatMap((part) => (typeof part === 'string' ? part : take(part.count)));
      whole.push({ ...listToSave, start: undefined, parts: all });
    }
  } catch (error) {
    if (!(error instanceof SessionCorruptError)) throw error;
    const current = await store.readHead(key, 'current');
    const isBase =
      current?.revision === head.revision && readHead(current.text, current.location).log === head.log;
    throw isBase ? error : new SessionConflictError(key);
  }
  return whole;
}

/** Assigns log ranges to all new items. */
function savedStateOf(
  head: Omit<Head, 'lists' | 'logEnd'>,
  old: Head | undefined,
  listsToSave: readonly NumberedList[],
  positions: readonly (readonly number[])[],
): SavedState & { readonly text: string } {
  const written = positions.values();
  let logEnd = old?.logEnd ?? 0;
  const headLists: HeadList[] = [];
  const lists = new Map<string, SavedList>();
  for (const { path, listNumber, start, parts, items } of listsToSave) {
    const isNew = parts.some((part) => typeof part === 'string') || (listNumber === 0 && old === undefined);
    const itemRanges = isNew ? (written.next().value ?? []) : [];
    let next = 0;
    const added = parts.map((part): LogRange => {
      if (typeof part !== 'string') return part;
      return { from: itemRanges[next] ?? NaN, to: itemRanges[++next] ?? NaN, count: 1 };
    });
    const ranges = mergeRanges(start === undefined ? added : [...start.ranges, ...added]);
    logEnd += lengthWritten(old, path, itemRanges);
    headLists.push({ path, listNumber, ranges });
    if (items === undefined) continue;
    lists.set(pathText(path), {
      items,
      itemRanges: start === undefined ? added : start.itemRanges.concat(added),
      ranges,
    });
  }
  const whole = { ...head, logEnd, lists: headLists };
  return { head: whole, lists, text: writeHead(whole) };
}

/** Growth of a list in the log since the last save, including leftovers of killed processes. */
function lengthWritten(old: Head | undefined, path: readonly string[], positions: readonly number[]): number {
  const end = positions.at(-1);
  if (end === undefined) return 0;
  const list = old?.lists.find((one) => pathText(one.path) === pathText(path));
  return end - (list?.ranges.reduce((most, { to }) => Math.max(most, to), 0) ?? 0);
}
