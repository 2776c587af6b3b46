import { now } from '../../util/clock.ts';
import { newId } from '../../util/ids.ts';
import type { JsonObject } from '../../util/json.ts';
import { lengthOf, mergeRanges, splitParts, type ListDraft, type SavedList } from './list-draft.ts';
import { SessionConflictError, SessionCorruptError, SessionError } from './session-error.ts';
import { checkItem, MAX_LANE, readHead, writeHead, type Head, type HeadList } from './session-format.ts';
import type { CheckedKey } from './session-key.ts';
import type { LogRange, SessionStore } from './session-store.ts';
import { moveTo, pathText, type Snapshot, type Track } from './track.ts';

/** A list with the lane that it is in. */
type LaidDraft = ListDraft & { readonly lane: number };

/**
 * Saves a state, and moves the tracks on. Only what has no place in the log yet is written, unless so much of the log
 * is left over from older saves that all of it is written anew.
 */
export async function saveDrafts(
  store: SessionStore,
  key: CheckedKey,
  tracks: readonly [Track, ...Track[]],
  components: JsonObject,
  drafts: readonly ListDraft[],
): Promise<Head> {
  const { base, snapshot } = tracks[0];
  const revision = (base?.revision ?? (await store.lastRevision?.(key)) ?? 0) + 1;
  const old = snapshot === undefined || isWasteful(store, snapshot.head, drafts) ? undefined : snapshot.head;
  const lists = inLanes(
    old,
    snapshot === undefined || old !== undefined ? drafts : await inFull(store, key, snapshot.head, drafts),
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
        .map(({ lane, parts }) => ({ lane, items: splitParts(parts).texts }))
        .concat(lists.length === 0 ? [{ lane: 0, items: [] }] : [])
        .filter(({ lane, items }) => items.length > 0 || (lane === 0 && old === undefined)),
      head: (positions) => {
        saved = snapshotOf({ revision, savedAt, id, log, components }, old, lists, positions);
        return saved.text;
      },
    });
  } catch (error) {
    if (!(error instanceof SessionConflictError)) for (const track of tracks) track.unsure = saved;
    throw error;
  }
  if (saved === undefined) throw new SessionError('The store has saved a session without its head.');
  for (const track of tracks) moveTo(track, saved);
  return saved.head;
}

/** The texts of items that are in the log, as they are there. @throws SessionCorruptError */
export async function readTexts(
  store: SessionStore,
  key: CheckedKey,
  log: string,
  lane: number,
  ranges: readonly LogRange[],
): Promise<readonly string[]> {
  const items = await store.readItems(key, log, lane, ranges);
  for (const item of items) checkItem(item.text, () => store.placeOf(key, log, lane, item));
  return items.map(({ text }) => text);
}

/** Whether more of the log is left over than is in use, or lists share a lane, as they did once. */
function isWasteful({ minGarbage }: SessionStore, head: Head, drafts: readonly ListDraft[]): boolean {
  if (new Set(head.lists.map(({ lane }) => lane)).size < head.lists.length) return true;
  let live = 0;
  for (const { start, parts } of drafts)
    live += lengthOf(start?.ranges ?? []) + lengthOf(splitParts(parts).ranges);
  return head.logEnd - 2 * live > minGarbage;
}

/** Each list in the lane where it was, and a new one in a lane of its own. */
function inLanes(old: Head | undefined, drafts: readonly ListDraft[]): readonly LaidDraft[] {
  const known = new Map(old?.lists.map(({ path, lane }) => [pathText(path), lane]));
  let next = Math.max(-1, ...known.values()) + 1;
  const laid = drafts.map((draft) => ({ ...draft, lane: known.get(pathText(draft.path)) ?? next++ }));
  if (next > MAX_LANE + 1) throw new SessionError(`A session holds up to ${MAX_LANE + 1} lists.`);
  return laid;
}

/** The same lists with the text of every item. @throws SessionConflictError if they are gone because others went on. */
async function inFull(
  store: SessionStore,
  key: CheckedKey,
  head: Head,
  drafts: readonly ListDraft[],
): Promise<readonly ListDraft[]> {
  const lanes = new Map(head.lists.map(({ path, lane }) => [pathText(path), lane]));
  const whole: ListDraft[] = [];
  try {
    for (const draft of drafts) {
      const parts = [...(draft.start?.places ?? []), ...draft.parts];
      const ranges = mergeRanges(splitParts(parts).ranges);
      const lane = lanes.get(pathText(draft.path)) ?? 0;
      const texts = (await readTexts(store, key, head.log, lane, ranges)).values();
      const take = (count: number): string[] => Array.from({ length: count }, () => texts.next().value ?? '');
      const all = parts.flatMap((part) => (typeof part === 'string' ? part : take(part.count)));
      whole.push({ ...draft, start: undefined, parts: all });
    }
  } catch (error) {
    if (!(error instanceof SessionCorruptError)) throw error;
    const current = await store.readHead(key, 'current');
    const isBase =
      current?.revision === head.revision && readHead(current.text, current.place).log === head.log;
    throw isBase ? error : new SessionConflictError(key);
  }
  return whole;
}

/** Gives every new item its place. */
function snapshotOf(
  head: Omit<Head, 'lists' | 'logEnd'>,
  old: Head | undefined,
  drafts: readonly LaidDraft[],
  positions: readonly (readonly number[])[],
): Snapshot & { readonly text: string } {
  const written = positions.values();
  let logEnd = old?.logEnd ?? 0;
  const headLists: HeadList[] = [];
  const lists = new Map<string, SavedList>();
  for (const { path, lane, start, parts, items } of drafts) {
    const isNew = parts.some((part) => typeof part === 'string') || (lane === 0 && old === undefined);
    const places = isNew ? (written.next().value ?? []) : [];
    let next = 0;
    const added = parts.map((part): LogRange => {
      if (typeof part !== 'string') return part;
      return { from: places[next] ?? NaN, to: places[++next] ?? NaN, count: 1 };
    });
    const ranges = mergeRanges(start === undefined ? added : [...start.ranges, ...added]);
    logEnd += lengthWritten(old, path, places);
    headLists.push({ path, lane, ranges });
    if (items === undefined) continue;
    lists.set(pathText(path), {
      items,
      places: start === undefined ? added : start.places.concat(added),
      ranges,
    });
  }
  const whole = { ...head, logEnd, lists: headLists };
  return { head: whole, lists, text: writeHead(whole) };
}

/** How much longer a lane is than the last save knew, with what killed processes have left there. */
function lengthWritten(old: Head | undefined, path: readonly string[], positions: readonly number[]): number {
  const end = positions.at(-1);
  if (end === undefined) return 0;
  const list = old?.lists.find((one) => pathText(one.path) === pathText(path));
  return end - (list?.ranges.reduce((most, { to }) => Math.max(most, to), 0) ?? 0);
}
