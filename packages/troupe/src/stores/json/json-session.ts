import { Session } from '../../session/session.ts';
import { JsonStore } from './json-store.ts';

/**
 * Keeps sessions as files below a directory, which is made if it is not there and is for its owner only. Several
 * processes may use it at the same time.
 */
export class JsonSession extends Session {
  constructor(dir: string) {
    super(new JsonStore(dir));
  }
}
