import { TroupeError } from '../../errors.ts';
import { describe } from '../../util/json.ts';
import { cutText } from '../../util/text.ts';

declare const brand: unique symbol;

/** An id that was checked: it can be part of a path, a key or a query. Only `toSessionId` makes one. */
export type SessionId = string & { readonly [brand]: 'SessionId' };

/** Which session: its id, or a user's session of that id. Sessions of different users never meet. */
export type SessionKey = string | { readonly session: string; readonly user?: string | undefined };

/** A key that was checked. */
export interface CheckedKey {
  /** The empty string if the session belongs to no user, which no user's id can be. */
  readonly user: SessionId | '';
  readonly session: SessionId;
}

const MAX_LENGTH = 128;
const MAX_SHOWN = 64;
const PATTERN = /^[A-Za-z0-9](?:[A-Za-z0-9@._-]*[A-Za-z0-9@_-])?$/;
/** Names that are devices on Windows, with any ending. */
const DEVICES = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?$/i;

/**
 * Checks the id of a session or a user.
 * @throws TroupeError if it is not one that is safe everywhere.
 */
export function toSessionId(id: unknown, what = 'A session id'): SessionId {
  if (
    typeof id === 'string' &&
    id.length <= MAX_LENGTH &&
    PATTERN.test(id) &&
    !id.includes('..') &&
    !DEVICES.test(id)
  ) {
    return id as SessionId;
  }
  throw new TroupeError(
    'invalid_id',
    `${what} has 1 to ${MAX_LENGTH} letters, digits or @ . _ -, begins with a letter or digit, does not end with a dot, ` +
      `and holds no '..' and no name of a device; not ${shown(id)}.`,
  );
}

/** @throws TroupeError if it is no key, or an id in it is not safe. */
export function toSessionKey(key: SessionKey): CheckedKey {
  if (typeof key !== 'object' || key === null) return { user: '', session: toSessionId(key) };
  const user = key.user === undefined ? '' : toSessionId(key.user, 'A user id');
  return { user, session: toSessionId(key.session) };
}

/** The key as one text. No two keys have the same, because no id holds a slash. */
export function keyText({ user, session }: CheckedKey): string {
  return `${user}/${session}`;
}

/** The key as it is shown to people. */
export function keyName({ user, session }: CheckedKey): string {
  return user === '' ? `'${session}'` : `'${session}' of user '${user}'`;
}

function shown(id: unknown): string {
  if (typeof id !== 'string') return describe(id);
  return JSON.stringify(cutText(id, MAX_SHOWN));
}
