import { checkNumber } from '../util/check-number.ts';
import { TroupeError } from '../errors.ts';
import { SessionError } from './format/session-error.ts';
import { toSessionId } from './format/session-key.ts';
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

/**
 * One page of the sessions of a store, newest first.
 * @throws TroupeError for invalid options
 */
export async function listPage(store: SessionStore, options: ListOptions): Promise<SessionPage> {
  const { limit = DEFAULT_PAGE, cursor } = options;
  checkNumber('limit', limit, { least: 1, most: MAX_PAGE, whole: true });
  const query = { user: userOf(options), limit: limit + 1, after: toCursor(cursor) };
  try {
    const found = await store.list(query);
    const sessions = found.slice(0, limit);
    const last = sessions.at(-1);
    if (last === undefined || found.length <= limit) return { sessions };
    return { sessions, next: `${last.savedAt}/${last.user ?? ''}/${last.session}` };
  } catch (error) {
    throw SessionError.from(error, 'Listing sessions');
  }
}

function userOf({ user, allUsers = false }: UserFilter): string | undefined {
  if (allUsers) return undefined;
  return user === undefined ? '' : toSessionId(user, 'A user id');
}

function toCursor(cursor: string | undefined): ListCursor | undefined {
  if (cursor === undefined) return undefined;
  const [, savedAt, user, session] = CURSOR.exec(cursor) ?? [];
  if (session === undefined || user === undefined) {
    throw new TroupeError('invalid_input', 'A cursor must be `next` of the previous page.');
  }
  return { savedAt: Number(savedAt), user, session };
}
