import { Session } from '../../session/session.ts';
import { JsonStore } from './json-store.ts';

/**
 * Sessions as files below a directory, which is made private if missing. Several processes may use one
 * directory at the same time.
 */
export class JsonSession extends Session {
  constructor(dir: string) {
    super(new JsonStore(dir));
  }
}
