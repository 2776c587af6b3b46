import { checkNumber } from '../../util/check-number.ts';
import {
  NO_CONVERSATION,
  StoredMemory,
  type ConversationId,
  type ConversationReading,
  type ConversationStore,
  type ConversationVersion,
  type NewRow,
  type RowChange,
} from '../../memory/stored-memory.ts';
import { textKey } from '../../memory/text-key.ts';
import { newId } from '../../util/ids.ts';
import { RedisClient, type RedisOptions } from './redis-client.ts';

export interface RedisMemoryOptions extends ConversationId {
  /** Time after the last read or write until the conversation expires. @default never */
  readonly ttlMs?: number | undefined;
  /** Prefix of all keys. @default 'troupe' */
  readonly prefix?: string | undefined;
}

/**
 * Keys of a conversation: its head (birth, epoch, next, summary), marks and text by message number, and
 * message numbers by id. All keys expire together.
 */
const START = `
local head, marks, msgs, ids = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local ttl = tonumber(ARGV[1])
local function live()
  if ttl > 0 then for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, ttl) end end
end
local function version()
  local found = redis.call('HMGET', head, 'birth', 'epoch', 'next')
  return found[1] or '', tonumber(found[2] or 0), tonumber(found[3] or 0)
end
local function make(birth)
  redis.call('DEL', marks, msgs, ids)
  redis.call('HSET', head, 'birth', birth, 'epoch', 0, 'next', 0, 'summary', '""')
end
`;

const READ = `${START}
local birth, epoch, next = version()
if birth == '' then return {} end
live()
local known, since = ARGV[2], tonumber(ARGV[4])
local rows = { birth, epoch, next, redis.call('HGET', head, 'summary') }
if birth == known and epoch == tonumber(ARGV[3]) then
  rows[5] = 0
  for seq = since, next - 1 do
    local found = redis.call('HGET', marks, seq)
    if found then
      rows[#rows + 1] = seq
      rows[#rows + 1] = found
      rows[#rows + 1] = redis.call('HGET', msgs, seq) or ''
    end
  end
  return rows
end
rows[5] = 1
local all = redis.call('HGETALL', marks)
for i = 1, #all, 2 do
  rows[#rows + 1] = tonumber(all[i])
  rows[#rows + 1] = all[i + 1]
  local isKnown = birth == known and tonumber(all[i]) < since
  rows[#rows + 1] = not isKnown and (redis.call('HGET', msgs, all[i]) or '')
end
return rows
`;

const APPEND = `${START}
local birth, epoch, next = version()
if birth == '' then
  birth = ARGV[2]
  make(birth)
end
local result = { birth, epoch, next }
for i = 3, #ARGV, 3 do
  if redis.call('HSETNX', ids, ARGV[i], next) == 1 then
    redis.call('HSET', marks, next, ARGV[i + 1])
    redis.call('HSET', msgs, next, ARGV[i + 2])
    next = next + 1
    result[#result + 1] = (i - 3) / 3
  end
end
redis.call('HSET', head, 'next', next)
live()
return result
`;

const DELETE_IDS = `${START}
local birth, epoch, next = version()
local result = { birth, epoch, next }
for i = 2, #ARGV do
  local seq = redis.call('HGET', ids, ARGV[i])
  if seq then
    redis.call('HDEL', ids, ARGV[i])
    redis.call('HDEL', marks, seq)
    redis.call('HDEL', msgs, seq)
    result[#result + 1] = tonumber(seq)
  end
end
if #result > 3 then redis.call('HINCRBY', head, 'epoch', 1) end
live()
return result
`;

/**
 * Deletes and marks messages. ARGV[4] is the number of deletions; numbers and ids to delete follow, then
 * numbers with their new marks.
 */
const CHANGE = `${START}
local birth, epoch = version()
if birth == '' or birth ~= ARGV[2] or epoch ~= tonumber(ARGV[3]) then return 0 end
local marked = 5 + 2 * tonumber(ARGV[4])
for i = 5, marked - 1, 2 do
  redis.call('HDEL', ids, ARGV[i + 1])
  redis.call('HDEL', marks, ARGV[i])
  redis.call('HDEL', msgs, ARGV[i])
end
for i = marked, #ARGV, 2 do redis.call('HSET', marks, ARGV[i], ARGV[i + 1]) end
redis.call('HINCRBY', head, 'epoch', 1)
live()
return 1
`;

const CLEAR = `redis.call('DEL', unpack(KEYS))`;

const SET_SUMMARY = `${START}
if version() == '' then make(ARGV[2]) end
redis.call('HSET', head, 'summary', ARGV[3])
live()
`;

