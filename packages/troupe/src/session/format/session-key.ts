import { TroupeError } from '../../errors.ts';
import { sha256 } from '../../util/hash.ts';
import { describe } from '../../util/json.ts';
import { cutText, oneLine } from '../../util/text.ts';

declare const brand: unique symbol;

/** Checked id of a session or user, as the program uses it. Made only by `toSessionId`. */
export type SessionId = string & { readonly [brand]: 'SessionId' };

/**
 * Id of a session or user as stores keep it: ASCII letters, digits and `@ . _ - =`, safe in paths, keys and
 * queries. Made only by `toStoredId`.
 */
export type StoredId = string & { readonly [brand]: 'StoredId' };

/** Key of a session: an id, or an id of a user. Different users never share sessions. */
export type SessionKey = string | { readonly session: string; readonly user?: string | undefined };

/** Checked key, as stores get it. */
export interface CheckedKey {
  /** User id, or the empty string for a session without a user. */
  readonly user: StoredId | '';
  readonly session: StoredId;
}

/** Ids of a key, as the program uses them. */
export interface KeyIds {
  readonly user?: SessionId;
  readonly session: SessionId;
}

/** Checked key with its original ids. */
export interface NamedKey extends CheckedKey {
  readonly ids: KeyIds;
}

const MAX_LENGTH = 1024;
const MAX_SHOWN = 64;
/** Maximum length of an id in a store. A longer one is stored as its beginning and a hash. */
const MAX_STORED = 128;
/** Maximum length of a stored id with the prefixes of scopes: with its capital letters it is a file name. */
const MAX_SCOPED = 200;
/** Characters kept of an id that is stored as a hash. */
const KEPT_BEGINNING = 40;
/** Begins the hash. Never part of an escaped id. */
const HASH_MARK = '==';

const SAFE = /^[A-Za-z0-9=](?:[A-Za-z0-9@._=-]*[A-Za-z0-9@_=-])?$/;
const UNSAFE = /[^A-Za-z0-9@._-]/gu;
const UNSAFE_START = /^[@._-]/;
/** Dots that a path or file system could misunderstand: the second of two, and one at the end. */
const UNSAFE_DOTS = /\.(?:\.|$)/g;
/** Device names of Windows, with any extension. */
const DEVICES = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?$/i;
const ESCAPE = /=([0-9a-f]{2})/g;

/**
 * Checks the id of a session or user: any text without half surrogate pairs.
 * @throws TroupeError for an id that is no text, empty, or too long
 */
export function toSessionId(id: unknown, what = 'A session id'): SessionId {
  if (typeof id === 'string' && id !== '' && id.length <= MAX_LENGTH && id.isWellFormed())
    return id as SessionId;
  throw new TroupeError(
    'invalid_id',
    `${what} is a text of 1 to ${MAX_LENGTH} characters, without half surrogate pairs; not ${shown(id)}.`,
  );
}

/** @throws TroupeError for an invalid id */
export function toKeyIds(key: SessionKey): KeyIds {
  if (typeof key !== 'object' || key === null) return { session: toSessionId(key) };
  const session = toSessionId(key.session);
  return key.user === undefined ? { session } : { session, user: toSessionId(key.user, 'A user id') };
}

/** @throws TroupeError for an invalid id */
export async function toSessionKey(key: SessionKey): Promise<NamedKey> {
  const ids = toKeyIds(key);
  const user = ids.user === undefined ? '' : await toStoredId(ids.user);
  return { user, session: await toStoredId(ids.session), ids };
}

/**
 * Id for stores. Letters, digits and `@ . _ -` stay, so that ids of earlier versions keep their places; all else is
 * escaped byte by byte, and long ids end with a hash. Different ids stay different, whatever a file system ignores.
 */
export async function toStoredId(id: string): Promise<StoredId> {
  const text = escaped(id);
  if (text.length <= MAX_STORED) return text as StoredId;
  const beginning = text.slice(0, KEPT_BEGINNING).replace(/=.?$/, '');
  return `${beginning}${HASH_MARK}${await sha256(id)}` as StoredId;
}

/** Tells whether a text is a safe id, with the prefixes of scopes. */
export function isStoredId(text: string): text is StoredId {
  return text.length <= MAX_SCOPED && SAFE.test(text) && !text.includes('..') && !DEVICES.test(text);
}

/** The id behind a stored id; undefined for a hash, and for a text that `toStoredId` does not make. */
export function idOfStored(stored: string): SessionId | undefined {
  const id = unescaped(stored);
  return id.isWellFormed() && escaped(id) === stored && stored.length <= MAX_STORED
    ? (id as SessionId)
    : undefined;
}

/** Tells whether a stored key does not tell its ids. */
export function isHashed({ user, session }: CheckedKey): boolean {
  return user.includes(HASH_MARK) || session.includes(HASH_MARK);
}

/** Key as unique text; stored ids contain no slash. */
export function keyText({ user, session }: CheckedKey): string {
  return `${user}/${session}`;
}

/** Ids as unique text, the same as `keyText` unless the stored key is a hash. */
export function idsText({ user, session }: KeyIds): string {
  return `${user === undefined ? '' : escaped(user)}/${escaped(session)}`;
}

/** Key for messages. */
export function keyName({ user, session }: CheckedKey): string {
  return user === '' ? `'${readable(session)}'` : `'${readable(session)}' of user '${readable(user)}'`;
}

/** Stored id for messages. */
function readable(stored: string): string {
  const [beginning = '', hash] = stored.split(HASH_MARK);
  const text = oneLine(unescaped(beginning));
  return hash === undefined ? cutText(text, MAX_LENGTH) : `${text.replace(/\ufffd$/, '')}…`;
}

function escaped(id: string): string {
  const text = id
    .replace(UNSAFE, (character) => Array.from(new TextEncoder().encode(character), escape).join(''))
    .replace(UNSAFE_START, escapeAscii)
    .replace(UNSAFE_DOTS, (dots) => dots.slice(1) + escapeAscii('.'));
  return DEVICES.test(text) ? escapeAscii(text) + text.slice(1) : text;
}

/** Escapes the first character. */
function escapeAscii(text: string): string {
  return escape(text.charCodeAt(0));
}

function escape(byte: number): string {
  return `=${byte.toString(16).padStart(2, '0')}`;
}

function unescaped(text: string): string {
  const bytes = new TextEncoder().encode(text.replace(ESCAPE, '\0'));
  const codes = Array.from(text.matchAll(ESCAPE), ([, hex = '']) => Number.parseInt(hex, 16)).values();
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(
    bytes.map((byte) => (byte === 0 ? (codes.next().value ?? 0) : byte)),
  );
}

function shown(id: unknown): string {
  if (typeof id !== 'string') return describe(id);
  return JSON.stringify(cutText(id, MAX_SHOWN));
}

/** A session in a list of sessions. */
interface Listed {
  readonly session: string;
  readonly user?: string | undefined;
  readonly savedAt: number;
}

/** Sort order of sessions: newest first, then by user and session. */
export function compareInfos(a: Listed, b: Listed): number {
  return (
    b.savedAt - a.savedAt || compareText(a.user ?? '', b.user ?? '') || compareText(a.session, b.session)
  );
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
