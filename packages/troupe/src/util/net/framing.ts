import { createParser } from 'eventsource-parser';

/** One event of a streamed response. */
export interface WireEvent {
  readonly event?: string | undefined;
  /** Id of the event, for a reader that resumes. */
  readonly id?: string | undefined;
  readonly data: string;
  /** True for a line `error: …`, which is not part of the standard; `data` holds the rest of the line. */
  readonly isErrorLine?: boolean;
}

/** Splits the text of a response into events, independent of chunk boundaries. */
export interface Framing {
  feed(text: string): readonly WireEvent[];
  /** Remaining event at the end of the response; may be truncated. */
  end(): readonly WireEvent[];
}

/** Maximum length of an event. Bounds the memory that a server can use with an endless line. */
const MAX_EVENT = 64 * 1024 * 1024;

/** Event beyond `MAX_EVENT`. */
export class TooLongError extends Error {
  override readonly name = 'TooLongError';
}

/** Server-sent events. */
export class SseFraming implements Framing {
  #events: WireEvent[] = [];
  readonly #errorLines = new ErrorLines();
  readonly #parser = createParser({
    maxBufferSize: MAX_EVENT,
    onEvent: (event) => void this.#events.push(event),
    onError: (error) => {
      if (error.type === 'max-buffer-size-exceeded') throw new TooLongError('an event that is too long');
    },
  });

  feed(text: string): readonly WireEvent[] {
    this.#parser.feed(text);
    const events = this.#events;
    this.#events = [];
    const errors = this.#errorLines.feed(text);
    return errors.length === 0 ? events : [...events, ...errors];
  }

  end(): readonly WireEvent[] {
    return this.feed('\n\n');
  }
}

const ERROR_FIELD = 'error:';
const ERROR_LINE = /(?<=^|[\r\n])error: ?([^\r\n]*)(?=[\r\n])/g;

/** Finds lines `error: …`, which GPUStack sends and parsers of server-sent events leave out. */
class ErrorLines {
  /** Start of an unfinished line that may be one; undefined inside any other line. */
  #line: string | undefined = '';

  feed(text: string): readonly WireEvent[] {
    const end = Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r')) + 1;
    const begun = this.#line ?? ':';
    const rest = end === 0 ? begun + text : text.slice(end);
    const mayBegin = ERROR_FIELD.startsWith(rest) || rest.startsWith(ERROR_FIELD);
    this.#line = mayBegin && rest.length <= MAX_EVENT ? rest : undefined;
    const hasBegun = begun !== '' && begun !== ':';
    if (end === 0 || (!hasBegun && !text.includes(ERROR_FIELD))) return []; // nearly always
    const lines = begun + text.slice(0, end);
    return Array.from(lines.matchAll(ERROR_LINE), ([, data = '']) => ({ data, isErrorLine: true }));
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
