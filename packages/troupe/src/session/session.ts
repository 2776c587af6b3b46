import { checkNumber } from '../util/check-number.ts';
import type { LoadStateOptions, StateModule } from '../state/state-module.ts';
import { now } from '../util/clock.ts';
import { newId } from '../util/ids.ts';
import { setOwn, type JsonValue } from '../util/json.ts';
import { ComponentState, versionsAlong, type SessionComponents } from './format/component-state.ts';
import { reportNoMatch, warnOfUnused } from './format/load-report.ts';
import { draftList, type ListDraft, type SavedList } from './format/list-draft.ts';
import { saveDrafts } from './format/save-drafts.ts';
import { ScopedStore } from './scoped-store.ts';
import {
  SessionConflictError,
  SessionCorruptError,
  SessionError,
  SessionNotFoundError,
} from './format/session-error.ts';
import { readHead, writeHead, type Head } from './format/session-format.ts';
import { keyName, keyText, toSessionKey, type CheckedKey, type SessionKey } from './format/session-key.ts';
import { listPage, MAX_PAGE, type ListOptions, type PruneOptions, type SessionPage } from './session-page.ts';
import { SessionReader, type Others } from './format/session-reader.ts';
import type { SessionInfo, SessionStore, StoredHead } from './format/session-store.ts';
import { moveTo, newTrack, pathText, Tracks, type Track } from './format/track.ts';

export interface SaveOptions {
  /** Whether to replace whatever is saved, by whomever. @default false */
  readonly overwrite?: boolean | undefined;
}

export interface LoadOptions extends LoadStateOptions {
  /** Whether it is an error if the session holds none of the components. Otherwise the logger is told. @default false */
  readonly mustMatch?: boolean | undefined;
}

/**
 * Saves the state of components under a key, and loads it again. A save appears whole or not at all, whenever the
 * process dies, and costs what is new: an item of a list that was saved before is not written again.
 *
 * Nobody overwrites what they have not seen: a save goes on from the revision that these very components were last
 * loaded from or saved to, and fails with a SessionConflictError if there is a newer one, or if they belong to another
 * session by now. Components that are saved but not handed over stay as they are. The save before the last can be restored.
 */
export class Session implements AsyncDisposable {
  readonly #store: SessionStore;
  readonly #reader: SessionReader;
  readonly #tracks = new Tracks();
  /** The last thing that is being done with each session. */
  readonly #lanes = new Map<string, Promise<unknown>>();

  constructor(store: SessionStore) {
    this.#store = store;
    this.#reader = new SessionReader(store);
  }

