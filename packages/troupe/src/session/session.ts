import { KeyedQueue } from '../util/async/keyed-queue.ts';
import { checkNumber } from '../util/check-number.ts';
import type { LoadStateOptions, StateModule } from '../state/state-module.ts';
import { traced } from '../tracing/instrumentation.ts';
import { now } from '../util/clock.ts';
import { newId } from '../util/ids.ts';
import { ComponentMacs, type ApprovalKey } from './format/component-macs.ts';
import {
  aliasPath,
  ComponentState,
  versionsAlong,
  type SessionComponents,
} from './format/component-state.ts';
import { reportNoMatch, warnOfUnused } from './format/load-report.ts';
import type { ListToSave, SavedList } from './format/list-to-save.ts';
import { saveLists } from './format/save-lists.ts';
import { ScopedStore } from './scoped-store.ts';
import {
  SessionConflictError,
  SessionCorruptError,
  SessionError,
  SessionNotFoundError,
} from './format/session-error.ts';
import { logOf, readHead, writeHead, type Head } from './format/session-format.ts';
import {
  idsText,
  keyName,
  keyText,
  toKeyIds,
  toSessionKey,
  type NamedKey,
  type SessionKey,
} from './format/session-key.ts';
import {
  listPage,
  MAX_PAGE,
  storedPage,
  type ListOptions,
  type PruneOptions,
  type SessionPage,
  type StoredInfo,
} from './session-page.ts';
import { SessionReader } from './format/session-reader.ts';
import type { SessionInfo, SessionStore } from './format/session-store.ts';
import { SessionWriter } from './format/session-writer.ts';
import { advance, newSyncState, pathText, SyncStateTable } from './format/sync-state.ts';

export interface SessionOptions {
  /**
   * Key for the message authentication codes of saved states, at least 16 bytes: approvals, modes and rules in a state without a
   * valid code do not count. Keep the key outside of the sessions, and the same for all programs that share them.
   * @default in files and SQLite, a private file beside the sessions; none needed in memory; otherwise none
   */
  readonly approvalKey?: ApprovalKey | undefined;
}

export interface SaveOptions {
  /** Replaces everything saved, even by others. @default false */
  readonly overwrite?: boolean | undefined;
}

export interface LoadOptions extends LoadStateOptions {
  /** Throws if the session has none of the components; otherwise logs a warning. @default false */
  readonly mustMatch?: boolean | undefined;
}

/**
 * Saves the state of components under a key, and loads it again. Saves are atomic, even if the process dies,
 * and write only new list items. Folder `session`: start here.
 *
 * Nothing unseen is overwritten: a save continues from the revision that the same components were last loaded
 * from or saved to. It fails with a SessionConflictError if there is a newer revision, or if the components
 * belong to another session by now. Saved components that are not passed stay unchanged. The save before the
 * last can be restored.
 *
 * @example
 * ```ts
 * import { InMemorySession, ReActAgent } from 'troupe';
 * import { OfflineModel } from 'troupe/offline';
 *
 * const session = new InMemorySession(); // a Session over a store; others are in troupe/json, troupe/sqlite, …
 * const agent = new ReActAgent({ name: 'Friday', model: new OfflineModel(), console: false });
 * await agent.call('I live in Lisbon.');
 * await session.save('user-1', { agent });
 * await session.load('user-1', { agent: new ReActAgent({ name: 'Friday', model: new OfflineModel(), console: false }) });
 * ```
 */
export class Session implements AsyncDisposable {
  readonly #store: SessionStore;
  readonly #options: SessionOptions;
  readonly #macs: ComponentMacs;
  readonly #reader: SessionReader;
  readonly #writer: SessionWriter;
  readonly #syncStates = new SyncStateTable();
  readonly #queue = new KeyedQueue();

  /** @throws TroupeError if the key is too short */
  constructor(store: SessionStore, options: SessionOptions = {}) {
    this.#store = store;
    this.#options = options;
    this.#macs = new ComponentMacs(store, options.approvalKey);
    this.#reader = new SessionReader(store);
    this.#writer = new SessionWriter(store, this.#reader, this.#syncStates, this.#macs);
  }

