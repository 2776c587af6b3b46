import type { ModelDelta } from '../../message/model-delta.ts';
import { readJson } from '../../util/json.ts';
import type { AnswerEvent } from './answer-framing.ts';

/** An event that held one piece of text, and nothing else that changes how the answer is read. */
export interface PlainPiece {
  /** The piece, which is the value of one JSON string of the event. */
  readonly text: string;
  /** Reads the same event once more with another piece of text, which is not empty. */
  readonly again: (text: string) => ModelDelta;
}

/** Longer slices of a text keep all of it in memory, in V8. */
const MAX_SLICE = 12;
/** Characters of a JSON string without escapes, which are its value. */
const SPELLED_PLAINLY = /^[^"\\\u0000-\u001f]+$/;
/** Number of events in a row that no event repeated before all further events are parsed. */
const MAX_UNREPEATED = 16;

/**
 * Reads events of a stream that differ from an event before by one piece of text, such as all deltas of one text, without parsing their
 * JSON again: what is before and after the piece is compared, and the piece itself is checked to be one JSON string.
 */
export class RepeatedEvent {
  #piece: PlainPiece | undefined;
  #name: string | undefined;
  #head = '';
  #tail = '';
  #unrepeated = 0;

  /**
   * Remembers an event that was parsed. An event with an empty piece is not remembered: the first text has effects that an empty one lacks.
   * @param piece undefined if the event was another one than a plain piece
   */
  learn({ data, event }: AnswerEvent, piece: PlainPiece | undefined): void {
    this.#piece = undefined;
    if (piece === undefined || piece.text === '' || this.#unrepeated === MAX_UNREPEATED) return;
    const literal = `"${piece.text}"`;
    const at = data.indexOf(literal);
    // In an event without escapes, the only place of the literal is the place of the piece.
    if (at < 0 || at !== data.lastIndexOf(literal) || data.includes('\\')) return;
    this.#unrepeated++;
    this.#piece = piece;
    this.#name = event;
    this.#head = data.slice(0, at + 1);
    this.#tail = data.slice(at + literal.length - 1);
  }

  /** The delta of an event; undefined if the event has to be parsed. */
  read({ data, event, isErrorLine }: AnswerEvent): ModelDelta | undefined {
    if (this.#piece === undefined || event !== this.#name || isErrorLine) return undefined;
    const [head, tail] = [this.#head, this.#tail];
    const [start, end] = [head.length, data.length - tail.length];
    // Comparing a slice is faster than `startsWith`.
    if (end <= start || data.slice(0, start) !== head || data.slice(end) !== tail) return undefined;
    const spelled = data.slice(start, end);
    const isPlain = spelled.length <= MAX_SLICE && SPELLED_PLAINLY.test(spelled);
    const text = isPlain ? spelled : readJson(`"${spelled}"`);
    if (typeof text !== 'string' || text === '') return undefined;
    this.#unrepeated = 0;
    return this.#piece.again(text);
  }
}
