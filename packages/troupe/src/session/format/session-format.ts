/**
 * Text format of sessions, the same in every store. A change needs a new format version, a migration and
 * golden files.
 */
import { fingerprint } from '../../util/hash.ts';
import {
  copyJson,
  isJsonObject,
  MAX_JSON_DEPTH,
  NotJsonError,
  parseJson,
  type JsonObject,
  type JsonValue,
} from '../../util/json.ts';
import { toKeyIds, type KeyIds } from './session-key.ts';
import { SessionCorruptError, SessionError, SessionVersionError } from './session-error.ts';
import type { LogRange, StoredHead } from './session-store.ts';

/** List of a state: its path, its number in the log, and its ranges there. */
export interface HeadList {
  readonly path: readonly string[];
  readonly listNumber: number;
  readonly ranges: readonly LogRange[];
}

/** Session at one revision. */
export interface Head {
  readonly revision: number;
  readonly savedAt: number;
  /** Unique id of the save. Missing in the first sessions. */
  readonly id?: string;
  /** Ids of the session, if the store keeps a hash of them. */
  readonly key?: KeyIds;
  readonly log: string;
  /** Total length of all lists in the log, as far as known. */
  readonly logEnd: number;
  /** State of each component by name, without its lists. */
  readonly components: JsonObject;
  /** Message authentication code of each component by name, if there was a key. */
  readonly macs?: JsonObject;
  readonly lists: readonly HeadList[];
}

export const FORMAT_VERSION = 1;

/** Highest number of a list in one session. */
export const MAX_LIST_NUMBER = 4095;

/** Maximum ranges in one head. A save with half of them writes a new log. */
export const MAX_RANGES = 10_000;
const MAX_ITEMS = 5_000_000;
/** Maximum length of all ranges of a list, in lengths of the list: an item may be in a list several times. */
const MAX_REPEATS = 4;

/** Maximum nesting of a state with its lists, below the limit for loading. */
const MAX_STATE_DEPTH = MAX_JSON_DEPTH - 8;

const HEAD = /^\{"format":"troupe-session","version":(\d{1,9}),"checksum":"([0-9a-f]{16})","head":(.*)\}\n$/s;
const ITEM = /^\["([0-9a-f]{16})",(.*)\]$/s;
const LOG_NAME = /^\d{1,15}-[A-Za-z0-9_-]{1,64}$/;

export function writeHead(head: Head): string {
  const body = JSON.stringify({
    ...head,
    lists: head.lists.map(({ path, listNumber, ranges }) => [
      path,
      ranges.map(({ from, to, count }) => [from, to, count]),
      ...(listNumber === 0 ? [] : [listNumber]),
    ]),
  });
  return `{"format":"troupe-session","version":${FORMAT_VERSION},"checksum":"${checksumOf(FORMAT_VERSION, body)}","head":${body}}\n`;
}

/** @throws SessionCorruptError or SessionVersionError */
export function readHead(text: string, location: string): Head {
  const [, version, checksum, body = ''] = HEAD.exec(text) ?? [];
  if (version === undefined)
    throw new SessionCorruptError(location, 'is not the head of a session, or is truncated');
  if (checksum !== checksumOf(Number(version), body)) {
    throw new SessionCorruptError(location, 'was changed after it was written: its checksum does not match');
  }
  if (Number(version) > FORMAT_VERSION)
    throw new SessionVersionError(location, Number(version), FORMAT_VERSION);
  const json = parse(body, location);
  const head = isJsonObject(json) ? toHead(json) : undefined;
  if (head === undefined) throw new SessionCorruptError(location, 'is not a valid head of a session');
  return head;
}

/**
 * Writes an item as one line.
 * @throws NotJsonError if it is not JSON, or nested too deep to be loaded again
 */
export function writeItem(value: JsonValue, path: readonly (string | number)[]): string {
  const body = JSON.stringify(copyJson(value, path.join('.'), { maxDepth: MAX_STATE_DEPTH - path.length }));
  return `["${fingerprint(body)}",${body}]`;
}

