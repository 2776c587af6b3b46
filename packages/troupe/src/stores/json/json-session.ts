import { Session, type SessionOptions } from '../../session/session.ts';
import { JsonStore } from './json-store.ts';

/**
 * Sessions as files below a directory, which is made private if missing. Several processes may use one
 * directory at the same time.
 *
 * @example
 * ```ts
 * import { InMemoryMemory } from 'troupe';
 * import { JsonSession } from 'troupe/stores/json';
 *
 * const session = new JsonSession('./sessions');
 * const memory = new InMemoryMemory();
 * await memory.add('Hello!');
 * await session.save('chat', { memory }); // on disk when this resolves
 * console.log((await session.list()).sessions.length);
 * ```
 */
export class JsonSession extends Session {
  constructor(dir: string, options: SessionOptions = {}) {
    super(new JsonStore(dir), options);
  }
}
