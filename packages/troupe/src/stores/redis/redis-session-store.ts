import { checkNumber } from '../../util/check-number.ts';
import { TroupeError } from '../../errors.ts';
import { positionsFrom } from '../../session/format/positions.ts';
import { SessionConflictError, SessionCorruptError } from '../../session/format/session-error.ts';
import { keyName, keyText, type CheckedKey } from '../../session/format/session-key.ts';
import type {
  Commit,
  ListQuery,
  LogRange,
  SessionInfo,
  SessionStore,
  StoredHead,
  StoredItem,
} from '../../session/format/session-store.ts';
import type { RedisClient } from './redis-client.ts';

/**
 * Keys of the lists of a log. ARGV[1] is their prefix. The hash fields keep their stored names, `lanes` and
 * `previousLanes`: the highest list numbers.
 */
const LIST_KEYS = `
local function listKey(log, list)
  if list == 0 then return ARGV[1] .. log end
  return ARGV[1] .. log .. ':' .. list
end
local function eachList(log, lists, command, ...)
  if not log then return end
  for list = 0, tonumber(lists or 0) do redis.call(command, listKey(log, list), ...) end
end`;

/** KEYS: head, index of the user, index of all. ARGV: see `commit`. Returns 1, or 0 for a conflict. */
const COMMIT = `${LIST_KEYS}
local old = redis.call('HMGET', KEYS[1], 'revision', 'log', 'head', 'lanes', 'previousLog', 'previousLanes')
if (old[1] or '') ~= ARGV[2] then return 0 end
if ARGV[3] ~= '' and old[2] ~= ARGV[3] then return 0 end
local log = ARGV[6]
local lists = tonumber(old[2] == log and old[4] or old[5] == log and old[6] or 0)
local at = 10
while at <= #ARGV do
  local key = listKey(log, tonumber(ARGV[at]))
  if redis.call('LLEN', key) ~= tonumber(ARGV[at + 1]) then return 0 end
  lists = math.max(lists, tonumber(ARGV[at]))
  at = at + 3 + tonumber(ARGV[at + 2])
end
at = 10
while at <= #ARGV do
  local key = listKey(log, tonumber(ARGV[at]))
  local last = at + 2 + tonumber(ARGV[at + 2])
  for i = at + 3, last do redis.call('RPUSH', key, ARGV[i]) end
  at = last + 1
end
if old[1] then
  redis.call('HSET', KEYS[1], 'previousRevision', old[1], 'previousLog', old[2], 'previousHead', old[3],
    'previousLanes', old[4] or 0)
end
redis.call('HSET', KEYS[1], 'revision', ARGV[4], 'savedAt', ARGV[5], 'log', log, 'head', ARGV[7], 'lanes', lists)
if old[5] and old[5] ~= log and old[5] ~= old[2] then eachList(old[5], old[6], 'DEL') end
redis.call('ZADD', KEYS[2], '-' .. ARGV[5], ARGV[8])
redis.call('ZADD', KEYS[3], '-' .. ARGV[5], ARGV[8])
if ARGV[9] ~= '0' then
  redis.call('PEXPIRE', KEYS[1], ARGV[9])
  eachList(log, lists, 'PEXPIRE', ARGV[9])
  eachList(old[2], old[4], 'PEXPIRE', ARGV[9])
end
return 1`;

/** KEYS: head. ARGV: prefix of the logs, time to live. Extends the life of a whole session. */
const PROLONG = `${LIST_KEYS}
local old = redis.call('HMGET', KEYS[1], 'log', 'lanes', 'previousLog', 'previousLanes')
redis.call('PEXPIRE', KEYS[1], ARGV[2])
eachList(old[1], old[2], 'PEXPIRE', ARGV[2])
eachList(old[3], old[4], 'PEXPIRE', ARGV[2])`;

