import { randomInt, randomUUID } from 'node:crypto';

import type { Client, ClientConfig } from 'pg';

import type { ServiceDatabase } from './database.ts';
import { LOCK_CLASS } from './owner-table.ts';
import type { NoticeKind, NoticeListener, StoreNotices } from './store-notices.ts';

const CHANNEL = 'troupe_service';
const PER_STATEMENT = 100;
const RECONNECT_MS = 500;
/** Numbers of locks are positive 32-bit integers. */
const MAX_LOCK = 2 ** 31 - 1;

/**
 * Notices by LISTEN and NOTIFY, over one connection of its own. Notices that arrive while a statement runs share the next one, and are
 * sent outside of transactions: a NOTIFY inside would make all commits of the database wait for each other. The connection holds an
 * advisory lock with a random number, which is free as soon as the connection ends.
 */
export class PostgresNotices implements StoreNotices {
  readonly #database: ServiceDatabase;
  readonly #config: ClientConfig;
  /** Tells own notices from those of others. */
  readonly #sender = randomUUID();
  readonly #waiting = new Set<string>();
  #listener: NoticeListener = () => {};
  #sending: Promise<void> | undefined;
  #client: Client | undefined;
  #retry: NodeJS.Timeout | undefined;
  #lock: number | undefined;
  #isClosed = false;

  constructor(database: ServiceDatabase, config: ClientConfig) {
    this.#database = database;
    this.#config = config;
  }

  get lock(): number | undefined {
    return this.#lock;
  }

  send(kind: NoticeKind, id = ''): void {
    if (this.#isClosed) return;
    this.#waiting.add(`${this.#sender} ${kind} ${id}`);
    this.#sending ??= this.#sendAll();
  }

  listen(listener: NoticeListener): void {
    this.#listener = listener;
    void this.#connect();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    await this.#sending;
    await this.#client?.end().catch(() => {});
  }

  async #sendAll(): Promise<void> {
    await Promise.resolve(); // notices of the same task share one statement
    try {
      while (this.#waiting.size > 0) {
        const texts = [...this.#waiting].slice(0, PER_STATEMENT);
        for (const text of texts) this.#waiting.delete(text);
        const calls = texts.map(() => `pg_notify('${CHANNEL}', ?)`).join(', ');
        await this.#database.query(`SELECT ${calls}`, texts);
      }
    } catch {
      this.#waiting.clear(); // lost: the others look by themselves
    } finally {
      this.#sending = undefined;
    }
  }

  async #connect(): Promise<void> {
    if (this.#isClosed) return;
    const { default: pg } = await import('pg');
    const client = new pg.Client({ keepAlive: true, ...this.#config });
    this.#client = client;
    client.on('error', () => {}); // `end` follows
    client.on('end', () => {
      const wasListening = this.#lock !== undefined;
      this.#lock = undefined;
      this.#connectLater(wasListening ? 0 : RECONNECT_MS);
      if (wasListening && !this.#isClosed) this.#listener('lock');
    });
    client.on('notification', ({ payload = '' }) => this.#receive(payload));
    try {
      await client.connect();
      await client.query(`LISTEN ${CHANNEL}`);
      this.#lock = await lockOf(client);
      for (const kind of ['events', 'control', 'work', 'lock'] as const) this.#listener(kind);
    } catch {
      this.#connectLater(RECONNECT_MS);
      await client.end().catch(() => {});
    }
  }

  #connectLater(ms: number): void {
    if (this.#isClosed) return;
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => void this.#connect(), ms);
    this.#retry.unref();
  }

  #receive(payload: string): void {
    const [sender, kind, id = ''] = payload.split(' ');
    if (sender === this.#sender || (kind !== 'events' && kind !== 'control' && kind !== 'work')) return;
    this.#listener(kind, id === '' ? undefined : id);
  }
}

/** Takes a lock that nobody else has, and holds it as long as the connection lives. */
async function lockOf(client: Client): Promise<number> {
  for (;;) {
    const lock = randomInt(1, MAX_LOCK);
    const sql = 'SELECT pg_try_advisory_lock($1, $2) AS taken';
    const { rows } = await client.query<{ taken: boolean }>(sql, [LOCK_CLASS, lock]);
    if (rows[0]?.taken === true) return lock;
  }
}
