import { isJsonObject, readJson, type JsonObject } from '../../util/json.ts';
import {
  LineFraming,
  SseFraming,
  TooLongError,
  type Framing,
  type WireEvent,
} from '../../util/net/framing.ts';

/** One event of an answer. */
export interface AnswerEvent extends WireEvent {
  /** True for a last event that may be truncated. */
  readonly mayBeCutOff?: boolean;
  /** The answer itself, if it came whole, as plain JSON and not as a stream. */
  readonly whole?: JsonObject;
}

/** Splits the bytes of an answer into events, independent of chunk boundaries. */
export interface AnswerFraming {
  /** @throws TooLongError */
  feed(bytes: Uint8Array): readonly AnswerEvent[];
  /** Remaining events at the end of the response. */
  end(): readonly AnswerEvent[];
}

/** Maximum length of an answer that comes whole, in characters. */
const MAX_WHOLE = 64 * 1024 * 1024;

/**
 * Reads an answer of text: an event stream, or plain JSON, which servers send that were asked for it or that
 * can't stream. The first character shows which: no event stream begins with a bracket.
 */
export class TextAnswerFraming implements AnswerFraming {
  readonly #format: 'sse' | 'lines';
  readonly #decoder = new TextDecoder();
  #framing: Framing | undefined;
  /** Text before the first character that is not white space. */
  #head = '';

  constructor(format: 'sse' | 'lines') {
    this.#format = format;
  }

  feed(bytes: Uint8Array): readonly AnswerEvent[] {
    return this.#feed(this.#decoder.decode(bytes, { stream: true }));
  }

  end(): readonly AnswerEvent[] {
    const events = this.#feed(this.#decoder.decode());
    const rest = this.#framing?.end() ?? [];
    return [...events, ...rest.map((event) => ({ ...event, mayBeCutOff: true }))];
  }

  #feed(text: string): readonly AnswerEvent[] {
    if (this.#framing !== undefined) return this.#framing.feed(text);
    this.#head += text;
    const start = /\S/.exec(this.#head)?.[0];
    if (start === undefined) return [];
    this.#framing = this.#framingFor(start);
    return this.#framing.feed(this.#head);
  }

  #framingFor(start: string): Framing {
    if (this.#format === 'lines') return new LineFraming();
    return start === '{' || start === '[' ? new WholeFraming() : new SseFraming();
  }
}

/** Plain JSON: one value, or a list of values. */
class WholeFraming implements Framing {
  #text = '';

  feed(text: string): readonly WireEvent[] {
    this.#text += text;
    if (this.#text.length > MAX_WHOLE) throw new TooLongError('an answer that is too long');
    return [];
  }

  end(): readonly AnswerEvent[] {
    const parsed = readJson(this.#text);
    if (parsed === undefined) return [{ data: this.#text }];
    const values: readonly unknown[] = Array.isArray(parsed) ? parsed : [parsed];
    return values.filter((value) => isJsonObject(value)).map((whole) => ({ data: '', whole }));
  }
}
