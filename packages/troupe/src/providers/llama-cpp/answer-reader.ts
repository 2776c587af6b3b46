import type { ModelDelta } from '../../message/model-delta.ts';
import { parseJson } from '../../util/json.ts';
import { ARGUMENTS, NEXT_CALL, SAY, TOOL } from './envelope.ts';

/** Turns the text of an answer into deltas while it grows, the same ones in sum however it is cut. */
export interface AnswerReader {
  read(text: string): readonly ModelDelta[];
  /** Whether the text itself says that the answer is over. */
  readonly isOver: boolean;
  /** Whether a tool was called. */
  readonly hasCall: boolean;
}

/** Reads text that is the answer. */
export class TextReader implements AnswerReader {
  readonly isOver = false;
  readonly hasCall = false;

  read(text: string): readonly ModelDelta[] {
    return text === '' ? [] : [{ type: 'text', text }];
  }
}

/** Reads `{"say": …}`, or lines of `{"tool": …, "arguments": …}`, which a grammar has held to that form. */
export class EnvelopeReader implements AnswerReader {
  readonly #isStructured: boolean;
  #part: 'head' | 'text' | 'json' | 'arguments' | 'end' = 'head';
  /** The head so far, or an escape sequence that is not whole yet. */
  #held = '';
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  /** How many calls are whole. */
  #calls = 0;

  /** @param isStructured whether what is said is JSON, not a string */
  constructor(isStructured: boolean) {
    this.#isStructured = isStructured;
  }

  get isOver(): boolean {
    return this.#part === 'end';
  }

  get hasCall(): boolean {
    return this.#calls > 0;
  }

  read(text: string): readonly ModelDelta[] {
    const deltas: ModelDelta[] = [];
    for (let rest = text; rest !== '';) rest = this.#readPart(rest, deltas);
    return deltas;
  }

  /** Reads the part that we are in, as far as it is there. Returns what is behind it. */
  #readPart(text: string, deltas: ModelDelta[]): string {
    switch (this.#part) {
      case 'head':
        return this.#readHead(text, deltas);
      case 'text':
        return this.#readString(text, deltas);
      case 'json':
      case 'arguments':
        return this.#readValue(text, deltas);
      case 'end': {
        const next = text.indexOf(NEXT_CALL);
        if (next === -1) return '';
        this.#part = 'head';
        return text.slice(next + NEXT_CALL.length);
      }
    }
  }

  #readHead(text: string, deltas: ModelDelta[]): string {
    const head = this.#held + text;
    const say = this.#isStructured ? SAY : `${SAY}"`;
    const call = callHead(head);
    if (call !== undefined) {
      this.#part = 'arguments';
      deltas.push({ type: 'tool_use_start', index: this.#calls, name: call.name });
    } else if (head.startsWith(say)) {
      this.#part = this.#isStructured ? 'json' : 'text';
    } else {
      this.#held = head;
      return '';
    }
    this.#held = '';
    return head.slice(call?.length ?? say.length);
  }

  /** Reads a JSON string behind its opening quote. */
  #readString(text: string, deltas: ModelDelta[]): string {
    const source = this.#held + text;
    this.#held = '';
    let said = '';
    let at = 0;
    while (at < source.length && source[at] !== '"') {
      const plain = /[^"\\]*/y;
      plain.lastIndex = at;
      const [run = ''] = plain.exec(source) ?? [];
      said += run;
      at += run.length;
      if (source[at] !== '\\') continue;
      const end = at + (source[at + 1] === 'u' ? 6 : 2);
      if (end > source.length) {
        this.#held = source.slice(at);
        break;
      }
      said += decoded(`"${source.slice(at, end)}"`);
      at = end;
    }
    if (said !== '') deltas.push({ type: 'text', text: said });
    if (source[at] !== '"') return '';
    this.#part = 'end';
    return source.slice(at + 1);
  }

  /** Reads a JSON value, and the brace behind it. */
  #readValue(text: string, deltas: ModelDelta[]): string {
    const isCall = this.#part === 'arguments';
    const index = this.#calls;
    const end = this.#endOfValue(text);
    const json = text.slice(0, end);
    if (json !== '') deltas.push(isCall ? { type: 'tool_input', index, json } : { type: 'text', text: json });
    if (end === text.length) return '';
    if (isCall) {
      deltas.push({ type: 'tool_use_end', index });
      this.#calls++;
    }
    this.#part = 'end';
    return text.slice(end + 1);
  }

  /** Where the brace behind the value is; the length of the text if it is not in there. */
  #endOfValue(text: string): number {
    for (let at = 0; at < text.length; at++) {
      const char = text.charAt(at);
      if (this.#isEscaped) this.#isEscaped = false;
      else if (char === '"') this.#isInString = !this.#isInString;
      else if (this.#isInString) this.#isEscaped = char === '\\';
      else if (char === '{' || char === '[') this.#depth++;
      else if (char === '}' || char === ']') {
        if (this.#depth === 0) return at;
        this.#depth--;
      }
    }
    return text.length;
  }
}

/** The beginning of a call up to its arguments, once it is whole. */
function callHead(text: string): { readonly name: string; readonly length: number } | undefined {
  if (!text.startsWith(TOOL)) return undefined;
  const name = /"(?:[^"\\]|\\.)*"/y;
  name.lastIndex = TOOL.length;
  const [json] = name.exec(text) ?? [];
  if (json === undefined || !text.startsWith(ARGUMENTS, name.lastIndex)) return undefined;
  return { name: decoded(json), length: name.lastIndex + ARGUMENTS.length };
}

function decoded(json: string): string {
  const value = parseJson(json);
  return typeof value === 'string' ? value : '';
}