/**
 * Memory in Redis. Needs the package `redis`. Every operation is one script and therefore atomic; all keys of
 * a conversation are on one cluster node and expire together.
 */
export class RedisMemory extends StoredMemory {
  static override readonly componentName: string = 'redisMemory';

  /** @param redis connection, or a shared client, which stays open when the memory closes */
  constructor(redis: RedisOptions | RedisClient, options: RedisMemoryOptions) {
    super(options, new RedisConversation(redis, options));
  }
}

class RedisConversation implements ConversationStore {
  readonly #client: RedisClient;
  readonly #isOwn: boolean;
  readonly #options: RedisMemoryOptions;
  #keys: readonly string[] | undefined;

  constructor(redis: RedisOptions | RedisClient, options: RedisMemoryOptions) {
    if (options.ttlMs !== undefined) checkNumber('ttlMs', options.ttlMs, { least: 1, whole: true });
    this.#isOwn = !(redis instanceof RedisClient);
    this.#client = redis instanceof RedisClient ? redis : new RedisClient(redis);
    this.#options = options;
  }

  async read({ birth, epoch, next }: ConversationVersion): Promise<ConversationReading> {
    const found = await this.#run(READ, [birth, epoch, next]);
    const [, , , summary, isWhole, ...values] = found;
    const rows = [];
    for (let i = 0; i < values.length; i += 3) {
      const [seq, marks, msg] = values.slice(i, i + 3);
      rows.push({ seq: Number(seq), marks: textOf(marks), msg: msg == null ? null : textOf(msg) });
    }
    rows.sort((a, b) => a.seq - b.seq);
    const version = toVersion(found);
    return {
      version,
      summary: textOf(summary ?? '""'),
      rows,
      isWhole: isWhole === undefined || Number(isWhole) === 1,
    };
  }

  async append(rows: readonly NewRow[]): Promise<{ before: ConversationVersion; added: readonly number[] }> {
    const args = rows.flatMap(({ id, marks, msg }) => [id, marks, msg]);
    const found = await this.#run(APPEND, [newId(), ...args]);
    return { before: toVersion(found), added: found.slice(3).map(Number) };
  }

  async deleteIds(
    ids: readonly string[],
  ): Promise<{ before: ConversationVersion; deleted: readonly number[] }> {
    const found = await this.#run(DELETE_IDS, ids);
    return { before: toVersion(found), deleted: found.slice(3).map(Number) };
  }

  async change({ birth, epoch }: ConversationVersion, { deleted, marked }: RowChange): Promise<boolean> {
    const gone = deleted.flatMap(({ seq, id }) => [seq, id]);
    const kept = [...marked].flatMap(([marks, seqs]) => seqs.flatMap((seq) => [seq, marks]));
    const [isDone] = await this.#run(CHANGE, [birth, epoch, deleted.length, ...gone, ...kept]);
    return Number(isDone) === 1;
  }

  async clear(): Promise<void> {
    await this.#run(CLEAR, []);
  }

  async setSummary(summary: string): Promise<void> {
    await this.#run(SET_SUMMARY, [newId(), summary]);
  }

  async close(): Promise<void> {
    if (this.#isOwn) await this.#client.close();
  }

  /** Runs a script with the keys and the time to live. */
  async #run(script: string, args: readonly (string | number)[]): Promise<readonly unknown[]> {
    const { userId = 'default', sessionId, prefix = 'troupe', ttlMs = 0 } = this.#options;
    this.#keys ??= keysOf(prefix, await textKey(userId), await textKey(sessionId));
    const found = await this.#client.run(script, this.#keys, [ttlMs, ...args]);
    return Array.isArray(found) ? (found as readonly unknown[]) : [found];
  }
}

/** Keys of a conversation. JSON keeps different pairs apart; the braces keep the keys on one cluster node. */
function keysOf(prefix: string, user: string, session: string): readonly string[] {
  const pair = JSON.stringify([user, session]);
  return ['head', 'marks', 'msgs', 'ids'].map((part) => `${prefix}:memory:{${pair}}:${part}`);
}

function toVersion([birth = '', epoch, next]: readonly unknown[]): ConversationVersion {
  const text = textOf(birth);
  return text === '' ? NO_CONVERSATION : { birth: text, epoch: Number(epoch), next: Number(next) };
}

/** Converts a reply to text; some clients return bytes. */
function textOf(reply: unknown): string {
  if (reply instanceof Uint8Array) return new TextDecoder().decode(reply);
  return typeof reply === 'string' ? reply : '';
}
