import { getLogger } from '../config/run-config.ts';
import { messageOf } from '../errors.ts';
import type { TalkEvent, TalkListener } from './talk-event.ts';

/** Tells the events of one conversation to listeners. A listener that throws is logged. */
export class TalkAnnouncer {
  readonly #listeners = new Set<TalkListener>();

  /** The returned function removes the listener. */
  add(listener: TalkListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  tell(event: TalkEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        getLogger().log('warn', `A listener of a conversation threw: ${messageOf(error)}`);
      }
    }
  }
}
