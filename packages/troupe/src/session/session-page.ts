import { checkNumber } from '../util/check-number.ts';
import { TroupeError } from '../errors.ts';
import { SessionError } from './format/session-error.ts';
import { readHead } from './format/session-format.ts';
import {
  idOfStored,
  isHashed,
  keyText,
  toSessionId,
  toSessionKey,
  toStoredId,
  type CheckedKey,
  type KeyIds,
} from './format/session-key.ts';
import type { ListCursor, SessionInfo, SessionStore } from './format/session-store.ts';

/** Selection of sessions: of a user, of all users, or (by default) without a user. */
export interface UserFilter {
  readonly user?: string | undefined;
  readonly allUsers?: boolean | undefined;
}

export interface ListOptions extends UserFilter {
  /** Maximum number of sessions, up to 1000. @default 100 */
  readonly limit?: number | undefined;
  /** Start of the page: `next` of the previous page. */
  readonly cursor?: string | undefined;
}

export interface SessionPage {
  /** Newest first. */
  readonly sessions: readonly SessionInfo[];
  /** Cursor of the next page, if there is one. */
  readonly next?: string;
}

export interface PruneOptions extends UserFilter {
  /** Minimum age of deleted sessions, since their last save. @default 0 */
  readonly olderThanMs?: number | undefined;
  /** Number of newest sessions to keep at any age. @default 0 */
  readonly keepNewest?: number | undefined;
}

/** Maximum page size. */
export const MAX_PAGE = 1000;
const DEFAULT_PAGE = 100;
const CURSOR = /^(\d{1,15})\/([^/]*)\/([^/]+)$/;

/** Session in a store, under the key that the store keeps. */
export interface StoredInfo extends Pick<SessionInfo, 'revision' | 'savedAt'> {
  readonly key: CheckedKey;
}

/**
 * One page of the sessions of a store, newest first.
 * @throws TroupeError for invalid options
 */
export async function listPage(store: SessionStore, options: ListOptions): Promise<SessionPage> {
  const { sessions, next } = await storedPage(store, options);
  const named: SessionInfo[] = [];
  for (const { key, revision, savedAt } of sessions)
    named.push({ ...(await idsOf(store, key)), revision, savedAt });
  return { sessions: named, ...(next !== undefined && { next }) };
}

/** The same, with the keys of the store. @throws TroupeError for invalid options */
export async function storedPage(
  store: SessionStore,
  options: ListOptions,
): Promise<{ readonly sessions: readonly StoredInfo[]; readonly next?: string }> {
  const { limit = DEFAULT_PAGE, cursor } = options;
  checkNumber('limit', limit, { least: 1, most: MAX_PAGE, whole: true });
  const query = { user: await userOf(options), limit: limit + 1, after: toCursor(cursor) };
  try {
    const found = await store.list(query);
    const sessions = found.slice(0, limit).map(toStoredInfo);
    const last = sessions.at(-1);
    if (last === undefined || found.length <= limit) return { sessions };
    return { sessions, next: `${last.savedAt}/${keyText(last.key)}` };
  } catch (error) {
    throw SessionError.from(error, 'Listing sessions');
  }
}

/** @param info as the store lists it, with stored ids */
function toStoredInfo({ user = '', session, revision, savedAt }: SessionInfo): StoredInfo {
  return { key: { user, session } as CheckedKey, revision, savedAt };
}

/**
 * Ids of a stored session. A hash tells none: they are in the head. A session that only a scope can reach keeps its
 * stored id.
 */
async function idsOf(store: SessionStore, key: CheckedKey): Promise<Pick<SessionInfo, 'user' | 'session'>> {
  const saved = isHashed(key) ? await savedIds(store, key) : undefined;
  const session = saved?.session ?? idOfStored(key.session) ?? key.session;
  if (key.user === '') return { session };
  return { user: saved?.user ?? idOfStored(key.user) ?? key.user, session };
}

async function savedIds(store: SessionStore, key: CheckedKey): Promise<KeyIds | undefined> {
  try {
    const stored = await store.readHead(key, 'current');
    const ids = stored && readHead(stored.text, stored.location).key;
    return ids !== undefined && keyText(await toSessionKey(ids)) === keyText(key) ? ids : undefined;
  } catch (error) {
    if (error instanceof SessionError) return undefined; // damaged, and listed nevertheless
    throw error;
  }
}

async function userOf({ user, allUsers = false }: UserFilter): Promise<string | undefined> {
  if (allUsers) return undefined;
  return user === undefined ? '' : toStoredId(toSessionId(user, 'A user id'));
}

function toCursor(cursor: string | undefined): ListCursor | undefined {
  if (cursor === undefined) return undefined;
  const [, savedAt, user, session] = CURSOR.exec(cursor) ?? [];
  if (session === undefined || user === undefined) {
    throw new TroupeError('invalid_input', 'A cursor must be `next` of the previous page.');
  }
  return { savedAt: Number(savedAt), user, session };
}
