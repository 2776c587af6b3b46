import { now } from '../../util/clock.ts';
import { newId } from '../../util/ids.ts';
import { lengthOf, mergeRanges, splitParts, type ListDraft, type SavedList } from './list-draft.ts';
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
import { advance, pathText, type Snapshot, type SyncState } from './sync-state.ts';

/** List with its number in the log. */
type NumberedDraft = ListDraft & { readonly listNumber: number };

/**
 * Saves a state and advances the sync states. Writes only new items, or a whole new log if too much of the
 * old log is unused.
 */
export async function saveDrafts(
  store: SessionStore,
  key: NamedKey,
  syncStates: readonly [SyncState, ...SyncState[]],
  { components, macs }: Pick<Head, 'components' | 'macs'>,
  drafts: readonly ListDraft[],
): Promise<Head> {
  const { base, snapshot } = syncStates[0];
  const revision = (base?.revision ?? (await store.lastRevision?.(key)) ?? 0) + 1;
  const old = snapshot === undefined || isWasteful(store, snapshot.head, drafts) ? undefined : snapshot.head;
  const lists = numberLists(
    old,
    snapshot === undefined || old !== undefined ? drafts : await withTexts(store, key, snapshot.head, drafts),
  );
  const log = old?.log ?? `${revision}-${newId()}`;
  const savedAt = now();
  const id = newId();
  let saved: (Snapshot & { readonly text: string }) | undefined;
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
        saved = snapshotOf({ revision, savedAt, id, ...ids, log, ...state }, old, lists, positions);
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
function isWasteful({ minGarbage }: SessionStore, head: Head, drafts: readonly ListDraft[]): boolean {
  if (new Set(head.lists.map(({ listNumber }) => listNumber)).size < head.lists.length) return true;
  let [live, count] = [0, 0];
  for (const { start, parts } of drafts) {
    const ranges = mergeRanges([...(start?.ranges ?? []), ...splitParts(parts).ranges]);
    live += lengthOf(ranges);
    count += ranges.length;
  }
  return count > MAX_RANGES / 2 || head.logEnd - 2 * live > minGarbage;
}

/** Numbers the lists: known lists keep their number, new lists get a new one. */
function numberLists(old: Head | undefined, drafts: readonly ListDraft[]): readonly NumberedDraft[] {
  const known = new Map(old?.lists.map(({ path, listNumber }) => [pathText(path), listNumber]));
  let next = Math.max(-1, ...known.values()) + 1;
  const numbered = drafts.map((draft) => ({
    ...draft,
    listNumber: known.get(pathText(draft.path)) ?? next++,
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
  drafts: readonly ListDraft[],
): Promise<readonly ListDraft[]> {
  const numbers = new Map(head.lists.map(({ path, listNumber }) => [pathText(path), listNumber]));
  const whole: ListDraft[] = [];
  try {
    for (const draft of drafts) {
      const parts = [...(draft.start?.itemRanges ?? []), ...draft.parts];
      const ranges = mergeRanges(splitParts(parts).ranges);
      const listNumber = numbers.get(pathText(draft.path)) ?? 0;
      const texts = (await readTexts(store, key, head.log, listNumber, ranges)).values();
      const take = (count: number): string[] => Array.from({ length: count }, () => texts.next().value ?? '');
      const all = parts.flatMap((part) => (typeof part === 'string' ? part : take(part.count)));
      whole.push({ ...draft, start: undefined, parts: all });
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
function snapshotOf(
  head: Omit<Head, 'lists' | 'logEnd'>,
  old: Head | undefined,
  drafts: readonly NumberedDraft[],
  positions: readonly (readonly number[])[],
): Snapshot & { readonly text: string } {
  const written = positions.values();
  let logEnd = old?.logEnd ?? 0;
  const headLists: HeadList[] = [];
  const lists = new Map<string, SavedList>();
  for (const { path, listNumber, start, parts, items } of drafts) {
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
