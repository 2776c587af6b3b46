import { now } from '../util/clock.ts';
import { newId } from '../util/ids.ts';
import type { JsonObject } from '../util/json.ts';
import { lengthOf, mergeRanges, splitParts, type ListDraft, type SavedList } from './list-draft.ts';
import { SessionConflictError, SessionError } from './session-error.ts';
import { checkItem, writeHead, type Head, type HeadList } from './session-format.ts';
import type { CheckedKey } from './session-key.ts';
import type { LogRange, SessionStore } from './session-store.ts';
import { moveTo, pathText, type Snapshot, type Track } from './track.ts';

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
  const revision = (base?.revision ?? 0) + 1;
  const isWasteful = snapshot !== undefined && garbageOf(snapshot.head, drafts) > store.minGarbage;
  const lists = isWasteful ? await inFull(store, key, snapshot.head.log, drafts) : drafts;
  const log = snapshot === undefined || isWasteful ? `${revision}-${newId()}` : snapshot.head.log;
  const savedAt = now();
  let saved: (Snapshot & { readonly text: string }) | undefined;
  try {
    await store.commit(key, {
      base,
      revision,
      savedAt,
      log,
      items: lists.flatMap(({ parts }) => splitParts(parts).texts),
      head: (positions) => {
        saved = snapshotOf({ revision, savedAt, log, components }, lists, positions);
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
  ranges: readonly LogRange[],
): Promise<readonly string[]> {
  const items = await store.readItems(key, log, ranges);
  for (const item of items) checkItem(item.text, () => store.placeOf(key, log, item));
  return items.map(({ text }) => text);
}

/** How much more of the log is left over than is in use; less than 0 if most of it is in use. */
function garbageOf({ logEnd }: Head, drafts: readonly ListDraft[]): number {
  let live = 0;
  for (const { start, parts } of drafts)
    live += lengthOf(start?.ranges ?? []) + lengthOf(splitParts(parts).ranges);
  return logEnd - 2 * live;
}

/** The same lists with the text of every item. */
async function inFull(
  store: SessionStore,
  key: CheckedKey,
  log: string,
  drafts: readonly ListDraft[],
): Promise<readonly ListDraft[]> {
  const whole: ListDraft[] = [];
  for (const draft of drafts) {
    const parts = [...(draft.start?.places ?? []), ...draft.parts];
    const texts = (await readTexts(store, key, log, mergeRanges(splitParts(parts).ranges))).values();
    const take = (count: number): string[] => Array.from({ length: count }, () => texts.next().value ?? '');
    const all = parts.flatMap((part) => (typeof part === 'string' ? part : take(part.count)));
    whole.push({ ...draft, start: undefined, parts: all });
  }
  return whole;
}

/** Gives every new item its place. */
function snapshotOf(
  head: Omit<Head, 'lists' | 'logEnd'>,
  drafts: readonly ListDraft[],
  positions: readonly number[],
): Snapshot & { readonly text: string } {
  let next = 0;
  const headLists: HeadList[] = [];
  const lists = new Map<string, SavedList>();
  for (const { path, start, parts, items } of drafts) {
    const added = parts.map((part): LogRange => {
      if (typeof part !== 'string') return part;
      return { from: positions[next] ?? NaN, to: positions[++next] ?? NaN, count: 1 };
    });
    const ranges = mergeRanges([...(start?.ranges ?? []), ...added]);
    headLists.push({ path, ranges });
    if (items === undefined) continue;
    lists.set(pathText(path), {
      items,
      places: start === undefined ? added : start.places.concat(added),
      ranges,
    });
  }
  const whole = { ...head, logEnd: positions.at(-1) ?? 0, lists: headLists };
  return { head: whole, lists, text: writeHead(whole) };
}