  /** Saves components by their names. @throws SessionConflictError if somebody else has saved meanwhile. */
  save(key: SessionKey, components: SessionComponents, options: SaveOptions = {}): Promise<SessionInfo> {
    return this.#inLane('Saving', key, async (checked) => {
      const state = new ComponentState(components);
      if (options.overwrite) return this.#overwrite(checked, components, state);
      const tracks = await this.#tracksOf(checked, components);
      const { rest, lists } = state.stateParts();
      const saved = new Map(tracks.flatMap(({ snapshot }) => [...(snapshot?.lists ?? [])]));
      const drafts = lists.map((list) => draftList(list, saved.get(pathText(list.path))));
      const others = othersThan(components, tracks[0], saved);
      const whole = { ...others.components, ...rest };
      const remember = (): void => {
        for (const [name, module] of Object.entries(components))
          this.#tracks.wasSaved({ [name]: module }, checked, this.#tracks.of(module, checked) ?? tracks[0]);
      };
      try {
        const head = await saveDrafts(this.#store, checked, tracks, whole, [...drafts, ...others.drafts]);
        remember();
        return infoOf(checked, head);
      } catch (error) {
        if (tracks[0].unsure !== undefined) remember();
        throw error;
      }
    });
  }

  /**
   * Loads the components that are saved, all of them or none; the others keep their state.
   * @returns false if there is no such session.
   */
  load(key: SessionKey, components: SessionComponents, options: LoadOptions = {}): Promise<boolean> {
    const { mustMatch = false, ...limits } = options;
    return this.#inLane('Loading', key, async (checked) => {
      new ComponentState(components);
      const found = await this.#reader.read(checked, (head) =>
        this.#reader.stateOf(checked, head, components),
      );
      if (found === undefined) return false;
      const { head, state, items } = found;
      const entries = Object.entries(components);
      const isSaved = ([name]: readonly [string, StateModule]): boolean =>
        Object.hasOwn(head.components, name);
      if (!entries.some(isSaved)) reportNoMatch(checked, components, head, mustMatch);
      const known = Object.fromEntries(entries.filter(isSaved));
      const target = new ComponentState(known);
      target.loadStateDict(state, { maxSize: Infinity, ...limits });
      const { rest, lists } = target.stateParts();
      warnOfUnused(checked, head, rest, lists);
      const saved = new Map<string, SavedList>();
      for (const list of lists) {
        const places = items.get(pathText(list.path));
        const isSame = versionsAlong(rest, list.path) === versionsAlong(head.components, list.path);
        if (places === undefined || places.length !== list.items.length || !isSame) continue;
        saved.set(pathText(list.path), {
          items: [...list.items],
          places: places.map(({ from, to }) => ({ from, to, count: 1 })),
          ranges: head.lists.find(({ path }) => pathText(path) === pathText(list.path))?.ranges ?? [],
        });
      }
      const track = newTrack(undefined);
      moveTo(track, { head, lists: saved });
      this.#tracks.wasLoaded(known, checked, track);
      this.#tracks.wasSaved(Object.fromEntries(entries.filter((entry) => !isSaved(entry))), checked, track);
      return true;
    });
  }

  exists(key: SessionKey): Promise<boolean> {
    return this.#inLane('Looking for', key, async (checked) => {
      return (await this.#store.readHead(checked, 'current')) !== undefined;
    });
  }

  /** How often the session was saved: it tells whether somebody else has. 0 if there is no such session. */
  revisionOf(key: SessionKey): Promise<number> {
    return this.#inLane('Looking for', key, async (checked) => {
      return (await this.#store.readHead(checked, 'current'))?.revision ?? 0;
    });
  }

  /** The sessions of a user, newest first, a page at a time. */
  list(options: ListOptions = {}): Promise<SessionPage> {
    return listPage(this.#store, options);
  }

  /**
   * Deletes a session. Returns whether it was there.
   * @param components those that may be saved there again, as to a new session
   */
  delete(key: SessionKey, components: SessionComponents = {}): Promise<boolean> {
    return this.#inLane('Deleting', key, async (checked) => {
      const wasThere = await this.#store.delete(checked);
      this.#tracks.forget(Object.values(components), checked);
      return wasThere;
    });
  }

  /**
   * Makes a new session of what is saved in another.
   * @throws SessionNotFoundError, or SessionConflictError if the new one exists already.
   */
  copy(from: SessionKey, to: SessionKey): Promise<SessionInfo> {
    return this.#inLane('Copying to', to, async (target) => {
      const source = toSessionKey(from);
      const found = await this.#reader.read(source, async (head) => {
        const drafts: ListDraft[] = [];
        for (const list of head.lists) drafts.push(await this.#reader.draftOf(source, head, list));
        return { head, drafts };
      });
      if (found === undefined) throw new SessionNotFoundError(source);
      const { head, drafts } = found;
      return infoOf(
        target,
        await saveDrafts(this.#store, target, [newTrack(undefined)], head.components, drafts),
      );
    });
  }

  /** Deletes sessions that are old, or more than should be kept. Returns how many. */
  async prune({ olderThanMs = 0, keepNewest = 0, ...whose }: PruneOptions): Promise<number> {
    checkNumber('olderThanMs', olderThanMs, { least: 0 });
    checkNumber('keepNewest', keepNewest, { least: 0, whole: true });
    const end = now() - olderThanMs;
    const doomed: SessionInfo[] = [];
    let seen = 0;
    let cursor: string | undefined;
    do {
      const page = await this.list({ ...whose, limit: MAX_PAGE, cursor });
      doomed.push(...page.sessions.filter(({ savedAt }) => ++seen > keepNewest && savedAt <= end));
      cursor = page.next;
    } while (cursor !== undefined);
    let deleted = 0;
    for (const info of doomed) {
      const isGone = await this.#inLane('Deleting', info, (key) => this.#store.delete(key, info.revision));
      if (isGone) deleted++;
    }
    return deleted;
  }

  /**
   * Makes the save before the last the newest one. Whoever has loaded the last one has to load again.
   * @throws SessionNotFoundError if there is none.
   */
  restorePrevious(key: SessionKey): Promise<SessionInfo> {
    return this.#inLane('Restoring', key, async (checked) => {
      const current = await this.#store.readHead(checked, 'current');
      const previous = await this.#store.readHead(checked, 'previous');
      if (current === undefined || previous === undefined) {
        throw new SessionNotFoundError(checked, 'There is no earlier save of session');
      }
      const base = { revision: current.revision, log: logOf(current) };
      let head: Head;
      try {
        head = readHead(previous.text, previous.place);
        for (const list of head.lists) await this.#reader.draftOf(checked, head, list);
      } catch (error) {
        if (!(error instanceof SessionCorruptError)) throw error;
        const again = await this.#store.readHead(checked, 'current');
        throw again?.text === current.text ? error.withoutWayBack() : new SessionConflictError(checked);
      }
      const restored = { ...head, revision: current.revision + 1, savedAt: now(), id: newId() };
      await this.#store.commit(checked, { ...restored, base, parts: [], head: () => writeHead(restored) });
      return infoOf(checked, restored);
    });
  }

  /**
   * The sessions whose ids begin with this prefix, by what follows it. Nobody reaches others by it, and closing it closes nothing.
   * @param prefix ends with `@` @param until once it is aborted, nothing can be done any more @throws TroupeError if the prefix does not.
   */
  scoped(prefix: string, until?: AbortSignal): Session {
    return new Session(new ScopedStore(this.#store, prefix, until));
  }

  /** Waits for what is being done, and lets go of the store. */
  async close(): Promise<void> {
    await Promise.all(this.#lanes.values());
    await this.#store.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** The tracks that a save goes on from: one if the components were loaded together, all at the same revision. */
  async #tracksOf(key: CheckedKey, components: SessionComponents): Promise<readonly [Track, ...Track[]]> {
    const tracks = new Set<Track>();
    for (const [name, module] of Object.entries(components)) {
      if (this.#tracks.isElsewhere(module, key)) {
        throw new SessionConflictError(key, `is not what '${name}' was last loaded from or saved to`);
      }
      const track = this.#tracks.of(module, key);
      if (track !== undefined) tracks.add(track);
    }
    for (const track of tracks) await this.#makeSure(key, track);
    const [first = newTrack(undefined), ...others] = tracks;
    if (others.some(({ base }) => base?.revision !== first.base?.revision || base?.log !== first.base?.log)) {
      throw new SessionConflictError(key, 'has components that were loaded from different revisions of it');
    }
    for (const [name, module] of Object.entries(components)) {
      const isThere = Object.hasOwn(first.snapshot?.head.components ?? {}, name);
      if (isThere && !this.#tracks.isKnown(module, key, name)) {
        throw new SessionConflictError(key, `has a component '${name}' that this one was not loaded from`);
      }
    }
    return [first, ...others];
  }

  /** Replaces components, whoever has saved them. The others stay if they can be read. */
  async #overwrite(
    key: CheckedKey,
    components: SessionComponents,
    state: ComponentState,
  ): Promise<SessionInfo> {
    const current = await this.#store.readHead(key, 'current');
    const base = current && { revision: current.revision, log: logOf(current) };
    const others = await this.#reader.othersThan(key, current, components);
    const { rest, lists } = state.stateParts();
    const drafts = lists.map((list) => draftList(list, undefined));
    const track = newTrack(base);
    const whole = { ...others.components, ...rest };
    try {
      const head = await saveDrafts(this.#store, key, [track], whole, [...drafts, ...others.drafts]);
      this.#tracks.wasSaved(components, key, track);
      return infoOf(key, head);
    } catch (error) {
      for (const [name, module] of track.unsure === undefined ? [] : Object.entries(components)) {
        const old = this.#tracks.of(module, key);
        const unsure = { ...newTrack(old?.base, old?.snapshot), unsure: track.unsure };
        this.#tracks.wasSaved({ [name]: module }, key, unsure);
      }
      throw error;
    }
  }

  /** Finds out whether a save that failed has happened all the same. */
  async #makeSure(key: CheckedKey, track: Track): Promise<void> {
    if (track.unsure === undefined) return;
    const current = await this.#store.readHead(key, 'current');
    if (current?.text === track.unsure.text) moveTo(track, track.unsure);
    track.unsure = undefined;
  }

  /** One thing after another for each session. What a store throws becomes a SessionError. */
  #inLane<T>(what: string, key: SessionKey, work: (key: CheckedKey) => Promise<T>): Promise<T> {
    const run = async (): Promise<T> => {
      const checked = toSessionKey(key);
      const lane = keyText(checked);
      const result = (this.#lanes.get(lane) ?? Promise.resolve()).then(() => work(checked));
      const settled = result.then(noop, noop);
      this.#lanes.set(lane, settled);
      try {
        return await result;
      } catch (error) {
        throw SessionError.from(error, `${what} session ${keyName(checked)}`);
      } finally {
        if (this.#lanes.get(lane) === settled) this.#lanes.delete(lane);
      }
    };
    return run();
  }
}

function noop(): void {}

/** What is saved of components that were not handed over: it stays. */
function othersThan(
  components: SessionComponents,
  { snapshot }: Track,
  saved: ReadonlyMap<string, SavedList>,
): Others {
  const others: { [name: string]: JsonValue } = {};
  for (const [name, state] of Object.entries(snapshot?.head.components ?? {})) {
    if (!Object.hasOwn(components, name)) setOwn(others, name, state);
  }
  const lists =
    snapshot?.head.lists.filter(({ path: [name = ''] }) => !Object.hasOwn(components, name)) ?? [];
  return {
    components: others,
    drafts: lists.map(({ path, ranges }) => {
      const list = saved.get(pathText(path));
      return { path, start: list, parts: list === undefined ? ranges : [], items: list?.items };
    }),
  };
}

function infoOf({ user, session }: CheckedKey, { revision, savedAt }: Head): SessionInfo {
  return { session, ...(user !== '' && { user }), revision, savedAt };
}

/** The log that a head names, if it can be read. */
function logOf({ text, place }: StoredHead): string | undefined {
  try {
    return readHead(text, place).log;
  } catch (error) {
    if (error instanceof SessionError) return undefined;
    throw error;
  }
}
