import { MAX_JSON_DEPTH, readJson, setOwn, type JsonValue } from './json.ts';

/** Next thing that the text may contain. */
type Expected =
  | 'value'
  | 'first item'
  | 'first key'
  | 'key'
  | 'colon'
  | 'comma'
  | 'string'
  | 'word'
  | 'nothing';

/** Object or array that is not closed yet, with its complete entries only. */
interface OpenContainer {
  readonly value: JsonValue[] | { [key: string]: JsonValue };
  /** Key of the entry that comes next, for an object. */
  key: string;
}

const SPACE = /\s/;
const STRING_END = /["\\]/g;
const WORD = /[-+.\w]/;
const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

/**
 * Parses JSON while it is written. Each character is read once, so the cost of a piece does not depend on the text before it.
 *
 * `value` holds strings as far as they are written, and keys, numbers, `true`, `false` and `null` only once they are
 * complete. Text that is not JSON, or nested too deep, is not read any further: `value` stays as it is.
 */
export class PartialJson {
  readonly #open: OpenContainer[] = [];
  #expected: Expected = 'value';
  #isKey = false;
  /** Decoded string, or word, that is being read. */
  #text = '';
  /** Escape sequence that is being read, without its backslash. */
  #escape: string | undefined;
  /** First half of a character that is written as two escape sequences. Part of the string together with the second half. */
  #half = '';
  #complete: JsonValue | undefined;
  #hasFailed = false;

  /** Adds the next piece of the text. */
  add(piece: string): void {
    for (let at = 0; at < piece.length && !this.#hasFailed;) {
      if (this.#expected === 'string') at = this.#readString(piece, at);
      else this.#read(piece.charAt(at++));
    }
  }

  /** Frozen copy of the value so far; undefined if none has begun. Copies entries of open objects and arrays, not their content. */
  get value(): JsonValue | undefined {
    let value = this.#complete;
    if (this.#expected === 'string' && !this.#isKey) value = this.#text;
    for (const { value: container, key } of this.#open.toReversed()) {
      const copy = Array.isArray(container) ? [...container] : { ...container };
      if (value !== undefined) put(copy, key, value);
      value = Object.freeze(copy);
    }
    return value;
  }

  /** Reads from `at` to the end of the string, or of the piece. Returns the position after that. */
  #readString(piece: string, at: number): number {
    if (this.#escape !== undefined) {
      this.#readEscape(piece.charAt(at));
      return at + 1;
    }
    STRING_END.lastIndex = at;
    const end = STRING_END.exec(piece)?.index ?? piece.length;
    this.#append(piece.slice(at, end));
    if (piece[end] === '\\') this.#escape = '';
    else if (piece[end] === '"') this.#endString();
    return end + 1;
  }

  #readEscape(char: string): void {
    const escape = (this.#escape ?? '') + char;
    if (escape.startsWith('u')) {
      if (!/^u[\da-f]{0,4}$/i.test(escape)) this.#hasFailed = true;
      this.#escape = escape;
      if (escape.length < 5) return;
      const decoded = String.fromCharCode(Number.parseInt(escape.slice(1), 16));
      this.#append(decoded);
    } else {
      const decoded = ESCAPES[escape];
      if (decoded === undefined) this.#hasFailed = true;
      else this.#append(decoded);
    }
    this.#escape = undefined;
  }

  /** Adds to the string that is being read. Never looks at the text before, which would cost as much as its length. */
  #append(text: string): void {
    if (text === '') return;
    const isHalf = /^[\ud800-\udbff]$/.test(text);
    this.#text += isHalf ? this.#half : this.#half + text;
    this.#half = isHalf ? text : '';
  }

  #endString(): void {
    this.#text += this.#half;
    this.#half = '';
    if (!this.#isKey) return this.#add(this.#text);
    const container = this.#open.at(-1);
    if (container !== undefined) container.key = this.#text;
    this.#expected = 'colon';
  }

  #read(char: string): void {
    if (this.#expected === 'word') {
      if (WORD.test(char)) return void (this.#text += char);
      this.#endWord();
    }
    if (!SPACE.test(char) && !this.#hasFailed && !this.#accepts(char)) this.#hasFailed = true;
  }

  #endWord(): void {
    const value = readJson(this.#text);
    if (value === null || typeof value === 'number' || typeof value === 'boolean') this.#add(value);
    else this.#hasFailed = true;
  }

  /** Reads a character outside of strings and words. Returns whether it may stand here. */
  #accepts(char: string): boolean {
    switch (this.#expected) {
      case 'first item':
        return (char === ']' && this.#close()) || this.#startValue(char);
      case 'value':
        return this.#startValue(char);
      case 'first key':
        return (char === '}' && this.#close()) || this.#startKey(char);
      case 'key':
        return this.#startKey(char);
      case 'colon':
        this.#expected = 'value';
        return char === ':';
      case 'comma':
        return this.#continue(char);
      default:
        return false;
    }
  }

  #startValue(char: string): boolean {
    if (char === '{' || char === '[') {
      this.#open.push({ value: char === '{' ? {} : [], key: '' });
      this.#expected = char === '{' ? 'first key' : 'first item';
      return this.#open.length <= MAX_JSON_DEPTH;
    }
    this.#isKey = false;
    if (char === '"') return this.#startText('', 'string');
    return WORD.test(char) && this.#startText(char, 'word');
  }

  #startKey(char: string): boolean {
    this.#isKey = true;
    return char === '"' && this.#startText('', 'string');
  }

  #startText(text: string, expected: 'string' | 'word'): true {
    this.#text = text;
    this.#expected = expected;
    return true;
  }

  #continue(char: string): boolean {
    const isArray = Array.isArray(this.#open.at(-1)?.value);
    if (char === (isArray ? ']' : '}')) return this.#close();
    this.#expected = isArray ? 'value' : 'key';
    return char === ',';
  }

  #close(): boolean {
    const closed = this.#open.pop();
    if (closed !== undefined) this.#add(Object.freeze(closed.value));
    return closed !== undefined;
  }

  /** Adds a complete value to the innermost open container. */
  #add(value: JsonValue): void {
    const container = this.#open.at(-1);
    if (container === undefined) this.#complete = value;
    else put(container.value, container.key, value);
    this.#expected = container === undefined ? 'nothing' : 'comma';
  }
}

function put(container: OpenContainer['value'], key: string, value: JsonValue): void {
  if (Array.isArray(container)) container.push(value);
  else setOwn(container, key, value);
}
