import { checkNumber } from '../../config/check-number.ts';
import { TroupeError } from '../../errors.ts';
import { SessionConflictError, SessionCorruptError } from '../../session/session-error.ts';
import { keyName, keyText, type CheckedKey } from '../../session/session-key.ts';
import type {
  Commit,
  ListQuery,
  LogRange,
  SessionInfo,
  SessionStore,
  StoredHead,
  StoredItem,
} from '../../session/session-store.ts';
import type { RedisClient } from './redis-client.ts';

/** KEYS: head, log, index of the user, index of all. ARGV: see `commit`. Returns 1, or 0 for a conflict. */
const COMMIT = `
local old = redis.call('HMGET', KEYS[1], 'revision', 'log', 'head', 'previousLog')
if (old[1] or '') ~= ARGV[1] then return 0 end
if ARGV[2] ~= '' and old[2] ~= ARGV[2] then return 0 end
if redis.call('LLEN', KEYS[2]) ~= tonumber(ARGV[3]) then return 0 end
if old[1] then
  redis.call('HSET', KEYS[1], 'previousRevision', old[1], 'previousLog', old[2], 'previousHead', old[3])
end
redis.call('HSET', KEYS[1], 'revision', ARGV[4], 'savedAt', ARGV[5], 'log', ARGV[6], 'head', ARGV[7])
for i = 11, #ARGV do redis.call('RPUSH', KEYS[2], ARGV[i]) end
if old[4] and old[4] ~= ARGV[6] and old[4] ~= old[2] then redis.call('DEL', ARGV[8] .. old[4]) end
redis.call('ZADD', KEYS[3], '-' .. ARGV[5], ARGV[9])
redis.call('ZADD', KEYS[4], '-' .. ARGV[5], ARGV[9])
if ARGV[10] ~= '0' then
  redis.call('PEXPIRE', KEYS[1], ARGV[10])
  redis.call('PEXPIRE', KEYS[2], ARGV[10])
  if old[2] then redis.call('PEXPIRE', ARGV[8] .. old[2], ARGV[10]) end
end
return 1`;

/** KEYS: head, index of the user, index of all. ARGV: revision or '', beginning of the logs' names, member. */
const DELETE = `
local old = redis.call('HMGET', KEYS[1], 'revision', 'log', 'previousLog')
if not old[1] or (ARGV[1] ~= '' and old[1] ~= ARGV[1]) then return 0 end
redis.call('DEL', KEYS[1], ARGV[2] .. old[2])
if old[3] then redis.call('DEL', ARGV[2] .. old[3]) end
redis.call('ZREM', KEYS[2], ARGV[3])
redis.call('ZREM', KEYS[3], ARGV[3])
return 1`;

/**
 * KEYS: index. ARGV: least score, offset, limit, beginning of the heads' names, index of all, beginning of the users' indexes.
 * Returns member, revision and time of each, and removes from the indexes what has expired.
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

export interface RedisSessionOptions {
  /** How long a session is kept after it was last saved or loaded. @default for ever */
  readonly ttlMs?: number | undefined;
  /** What all keys begin with. @default 'troupe' */
  readonly prefix?: string | undefined;
}

/**
 * Keeps sessions in Redis. A save is one script that checks the revision. All keys share one hash tag, so that they are on
 * the same node of a cluster.
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
    const fields =
      which === 'current' ? ['revision', 'head', 'log'] : ['previousRevision', 'previousHead', 'previousLog'];
    const [revision, text, log] = asTexts(await this.#client.send('HMGET', this.#headKey(key), ...fields));
    if (revision === undefined || text === undefined) return undefined;
    if (this.#ttlMs > 0) {
      for (const name of [this.#headKey(key), this.#logKey(key, log ?? '')]) {
        await this.#client.send('PEXPIRE', name, this.#ttlMs);
      }
    }
    return { revision: Number(revision), text, place: `revision ${revision} of session ${keyName(key)}` };
  }

  async readItems(key: CheckedKey, log: string, ranges: readonly LogRange[]): Promise<readonly StoredItem[]> {
    const items: StoredItem[] = [];
    for (const { from, to, count } of ranges) {
      const texts = asTexts(await this.#client.send('LRANGE', this.#logKey(key, log), from, to - 1));
      if (texts.length !== count) {
        const place = this.placeOf(key, log, { text: '', from, to });
        throw new SessionCorruptError(place, `and the next ones are ${texts.length} instead of ${count}`);
      }
      texts.forEach((text, i) => items.push({ text: text ?? '', from: from + i, to: from + i + 1 }));
    }
    return items;
  }

  async commit(key: CheckedKey, { base, revision, savedAt, log, items, head }: Commit): Promise<void> {
    const logKey = this.#logKey(key, log);
    const start = Number(await this.#client.send('LLEN', logKey));
    const text = head(Array.from({ length: items.length + 1 }, (_, i) => start + i));
    const done = await this.#client.run(
      COMMIT,
      [this.#headKey(key), logKey, ...this.#indexes(key)],
      [
        base?.revision ?? '',
        base?.log ?? '',
        start,
        revision,
        savedAt,
        log,
        text,
        this.#logKey(key, ''),
        keyText(key),
        this.#ttlMs,
        ...items,
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
      (await this.#client.run(DELETE, keys, [revision ?? '', this.#logKey(key, ''), keyText(key)])) === 1
    );
  }

  placeOf(key: CheckedKey, log: string, { from }: StoredItem): string {
    return `item ${from} of log ${log} of session ${keyName(key)}`;
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

  #logKey(key: CheckedKey, log: string): string {
    return `${this.#prefix}:log:${keyText(key)}:${log}`;
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
