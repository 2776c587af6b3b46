import type { ModelDelta } from '../../message/model-delta.ts';
import { parseJson } from '../../util/json.ts';
import { ARGUMENTS, NEXT_CALL, SAY, TOOL } from './envelope.ts';

/** Converts the growing text of an answer to deltas. The sum of the deltas is independent of the split. */
export interface AnswerReader {
  read(text: string): readonly ModelDelta[];
  /** Whether the text itself shows the end of the answer. */
  readonly isOver: boolean;
  /** Whether a tool was called. */
  readonly hasCall: boolean;
}

/** Reads plain text answers. */
export class TextReader implements AnswerReader {
  readonly isOver = false;
  readonly hasCall = false;

  read(text: string): readonly ModelDelta[] {
    return text === '' ? [] : [{ type: 'text', text }];
  }
}

/** Reads `{"say": …}`, or lines of `{"tool": …, "arguments": …}`; a grammar guarantees the form. */
export class EnvelopeReader implements AnswerReader {
  readonly #isStructured: boolean;
  #part: 'head' | 'text' | 'json' | 'arguments' | 'end' = 'head';
  /** Head so far, or an incomplete escape sequence. */
  #held = '';
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  /** Number of complete tool calls. */
  #calls = 0;

  /** @param isStructured whether the spoken part is JSON instead of a string */
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

  /** Reads the received text of the current part. Returns the text after the part. */
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

  /** Reads a JSON string after its opening quote. */
  #readString(text: string, deltas: ModelDelta[]): string {
    const source = this.#held + text;
    this.#held = '';
    let decodedText = '';
    let at = 0;
    while (at < source.length && source[at] !== '"') {
      const plain = /[^"\\]*/y;
      plain.lastIndex = at;
      const [run = ''] = plain.exec(source) ?? [];
      decodedText += run;
      at += run.length;
      if (source[at] !== '\\') continue;
      const end = at + (source[at + 1] === 'u' ? 6 : 2);
      if (end > source.length) {
        this.#held = source.slice(at);
        break;
      }
      decodedText += decoded(`"${source.slice(at, end)}"`);
      at = end;
    }
    if (decodedText !== '') deltas.push({ type: 'text', text: decodedText });
    if (source[at] !== '"') return '';
    this.#part = 'end';
    return source.slice(at + 1);
  }

  /** Reads a JSON value and the closing brace. */
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

  /** Index of the brace after the value; the text length if not received yet. */
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

/** Beginning of a tool call up to the arguments, once complete. */
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
