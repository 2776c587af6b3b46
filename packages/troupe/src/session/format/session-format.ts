/** How a session is written, in every store. A change here is a new format version, with a migration and golden files. */
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
import { SessionCorruptError, SessionVersionError } from './session-error.ts';
import type { LogRange } from './session-store.ts';

/** A list of the state: the names that lead to it, and the parts of its lane of the log that make it up. */
export interface HeadList {
  readonly path: readonly string[];
  readonly lane: number;
  readonly ranges: readonly LogRange[];
}

/** What a session was at one revision. */
export interface Head {
  readonly revision: number;
  readonly savedAt: number;
  /** What tells this save from all others. The first sessions have none. */
  readonly id?: string;
  readonly log: string;
  /** How long all lanes of the log were together with this save, as far as is known. */
  readonly logEnd: number;
  /** The state of each component, by its name, without its lists. */
  readonly components: JsonObject;
  readonly lists: readonly HeadList[];
}

export const FORMAT_VERSION = 1;

/** So many lists may be in one session. */
export const MAX_LANE = 4095;

/** How deep a state with all its lists may nest. Less than what can be loaded. */
const MAX_STATE_DEPTH = MAX_JSON_DEPTH - 8;

const HEAD = /^\{"format":"troupe-session","version":(\d{1,9}),"checksum":"([0-9a-f]{16})","head":(.*)\}\n$/s;
const ITEM = /^\["([0-9a-f]{16})",(.*)\]$/s;
const LOG_NAME = /^\d{1,15}-[A-Za-z0-9_-]{1,64}$/;

export function writeHead(head: Head): string {
  const body = JSON.stringify({
    ...head,
    lists: head.lists.map(({ path, lane, ranges }) => [
      path,
      ranges.map(({ from, to, count }) => [from, to, count]),
      ...(lane === 0 ? [] : [lane]),
    ]),
  });
  return `{"format":"troupe-session","version":${FORMAT_VERSION},"checksum":"${checksumOf(FORMAT_VERSION, body)}","head":${body}}\n`;
}

/** @throws SessionCorruptError or SessionVersionError */
export function readHead(text: string, place: string): Head {
  const [, version, checksum, body = ''] = HEAD.exec(text) ?? [];
  if (version === undefined)
    throw new SessionCorruptError(place, 'is no head of a session, or not all of it');
  if (checksum !== checksumOf(Number(version), body)) {
    throw new SessionCorruptError(place, 'was changed after it was written: its checksum is wrong');
  }
  if (Number(version) > FORMAT_VERSION) throw new SessionVersionError(place, Number(version), FORMAT_VERSION);
  const json = parse(body, place);
  const head = isJsonObject(json) ? toHead(json) : undefined;
  if (head === undefined)
    throw new SessionCorruptError(place, 'holds something that is no head of a session');
  return head;
}

/** An item as one line of text. @throws NotJsonError if it is no JSON, or nested too deep to be loaded again. */
export function writeItem(value: JsonValue, path: readonly (string | number)[]): string {
  const body = JSON.stringify(copyJson(value, path.join('.'), { maxDepth: MAX_STATE_DEPTH - path.length }));
  return `["${fingerprint(body)}",${body}]`;
}

/** Checks that an item is as it was written. @throws SessionCorruptError */
export function checkItem(text: string, place: () => string): string {
  const [, checksum, body = ''] = ITEM.exec(text) ?? [];
  if (checksum === undefined || checksum !== fingerprint(body)) {
    throw new SessionCorruptError(place(), 'was changed after it was written, or not all of it is there');
  }
  return body;
}

/** @throws SessionCorruptError */
export function readItem(text: string, place: () => string): JsonValue {
  return parse(checkItem(text, place), place());
}

function checksumOf(version: number, body: string): string {
  return fingerprint(`${version} ${body}`);
}

function parse(body: string, place: string): JsonValue {
  try {
    return parseJson(body);
  } catch (cause) {
    const problem = cause instanceof NotJsonError ? cause.problem : 'can not be read';
    throw new SessionCorruptError(place, problem, { cause });
  }
}

function toHead(json: JsonObject): Head | undefined {
  const { revision, savedAt, id, log, logEnd, components } = json;
  const lists = Array.isArray(json['lists'])
    ? (json['lists'] as readonly JsonValue[]).map(toList)
    : undefined;
  if (!isCount(revision) || revision === 0 || !isCount(savedAt) || !isCount(logEnd)) return undefined;
  if (typeof log !== 'string' || !LOG_NAME.test(log)) return undefined;
  if (!isJsonObject(components) || lists === undefined) return undefined;
  if (id !== undefined && typeof id !== 'string') return undefined;
  return lists.every((list) => list !== undefined)
    ? { revision, savedAt, ...(id !== undefined && { id }), log, logEnd, components, lists }
    : undefined;
}

function toList(json: JsonValue): HeadList | undefined {
  const [path, ranges, lane = 0] = Array.isArray(json) ? (json as readonly JsonValue[]) : [];
  if (!isCount(lane) || lane > MAX_LANE) return undefined;
  if (!Array.isArray(path) || !Array.isArray(ranges) || path.length === 0) return undefined;
  const read = (ranges as readonly JsonValue[]).map(toRange);
  return path.every((name) => typeof name === 'string') && read.every((range) => range !== undefined)
    ? { path, lane, ranges: read }
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