  /**
   * Saves components by name.
   * @throws SessionConflictError if another program has saved meanwhile
   */
  save(key: SessionKey, components: SessionComponents, options: SaveOptions = {}): Promise<SessionInfo> {
    const save = (): Promise<SessionInfo> =>
      this.#enqueue('Saving', key, async (checked) => {
        const state = new ComponentState(components);
        const head = options.overwrite
          ? await this.#writer.overwrite(checked, components, state)
          : await this.#writer.save(checked, components, state);
        return infoOf(checked, head);
      });
    return traced(() => ({ type: 'session', action: 'save', components: Object.keys(components) }), save, {
      outcomeOf: ({ revision }) => ({ status: 'ok', revision }),
    });
  }

  /**
   * Loads the saved components, all or none; components without a saved state stay unchanged.
   * @returns false if the session does not exist
   */
  load(key: SessionKey, components: SessionComponents, options: LoadOptions = {}): Promise<boolean> {
    return traced(
      () => ({ type: 'session', action: 'load', components: Object.keys(components) }),
      () => this.#load(key, components, options),
    );
  }

  #load(key: SessionKey, components: SessionComponents, options: LoadOptions): Promise<boolean> {
    const { mustMatch = false, ...limits } = options;
    return this.#enqueue('Loading', key, async (checked) => {
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
      // A save of one component alone may have left a copy beside the state of the component around it: the copy is newer.
      const copies = Object.fromEntries(
        Object.keys(target.aliases)
          .filter((name) => aliasPath(head.components[name]) === undefined)
          .map((name) => [name, known[name] as StateModule]),
      );
      const hasCopies = Object.keys(copies).length > 0;
      const acceptGrants = await this.#macs.areValid(checked, head, components);
      target.loadStateDict(state, { maxSize: Infinity, acceptGrants, ...limits });
      new ComponentState(copies).loadStateDict(state, { maxSize: Infinity, acceptGrants, ...limits });
      const parts = target.stateParts();
      const { rest, lists } = parts;
      warnOfUnused(checked, head, parts);
      const saved = new Map<string, SavedList>();
      for (const list of lists) {
        const itemRanges = items.get(pathText(list.path));
        const isSame = versionsAlong(rest, list.path) === versionsAlong(head.components, list.path);
        const savedList = head.lists.find(({ path }) => pathText(path) === pathText(list.path));
        if (itemRanges === undefined || savedList === undefined) continue;
        if (itemRanges.length !== list.items.length || !isSame || hasCopies) continue;
        saved.set(pathText(list.path), {
          items: [...list.items],
          itemRanges: itemRanges.map(({ from, to }) => ({ from, to, count: 1 })),
          ranges: savedList.ranges,
        });
      }
      const syncState = newSyncState(undefined);
      advance(syncState, { head, lists: saved });
      this.#syncStates.wasLoaded(known, checked, syncState);
      this.#syncStates.wasSaved(
        Object.fromEntries(entries.filter((entry) => !isSaved(entry))),
        checked,
        syncState,
      );
      return true;
    });
  }

  exists(key: SessionKey): Promise<boolean> {
    return this.#enqueue('Looking for', key, async (checked) => {
      return (await this.#store.readHead(checked, 'current')) !== undefined;
    });
  }

  /** Number of saves, to detect saves of others. 0 if the session does not exist. */
  revisionOf(key: SessionKey): Promise<number> {
    return this.#enqueue('Looking for', key, async (checked) => {
      return (await this.#store.readHead(checked, 'current'))?.revision ?? 0;
    });
  }

  /** Sessions of a user, newest first, one page at a time. */
  list(options: ListOptions = {}): Promise<SessionPage> {
    return listPage(this.#store, options);
  }

  /**
   * Deletes a session. Returns whether it existed.
   * @param components components that may be saved there again as a new session
   */
  delete(key: SessionKey, components: SessionComponents = {}): Promise<boolean> {
    return this.#enqueue('Deleting', key, async (checked) => {
      const wasThere = await this.#store.delete(checked);
      this.#syncStates.forget(Object.values(components), checked);
      return wasThere;
    });
  }

  /**
   * Copies the saved state of one session to a new session.
   * @param options revision: the newest, which is the default, or the one before it
   * @throws SessionNotFoundError, also for a revision that is not stored any more; SessionConflictError if the new session already exists
   */
  copy(from: SessionKey, to: SessionKey, options: { readonly revision?: number } = {}): Promise<SessionInfo> {
    const { revision } = options;
    return this.#enqueue('Copying to', to, async (target) => {
      const source = await toSessionKey(from);
      const readLists = async (head: Head): Promise<{ head: Head; listsToSave: readonly ListToSave[] }> => {
        const listsToSave: ListToSave[] = [];
        for (const list of head.lists) listsToSave.push(await this.#reader.readForSave(source, head, list));
        return { head, listsToSave };
      };
      const found = await this.#reader.read(source, readLists, revision);
      if (found === undefined)
        throw revision === undefined
          ? new SessionNotFoundError(source)
          : new SessionNotFoundError(source, `There is no revision ${revision} any more of session`);
      const { head, listsToSave } = found;
      const { components } = head;
      const macs = await this.#macs.signCopy(source, head, target);
      return infoOf(
        target,
        await saveLists(this.#store, target, [newSyncState(undefined)], { components, macs }, listsToSave),
      );
    });
  }

  /** Deletes sessions by age or number. Returns the number of deleted sessions. */
  async prune({ olderThanMs = 0, keepNewest = 0, ...filter }: PruneOptions): Promise<number> {
    checkNumber('olderThanMs', olderThanMs, { least: 0 });
    checkNumber('keepNewest', keepNewest, { least: 0, whole: true });
    const end = now() - olderThanMs;
    const expired: StoredInfo[] = [];
    let seen = 0;
    let cursor: string | undefined;
    do {
      const page = await storedPage(this.#store, { ...filter, limit: MAX_PAGE, cursor });
      expired.push(...page.sessions.filter(({ savedAt }) => ++seen > keepNewest && savedAt <= end));
      cursor = page.next;
    } while (cursor !== undefined);
    let deleted = 0;
    for (const { key, revision } of expired) {
      const remove = (): Promise<boolean> => this.#store.delete(key, revision);
      if (await this.#inOrder(keyText(key), () => `Deleting session ${keyName(key)}`, remove)) deleted++;
    }
    return deleted;
  }

  /**
   * Makes the save before the last the newest one. Programs that loaded the last save must load again.
   * @throws SessionNotFoundError if there is no earlier save
   */
  restorePrevious(key: SessionKey): Promise<SessionInfo> {
    return this.#enqueue('Restoring', key, async (checked) => {
      const current = await this.#store.readHead(checked, 'current');
      const previous = await this.#store.readHead(checked, 'previous');
      if (current === undefined || previous === undefined) {
        throw new SessionNotFoundError(checked, 'There is no earlier save of session');
      }
      const base = { revision: current.revision, log: logOf(current) };
      let head: Head;
      try {
        head = readHead(previous.text, previous.location);
        for (const list of head.lists) await this.#reader.readForSave(checked, head, list);
      } catch (error) {
        if (!(error instanceof SessionCorruptError)) throw error;
        const again = await this.#store.readHead(checked, 'current');
        throw again?.text === current.text ? error.withoutPrevious() : new SessionConflictError(checked);
      }
      const restored = { ...head, revision: current.revision + 1, savedAt: now(), id: newId() };
      await this.#store.commit(checked, { ...restored, base, parts: [], head: () => writeHead(restored) });
      return infoOf(checked, restored);
    });
  }

  /**
   * Sessions with ids that start with the prefix, addressed by the rest of the id. Other sessions are not
   * accessible, and closing has no effect.
   * @param prefix ends with `@`
   * @param until signal that ends all access
   * @throws TroupeError for an invalid prefix
   */
  scoped(prefix: string, until?: AbortSignal): Session {
    return new Session(new ScopedStore(this.#store, prefix, until), this.#options);
  }

  /** Waits for pending operations, then closes the store. */
  async close(): Promise<void> {
    await this.#queue.whenIdle();
    await this.#store.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Runs operations on one session in sequence. Wraps errors of a store in a SessionError. */
  async #enqueue<T>(what: string, key: SessionKey, work: (key: NamedKey) => Promise<T>): Promise<T> {
    const ids = toKeyIds(key);
    let checked: NamedKey | undefined;
    const run = async (): Promise<T> => work((checked = await toSessionKey(ids)));
    return this.#inOrder(idsText(ids), () => `${what} session ${checked ? keyName(checked) : ''}`, run);
  }

  async #inOrder<T>(queue: string, what: () => string, work: () => Promise<T>): Promise<T> {
    try {
      return await this.#queue.run(queue, work);
    } catch (error) {
      throw SessionError.from(error, what());
    }
  }
}

function infoOf({ ids }: NamedKey, { revision, savedAt }: Head): SessionInfo {
  return { ...ids, revision, savedAt };
}