/** KEYS: head, index of the user, index of all. ARGV: prefix of the logs, revision or '', member. */
const DELETE = `${LIST_KEYS}
local old = redis.call('HMGET', KEYS[1], 'revision', 'log', 'lanes', 'previousLog', 'previousLanes')
if not old[1] or (ARGV[2] ~= '' and old[1] ~= ARGV[2]) then return 0 end
redis.call('DEL', KEYS[1])
eachList(old[2], old[3], 'DEL')
eachList(old[4], old[5], 'DEL')
redis.call('ZREM', KEYS[2], ARGV[3])
redis.call('ZREM', KEYS[3], ARGV[3])
return 1`;

/**
 * KEYS: index. ARGV: minimum score, offset, limit, prefix of the heads, index of all, prefix of the users'
 * indexes. Returns member, revision and time of each session, and removes expired sessions from the indexes.
 */
const LIST = `
local members = redis.call('ZRANGE', KEYS[1], ARGV[1], '+inf', 'BYSCORE', 'LIMIT', ARGV[2], ARGV[3])
local found = {}
for _, member in ipairs(members) do
  local head = redis.call('HMGET', ARGV[4] .. member, 'revision', 'savedAt')
  if head[1] then
    table.insert(found, { member, head[1], head[2] })
  else
    redis.call('ZREM', ARGV[5], member)
    redis.call('ZREM', ARGV[6] .. string.match(member, '^[^/]*'), member)
  end
end
return { #members, found }`;

/** Maximum ranges in one read. */
const MAX_AT_ONCE = 100;

export interface RedisSessionOptions {
  /** Time a session is kept after the last save or load. @default for ever */
  readonly ttlMs?: number | undefined;
  /** Prefix of all keys. @default 'troupe' */
  readonly prefix?: string | undefined;
}

/**
 * Session store in Redis. A save is one script that checks the revision. All keys share one hash tag, so that
 * a cluster keeps them on one node. Folder `stores/redis`: start here.
 */
export class RedisSessionStore implements SessionStore {
  readonly minGarbage = 256;
  readonly #client: RedisClient;
  readonly #isOwn: boolean;
  readonly #prefix: string;
  readonly #ttlMs: number;

  constructor(
    client: RedisClient,
    isOwn: boolean,
    { ttlMs = 0, prefix = 'troupe' }: RedisSessionOptions = {},
  ) {
    checkNumber('ttlMs', ttlMs, { least: 0, whole: true });
    if (!/^[\w.:-]+$/.test(prefix)) {
      throw new TroupeError('invalid_config', 'prefix must be made of letters, digits and . : _ -');
    }
    this.#client = client;
    this.#isOwn = isOwn;
    this.#ttlMs = ttlMs;
    this.#prefix = `{${prefix}}:session`;
  }

