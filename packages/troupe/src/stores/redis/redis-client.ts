import type * as redis from 'redis';
import type { RedisClientOptions } from 'redis';

import { TroupeError } from '../../errors.ts';

/** Parts of a `redis` client in use. */
export interface RedisConnection {
  readonly isOpen: boolean;
  connect(): Promise<unknown>;
  sendCommand(args: readonly string[]): Promise<unknown>;
  close(): Promise<unknown>;
}

/** Connection to Redis: an address, options of the package `redis`, or an existing client. */
export type RedisOptions = string | RedisClientOptions | { readonly client: RedisConnection };

const MAX_RECONNECTS = 10;
const RECONNECT_MS = 100;

/**
 * Sends commands to Redis. The first command loads the package `redis` and connects. A client of the caller
 * is connected if necessary, and never closed.
 */
export class RedisClient {
  readonly #options: RedisOptions;
  #connection: Promise<RedisConnection> | undefined;
  #isClosed = false;

  constructor(options: RedisOptions) {
    this.#options = options;
  }

  /** Sends a command, such as `send('GET', key)`. */
  async send(...command: readonly (string | number)[]): Promise<unknown> {
    if (this.#isClosed) throw new TroupeError('store_failed', 'The Redis client was closed. Make a new one.');
    return (await this.#connected()).sendCommand(command.map(String));
  }

  /** Runs a script with its keys and arguments, all or nothing. */
  run(script: string, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    return this.send('EVAL', script, keys.length, ...keys, ...args);
  }

  /** Connection, made again after a long outage. */
  async #connected(): Promise<RedisConnection> {
    const known = this.#connection;
    if (known !== undefined) {
      const connection = await known;
      if (connection.isOpen) return connection;
      if (this.#connection === known) this.#connection = undefined;
    }
    this.#connection ??= connect(this.#options).catch((error: unknown) => {
      this.#connection = undefined; // the next command tries again
      throw error;
    });
    return this.#connection;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const connection = this.#connection;
    this.#connection = undefined;
    if (connection === undefined || isOwnClient(this.#options)) return;
    const open = await connection;
    if (open.isOpen) await open.close();
  }
}

async function connect(options: RedisOptions): Promise<RedisConnection> {
  const connection = isOwnClient(options) ? options.client : await create(options);
  if (!connection.isOpen) await connection.connect();
  return connection;
}

async function create(options: string | RedisClientOptions): Promise<RedisConnection> {
  const { createClient } = await load();
  const given: RedisClientOptions = typeof options === 'string' ? { url: options } : options;
  const client = createClient({
    ...given,
    socket: {
      reconnectStrategy: (retries: number) => (retries < MAX_RECONNECTS ? RECONNECT_MS * retries : false),
      ...given.socket,
    } as NonNullable<RedisClientOptions['socket']>,
  });
  client.on('error', () => {}); // the current command fails with the error
  return client;
}

async function load(): Promise<typeof redis> {
  try {
    return await import('redis');
  } catch (cause) {
    throw new TroupeError(
      'invalid_config',
      "Redis needs the package 'redis'. Install it: npm install redis",
      { cause },
    );
  }
}

function isOwnClient(options: RedisOptions): options is { readonly client: RedisConnection } {
  return typeof options === 'object' && 'client' in options;
}
