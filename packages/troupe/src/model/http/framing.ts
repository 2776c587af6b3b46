import { createParser, type EventSourceMessage } from 'eventsource-parser';

/** One event of a streamed answer. */
export interface WireEvent {
  readonly event?: string | undefined;
  readonly data: string;
}

/** Cuts the text of an answer into events, wherever the pieces of it begin and end. */
export interface Framing {
  feed(text: string): readonly WireEvent[];
  /** What is left when the answer ends. It may be cut off. */
  end(): readonly WireEvent[];
}

/** No event is longer. It bounds what a server that never ends its line can make us keep. */
const MAX_EVENT = 64 * 1024 * 1024;

/** An event that is longer than any answer's. */
export class TooLongError extends Error {
  override readonly name = 'TooLongError';
}

/** Server-sent events. */
export class SseFraming implements Framing {
  #events: EventSourceMessage[] = [];
  readonly #parser = createParser({
    maxBufferSize: MAX_EVENT,
    onEvent: (event) => void this.#events.push(event),
    onError(error) {
      if (error.type === 'max-buffer-size-exceeded') throw new TooLongError('an event that is too long');
    },
  });

  feed(text: string): readonly WireEvent[] {
    this.#parser.feed(text);
    const events = this.#events;
    this.#events = [];
    return events;
  }

  end(): readonly WireEvent[] {
    return this.feed('\n\n');
  }
}

/** One JSON value per line. */
export class LineFraming implements Framing {
  #pieces: string[] = [];
  #length = 0;

  feed(text: string): readonly WireEvent[] {
    const lines = text.split('\n');
    const rest = lines.pop() ?? '';
    const events: WireEvent[] = [];
    for (const line of lines) events.push(...this.#line(line));
    this.#pieces.push(rest);
    this.#length += rest.length;
    if (this.#length > MAX_EVENT) throw new TooLongError('a line that is too long');
    return events;
  }

  end(): readonly WireEvent[] {
    return this.#line('');
  }

  #line(end: string): readonly WireEvent[] {
    const data = (this.#pieces.join('') + end).trim();
    this.#pieces = [];
    this.#length = 0;
    return data === '' ? [] : [{ data }];
  }
}
