import { TroupeError } from '../../errors.ts';
import { describe } from '../../util/json.ts';
import { cutText } from '../../util/text.ts';

declare const brand: unique symbol;

/** Checked id, safe in paths, keys and queries. Made only by `toSessionId`. */
export type SessionId = string & { readonly [brand]: 'SessionId' };

/** Key of a session: an id, or an id of a user. Different users never share sessions. */
export type SessionKey = string | { readonly session: string; readonly user?: string | undefined };

/** Checked key. */
export interface CheckedKey {
  /** User id, or the empty string for a session without a user. */
  readonly user: SessionId | '';
  readonly session: SessionId;
}

const MAX_LENGTH = 128;
const MAX_SHOWN = 64;
const PATTERN = /^[A-Za-z0-9](?:[A-Za-z0-9@._-]*[A-Za-z0-9@_-])?$/;
/** Device names of Windows, with any extension. */
const DEVICES = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?$/i;

/**
 * Checks the id of a session or user.
 * @throws TroupeError for an unsafe id
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
      `and contains no '..' and no device name; not ${shown(id)}.`,
  );
}

/** @throws TroupeError for an invalid key or unsafe id */
export function toSessionKey(key: SessionKey): CheckedKey {
  if (typeof key !== 'object' || key === null) return { user: '', session: toSessionId(key) };
  const user = key.user === undefined ? '' : toSessionId(key.user, 'A user id');
  return { user, session: toSessionId(key.session) };
}

/** Key as unique text; ids contain no slash. */
export function keyText({ user, session }: CheckedKey): string {
  return `${user}/${session}`;
}

/** Key for messages. */
export function keyName({ user, session }: CheckedKey): string {
  return user === '' ? `'${session}'` : `'${session}' of user '${user}'`;
}

function shown(id: unknown): string {
  if (typeof id !== 'string') return describe(id);
  return JSON.stringify(cutText(id, MAX_SHOWN));
}
