import type { CheckedKey } from './session-key.ts';

/** Range of a list in the log, in the store's own unit (bytes or items), with its number of items. */
export interface LogRange {
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

/** Stored item with its range. */
export interface StoredItem {
  readonly text: string;
  readonly from: number;
  readonly to: number;
}

export interface StoredHead {
  readonly revision: number;
  readonly text: string;
  /** Description of the location for messages. */
  readonly location: string;
}

/** Items to append to one list of a log. */
export interface LogPart {
  readonly listNumber: number;
  readonly items: readonly string[];
}

/** One atomic save. */
export interface Commit {
  /** Required newest revision, with its log if known; undefined for a new session. */
  readonly base: { readonly revision: number; readonly log: string | undefined } | undefined;
  readonly revision: number;
  /** Milliseconds since 1970. */
  readonly savedAt: number;
  /**
   * Log to append to. The name of a new log starts with the revision and a dash, and its list 0 has a part.
   */
  readonly log: string;
  /** New items, at most one part for each list. */
  readonly parts: readonly LogPart[];
  /**
   * Creates the text of the head. Receives for each part the start positions of its items, plus the end of
   * the list.
   */
  readonly head: (positions: readonly (readonly number[])[]) => string;
}

export interface SessionInfo {
  readonly session: string;
  readonly user?: string;
  /** Number of saves. */
  readonly revision: number;
  /** Milliseconds since 1970. */
  readonly savedAt: number;
}

/** Start of a page of sessions. */
export interface ListCursor {
  readonly savedAt: number;
  readonly user: string;
  readonly session: string;
}

export interface ListQuery {
  /** User id, the empty string for sessions without a user, or undefined for all. */
  readonly user: string | undefined;
  readonly limit: number;
  /** Only sessions after this position. */
  readonly after: ListCursor | undefined;
}

/**
 * Storage of sessions: for each session a log of items that only grows, and small heads that select the
 * ranges of the log that form the state. Keeps the newest two heads and the logs they refer to. A log has
 * numbered lists, from 0, so that a growing list always stays one range.
 *
 * Only `commit` must be atomic: after it returns, the head and its items survive a crash; after it throws,
 * readers see the old state, or (if the response was lost) the complete new state. Of two commits with the
 * same base, one fails with a SessionConflictError. Folder `session/format`: start here.
 */
export interface SessionStore {
  /** Unused part of a log, in the store's unit, that is tolerated before a new log is written. */
  readonly minGarbage: number;
  /** Part of a store that this one is limited to; the empty string by default. */
  readonly scope?: string;

  /** True if only this program can change what is saved: grants need no codes. @default false */
  readonly isPrivate?: boolean;

  /**
   * Key for the codes that protect approvals in saved states, in stores with a private place outside of the states. With `read`,
   * undefined if there is none yet; with `make`, a new one is made.
   */
  approvalKey?(purpose: 'read' | 'make'): Promise<Uint8Array<ArrayBuffer> | undefined>;

  /** Last revision of a deleted session, in stores that continue counting. 0 by default. */
  lastRevision?(key: CheckedKey): Promise<number>;

  /** Newest head, or the head before it. */
  readHead(key: CheckedKey, which: 'current' | 'previous'): Promise<StoredHead | undefined>;

  /**
   * Items of these ranges in order.
   * @throws SessionCorruptError if any are missing
   */
  readItems(
    key: CheckedKey,
    log: string,
    listNumber: number,
    ranges: readonly LogRange[],
  ): Promise<readonly StoredItem[]>;

  /** @throws SessionConflictError if the newest revision is not the base */
  commit(key: CheckedKey, commit: Commit): Promise<void>;

  /** Newest first, with a stable order for equal times. */
  list(query: ListQuery): Promise<readonly SessionInfo[]>;

  /** Deletes a session if it exists, optionally only at this revision. Returns whether it was deleted. */
  delete(key: CheckedKey, revision?: number): Promise<boolean>;

  /** Description of an item's location for messages. */
  locationOf(key: CheckedKey, log: string, listNumber: number, item: StoredItem): string;

  close(): Promise<void>;
}
