/** Arithmetic found in a sentence. */
export interface Arithmetic {
  /** In plain symbols, e.g. `12 * (3 + 4)`. */
  readonly expression: string;
  /** The numbers of an expression without brackets, in order; else none. */
  readonly operands: readonly number[];
  readonly operators: readonly string[];
}

// Every alternative is linear: no two match the same text.
const TOKEN =
  /(?<date>\d{4}-\d\d-\d\d(?!\d))|(?<number>\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)|(?<times>[xX](?=\s*\d))|(?<word>[A-Za-z_][\w./-]*)|(?<symbol>\*\*|\S)/gu;

const SYMBOLS: Readonly<Record<string, string>> = {
  '+': '+',
  '-': '-',
  '−': '-',
  '–': '-',
  '*': '*',
  '×': '*',
  '·': '*',
  '/': '/',
  '÷': '/',
  '^': '^',
  '**': '^',
  '%': '%',
  '(': '(',
  ')': ')',
};

const WORDS: Readonly<Record<string, string>> = {
  plus: '+',
  minus: '-',
  times: '*',
  multiplied: '*',
  divided: '/',
  mod: '%',
  modulo: '%',
  percent: '%',
};

/** Splits a sentence into tokens of arithmetic; `undefined` stands for anything else. */
export function arithmeticTokens(text: string): readonly (string | undefined)[] {
  const tokens: (string | undefined)[] = [];
  for (const { groups = {} } of text.matchAll(TOKEN)) {
    const { number, times, word, symbol } = groups;
    const last = tokens.at(-1);
    if (number !== undefined) tokens.push(number.replaceAll(',', ''));
    else if (times !== undefined) tokens.push('*');
    else if (word === 'by' && (last === '*' || last === '/')) continue;
    else if (word === 'of' && last === '%') tokens.splice(-1, 1, '/', '100', '*');
    else if (word !== undefined) tokens.push(own(WORDS, word.toLowerCase()));
    else tokens.push(symbol === undefined ? undefined : own(SYMBOLS, symbol));
  }
  return tokens;
}

/** Finds the first expression with at least one operator. Reads each token once. */
export function findArithmetic(text: string): Arithmetic | undefined {
  let scan = new Scan();
  for (const token of arithmeticTokens(text)) {
    if (scan.take(token)) continue;
    if (scan.found) return scan.found;
    scan = new Scan();
    scan.take(token);
  }
  return scan.found;
}

/** Follows an expression from its start, and remembers the longest complete part. */
class Scan {
  #whole: { readonly text: number; readonly operands: number; readonly operators: number } | undefined;
  #text = '';
  #depth = 0;
  #hasBrackets = false;
  #sign = '';
  #wantsOperand = true;
  readonly #operands: number[] = [];
  readonly #operators: string[] = [];

  /** Longest complete expression so far with an operator. */
  get found(): Arithmetic | undefined {
    if (this.#whole === undefined) return undefined;
    const { text, operands, operators } = this.#whole;
    return {
      expression: this.#text.slice(0, text),
      operands: this.#hasBrackets ? [] : this.#operands.slice(0, operands),
      operators: this.#operators.slice(0, operators),
    };
  }

  /** Returns false if the token can't come here: the expression is over. */
  take(token: string | undefined): boolean {
    if (token === undefined) return false;
    return this.#wantsOperand ? this.#takeOperand(token) : this.#takeOperator(token);
  }

  #takeOperand(token: string): boolean {
    if (token === '-' || token === '+') {
      if (this.#sign !== '') return false;
      this.#sign = token;
      return true;
    }
    if (token === '(') {
      this.#depth++;
      this.#hasBrackets = true;
      this.#text += `${this.#takeSign()}(`;
      return true;
    }
    if (!isNumber(token)) return false;
    const number = `${this.#takeSign()}${token}`;
    this.#text += number;
    this.#operands.push(Number(number));
    this.#wantsOperand = false;
    this.#note();
    return true;
  }

  #takeOperator(token: string): boolean {
    if (token === ')') {
      if (this.#depth === 0) return false;
      this.#depth--;
      this.#text += ')';
      this.#note();
      return true;
    }
    if (token === '(' || isNumber(token)) return false;
    this.#operators.push(token);
    this.#text += ` ${token} `;
    this.#wantsOperand = true;
    return true;
  }

  #takeSign(): string {
    const sign = this.#sign === '-' ? '-' : '';
    this.#sign = '';
    return sign;
  }

  #note(): void {
    if (this.#depth > 0 || this.#operators.length === 0) return;
    this.#whole = {
      text: this.#text.length,
      operands: this.#operands.length,
      operators: this.#operators.length,
    };
  }
}

export function isNumber(token: string): boolean {
  return /^[\d.]/.test(token);
}

function own(table: Readonly<Record<string, string>>, key: string): string | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}