/**
 * Checks an item against its checksum.
 * @throws SessionCorruptError
 */
export function checkItem(text: string, location: () => string): string {
  const [, checksum, body = ''] = ITEM.exec(text) ?? [];
  if (checksum === undefined || checksum !== fingerprint(body)) {
    throw new SessionCorruptError(location(), 'was changed after it was written, or is truncated');
  }
  return body;
}

/** @throws SessionCorruptError */
export function readItem(text: string, location: () => string): JsonValue {
  return parse(checkItem(text, location), location());
}

function checksumOf(version: number, body: string): string {
  return fingerprint(`${version} ${body}`);
}

function parse(body: string, location: string): JsonValue {
  try {
    return parseJson(body);
  } catch (cause) {
    const problem = cause instanceof NotJsonError ? cause.problem : 'can not be read';
    throw new SessionCorruptError(location, problem, { cause });
  }
}

function toHead(json: JsonObject): Head | undefined {
  const { revision, savedAt, id, log, logEnd, components, macs } = json;
  const key = toIds(json['key']);
  const lists = Array.isArray(json['lists'])
    ? (json['lists'] as readonly JsonValue[]).map(toList)
    : undefined;
  if (!isCount(revision) || revision === 0 || !isCount(savedAt) || !isCount(logEnd)) return undefined;
  if (typeof log !== 'string' || !LOG_NAME.test(log)) return undefined;
  if (!isJsonObject(components) || lists === undefined) return undefined;
  if (!hasBoundedWork(lists.flatMap((list) => list ?? []))) return undefined;
  if (id !== undefined && typeof id !== 'string') return undefined;
  return lists.every((list) => list !== undefined)
    ? {
        revision,
        savedAt,
        ...(id !== undefined && { id }),
        ...(key && { key }),
        log,
        logEnd,
        components,
        ...(isJsonObject(macs) && { macs }),
        lists,
      }
    : undefined;
}

/** True if reading the lists takes no longer than the log, a few times over. */
function hasBoundedWork(lists: readonly HeadList[]): boolean {
  let [ranges, items] = [0, 0];
  for (const list of lists) {
    let [length, end] = [0, 0];
    for (const { from, to, count } of list.ranges) {
      length += to - from;
      end = Math.max(end, to);
      items += count;
    }
    ranges += list.ranges.length;
    if (length > MAX_REPEATS * end) return false;
  }
  return ranges <= MAX_RANGES && items <= MAX_ITEMS;
}

function toIds(json: JsonValue | undefined): KeyIds | undefined {
  const { user, session } = isJsonObject(json) ? json : {};
  if (typeof session !== 'string' || (user !== undefined && typeof user !== 'string')) return undefined;
  try {
    return toKeyIds({ session, user });
  } catch {
    return undefined; // only names the session in lists
  }
}

function toList(json: JsonValue): HeadList | undefined {
  const [path, ranges, listNumber = 0] = Array.isArray(json) ? (json as readonly JsonValue[]) : [];
  if (!isCount(listNumber) || listNumber > MAX_LIST_NUMBER) return undefined;
  if (!Array.isArray(path) || !Array.isArray(ranges) || path.length === 0) return undefined;
  const read = (ranges as readonly JsonValue[]).map(toRange);
  return path.every((name) => typeof name === 'string') && read.every((range) => range !== undefined)
    ? { path, listNumber, ranges: read }
    : undefined;
}

function toRange(json: JsonValue): LogRange | undefined {
  const [from, to, count] = Array.isArray(json) ? (json as readonly JsonValue[]) : [];
  if (!isCount(from) || !isCount(to) || !isCount(count)) return undefined;
  return from < to && count > 0 && count <= to - from ? { from, to, count } : undefined;
}

function isCount(value: JsonValue | undefined): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

/** Log of a stored head; undefined if the head is unreadable. */
export function logOf({ text, location }: StoredHead): string | undefined {
  try {
    return readHead(text, location).log;
  } catch (error) {
    if (error instanceof SessionError) return undefined;
    throw error;
  }
}
