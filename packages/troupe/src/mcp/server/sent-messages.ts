import type { EventStore, JSONRPCMessage } from '@modelcontextprotocol/server';

import { newId } from '../../util/ids.ts';

interface StoredEvent {
  readonly id: string;
  readonly streamId: string;
  readonly message: JSONRPCMessage;
  readonly size: number;
}

/** Maximum characters of the messages of one session, as JSON. The latest message is always kept. */
const MAX_CHARS = 1_000_000;
const MAX_EVENTS = 500;

/** Latest messages to one client. A client fetches missed messages after a broken connection. */
export class SentMessages implements EventStore {
  readonly #events: StoredEvent[] = [];
  #size = 0;

  async storeEvent(streamId: string, message: JSONRPCMessage): Promise<string> {
    const event = { id: newId(), streamId, message, size: JSON.stringify(message).length };
    this.#events.push(event);
    this.#size += event.size;
    while (this.#events.length > MAX_EVENTS || (this.#size > MAX_CHARS && this.#events.length > 1))
      this.#size -= this.#events.shift()?.size ?? 0;
    return event.id;
  }

  async getStreamIdForEventId(eventId: string): Promise<string | undefined> {
    return this.#events.find(({ id }) => id === eventId)?.streamId;
  }

  /** Sends the later messages of the same stream. @throws Error if the event is no longer kept */
  async replayEventsAfter(
    lastEventId: string,
    { send }: { send: (eventId: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    const at = this.#events.findIndex(({ id }) => id === lastEventId);
    const last = this.#events[at];
    if (last === undefined) throw new Error('The event is no longer kept.');
    for (const { id, streamId, message } of this.#events.slice(at + 1)) {
      const isPriming = Object.keys(message).length === 0;
      if (streamId === last.streamId && !isPriming) await send(id, message);
    }
    return last.streamId;
  }
}
