import { Session, type SessionOptions } from '../../session/session.ts';
import { RedisClient, type RedisOptions } from './redis-client.ts';
import { RedisSessionStore, type RedisSessionOptions } from './redis-session-store.ts';

/**
 * Sessions in Redis, kept for ever or for some time after the last use. Needs the package `redis`. Durability
 * depends on the configuration of Redis: use `appendonly yes` and `appendfsync always`.
 */
export class RedisSession extends Session {
  /** @param redis connection, or a shared client, which stays open when the session closes */
  constructor(redis: RedisOptions | RedisClient, options: RedisSessionOptions & SessionOptions = {}) {
    const isGiven = redis instanceof RedisClient;
    super(new RedisSessionStore(isGiven ? redis : new RedisClient(redis), !isGiven, options), options);
  }
}