  async readHead(key: CheckedKey, which: 'current' | 'previous'): Promise<StoredHead | undefined> {
    if (this.#ttlMs > 0)
      await this.#client.run(PROLONG, [this.#headKey(key)], [this.#logKey(key, ''), this.#ttlMs]);
    const fields = which === 'current' ? ['revision', 'head'] : ['previousRevision', 'previousHead'];
    const [revision, text] = asTexts(await this.#client.send('HMGET', this.#headKey(key), ...fields));
    if (revision === undefined || text === undefined) return undefined;
    return { revision: Number(revision), text, location: `revision ${revision} of session ${keyName(key)}` };
  }

  async readItems(
    key: CheckedKey,
    log: string,
    listNumber: number,
    ranges: readonly LogRange[],
  ): Promise<readonly StoredItem[]> {
    const items: StoredItem[] = [];
    for (let first = 0; first < ranges.length; first += MAX_AT_ONCE) {
      const some = ranges.slice(first, first + MAX_AT_ONCE);
      const answers = await Promise.all(
        some.map(({ from, to }) =>
          this.#client.send('LRANGE', this.#logKey(key, log, listNumber), from, to - 1),
        ),
      );
      for (const [i, { from, to, count }] of some.entries()) {
        const texts = asTexts(answers[i]);
        if (texts.length !== count) {
          const location = this.locationOf(key, log, listNumber, { text: '', from, to });
          throw new SessionCorruptError(
            location,
            `and the next ones are ${texts.length} instead of ${count}`,
          );
        }
        texts.forEach((text, k) => items.push({ text: text ?? '', from: from + k, to: from + k + 1 }));
      }
    }
    return items;
  }

  async commit(key: CheckedKey, { base, revision, savedAt, log, parts, head }: Commit): Promise<void> {
    const starts: number[] = [];
    for (const { listNumber } of parts)
      starts.push(Number(await this.#client.send('LLEN', this.#logKey(key, log, listNumber))));
    const text = head(parts.map(({ items }, i) => positionsFrom(starts[i] ?? NaN, items)));
    const done = await this.#client.run(
      COMMIT,
      [this.#headKey(key), ...this.#indexes(key)],
      [
        this.#logKey(key, ''),
        base?.revision ?? '',
        base?.log ?? '',
        revision,
        savedAt,
        log,
        text,
        keyText(key),
        this.#ttlMs,
        ...parts.flatMap(({ listNumber, items }, i) => [
          listNumber,
          starts[i] ?? NaN,
          items.length,
          ...items,
        ]),
      ],
    );
    if (done !== 1) throw new SessionConflictError(key);
  }

  async list({ user, limit, after }: ListQuery): Promise<readonly SessionInfo[]> {
    const least = after === undefined ? '-inf' : -after.savedAt;
    const names = [this.#headName(''), this.#index(undefined), this.#index('')];
    const infos: SessionInfo[] = [];
    for (let offset = 0; ;) {
      const answer = await this.#client.run(LIST, [this.#index(user)], [least, offset, limit, ...names]);
      const [looked, rows] = answer as [number, readonly (readonly string[])[]];
      for (const [member = '', revision, savedAt] of rows) {
        if (savedAt === String(after?.savedAt) && member <= `${after?.user}/${after?.session}`) continue;
        const [owner = '', session = ''] = member.split('/');
        infos.push({
          session,
          ...(owner !== '' && { user: owner }),
          revision: Number(revision),
          savedAt: Number(savedAt),
        });
      }
      if (infos.length >= limit || looked < limit) return infos.slice(0, limit);
      offset += rows.length;
    }
  }

  async delete(key: CheckedKey, revision?: number): Promise<boolean> {
    const keys = [this.#headKey(key), ...this.#indexes(key)];
    return (
      (await this.#client.run(DELETE, keys, [this.#logKey(key, ''), revision ?? '', keyText(key)])) === 1
    );
  }

  locationOf(key: CheckedKey, log: string, listNumber: number, { from }: StoredItem): string {
    return `item ${from} of log ${log}, list ${listNumber}, of session ${keyName(key)}`;
  }

  async close(): Promise<void> {
    if (this.#isOwn) await this.#client.close();
  }

  #headKey(key: CheckedKey): string {
    return this.#headName(keyText(key));
  }

  #headName(text: string): string {
    return `${this.#prefix}:head:${text}`;
  }

  #logKey(key: CheckedKey, log: string, listNumber = 0): string {
    return `${this.#prefix}:log:${keyText(key)}:${log}${listNumber === 0 ? '' : `:${listNumber}`}`;
  }

  #indexes({ user }: CheckedKey): [ofUser: string, ofAll: string] {
    return [this.#index(user), this.#index(undefined)];
  }

  #index(user: string | undefined): string {
    return user === undefined ? `${this.#prefix}:all` : `${this.#prefix}:user:${user}`;
  }
}

function asTexts(reply: unknown): readonly (string | undefined)[] {
  return Array.isArray(reply)
    ? reply.map((value: unknown) => (typeof value === 'string' ? value : undefined))
    : [];
}
