import type { CheckedKey } from './session-key.ts';

/** A part of a lane, in the store's own unit (bytes, items): where it begins, where it ends, how many items it holds. */
export interface LogRange {
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

/** An item of a lane, and where it is. */
export interface StoredItem {
  readonly text: string;
  readonly from: number;
  readonly to: number;
}

export interface StoredHead {
  readonly revision: number;
  readonly text: string;
  /** Where it is, for people. */
  readonly place: string;
}

/** Items that are appended to a lane of a log, at its end. */
export interface LanePart {
  readonly lane: number;
  readonly items: readonly string[];
}

/** One save, all or nothing. */
export interface Commit {
  /** What has to be the newest revision, with its log if that is known; undefined if the session has to be new. */
  readonly base: { readonly revision: number; readonly log: string | undefined } | undefined;
  readonly revision: number;
  /** Milliseconds since 1970. */
  readonly savedAt: number;
  /** The log that the items are appended to. A new one has a name that begins with the revision and a dash, and a part for its lane 0. */
  readonly log: string;
  /** What is new, at most one part for each lane. */
  readonly parts: readonly LanePart[];
  /** Makes the head's text, given for each part where its items begin and, as the last number, where the lane ends then. */
  readonly head: (positions: readonly (readonly number[])[]) => string;
}

export interface SessionInfo {
  readonly session: string;
  readonly user?: string;
  /** Counts the saves. */
  readonly revision: number;
  /** Milliseconds since 1970. */
  readonly savedAt: number;
}

/** Where a page of a list begins. */
export interface ListCursor {
  readonly savedAt: number;
  readonly user: string;
  readonly session: string;
}

export interface ListQuery {
  /** The sessions of this user, the empty string for those of no user, or undefined for all. */
  readonly user: string | undefined;
  readonly limit: number;
  /** Only what comes after this. */
  readonly after: ListCursor | undefined;
}

/**
 * Where sessions are kept: for each a log of items that only grows, and small heads that say which parts of the log
 * make up the state. The newest two heads are kept, and every log that one of them names. A log has a lane for each
 * list, numbered from 0 on, so that a list that only grows is always one part of its lane.
 *
 * `commit` is the only thing that has to be atomic: when it returns, the head and its items survive a crash; when it
 * throws, readers see what was there before, or (if the answer was lost) all of it. Of two commits with the same base one
 * fails with a SessionConflictError.
 */
export interface SessionStore {
  /** So much of a log, in the store's unit, may be left over from older saves before it is written anew. */
  readonly minGarbage: number;

  /** The revision after which a new session begins, in a store that goes on counting when a session was deleted. 0 by default. */
  lastRevision?(key: CheckedKey): Promise<number>;

  /** The newest head, or the one before it. */
  readHead(key: CheckedKey, which: 'current' | 'previous'): Promise<StoredHead | undefined>;

  /** The items of these ranges, in their order. @throws SessionCorruptError if they are not all there. */
  readItems(
    key: CheckedKey,
    log: string,
    lane: number,
    ranges: readonly LogRange[],
  ): Promise<readonly StoredItem[]>;

  /** @throws SessionConflictError if the newest revision is not the base. */
  commit(key: CheckedKey, commit: Commit): Promise<void>;

  /** Newest first; among those of the same time in any order, but always the same. */
  list(query: ListQuery): Promise<readonly SessionInfo[]>;

  /** Deletes a session, if it is there and still at this revision. Returns whether it did. */
  delete(key: CheckedKey, revision?: number): Promise<boolean>;

  /** Where an item is, for people. */
  placeOf(key: CheckedKey, log: string, lane: number, item: StoredItem): string;

  close(): Promise<void>;
}
