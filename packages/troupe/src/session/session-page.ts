import { checkNumber } from '../util/check-number.ts';
import { TroupeError } from '../errors.ts';
import { SessionError } from './format/session-error.ts';
import { toSessionId } from './format/session-key.ts';
import type { ListCursor, SessionInfo, SessionStore } from './format/session-store.ts';

/** Whose sessions: those of a user, of all users, or (by default) those that belong to no user. */
export interface Whose {
  readonly user?: string | undefined;
  readonly allUsers?: boolean | undefined;
}

export interface ListOptions extends Whose {
  /** How many at most, up to 1000. @default 100 */
  readonly limit?: number | undefined;
  /** Where the page begins: `next` of the page before. */
  readonly cursor?: string | undefined;
}

export interface SessionPage {
  /** Newest first. */
  readonly sessions: readonly SessionInfo[];
  /** The cursor of the next page, if there is one. */
  readonly next?: string;
}

export interface PruneOptions extends Whose {
  /** Only sessions that were last saved longer ago than this are deleted. @default 0 */
  readonly olderThanMs?: number | undefined;
  /** So many of the newest are kept, however old. @default 0 */
  readonly keepNewest?: number | undefined;
}

/** The largest page. */
export const MAX_PAGE = 1000;
const DEFAULT_PAGE = 100;
const CURSOR = /^(\d{1,15})\/([^/]*)\/([^/]+)$/;

/** One page of the sessions of a store, newest first. @throws TroupeError if the options make no sense. */
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

function userOf({ user, allUsers = false }: Whose): string | undefined {
  if (allUsers) return undefined;
  return user === undefined ? '' : toSessionId(user, 'A user id');
}

function toCursor(cursor: string | undefined): ListCursor | undefined {
  if (cursor === undefined) return undefined;
  const [, savedAt, user, session] = CURSOR.exec(cursor) ?? [];
  if (session === undefined || user === undefined) {
    throw new TroupeError('invalid_input', 'A cursor is what `next` of the page before says.');
  }
  return { savedAt: Number(savedAt), user, session };
}
