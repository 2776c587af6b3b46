import { Session } from '../../session/session.ts';
import { RedisClient, type RedisOptions } from './redis-client.ts';
import { RedisSessionStore, type RedisSessionOptions } from './redis-session-store.ts';

/**
 * Keeps sessions in Redis, for ever or for some time after they were last used. It needs the package `redis`. How much of
 * what was saved survives a crash of Redis is up to how that is set up: use `appendonly yes` and `appendfsync always`.
 */
export class RedisSession extends Session {
  /** @param redis how to reach it, or a client that others use too and that is not closed with the session */
  constructor(redis: RedisOptions | RedisClient, options: RedisSessionOptions = {}) {
    const isGiven = redis instanceof RedisClient;
    super(new RedisSessionStore(isGiven ? redis : new RedisClient(redis), !isGiven, options));
  }
}
