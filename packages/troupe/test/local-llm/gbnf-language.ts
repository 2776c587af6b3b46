/**
 * The language of a grammar in llama.cpp's notation, as far as ours use it: tells whether a text is in it, and
 * draws texts from it. Written from the notation, not from the code that makes the grammars.
 */

type Expression =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'class';
      readonly isNegated: boolean;
      readonly ranges: readonly (readonly [number, number])[];
    }
  | { readonly type: 'rule'; readonly name: string }
  | { readonly type: 'sequence'; readonly parts: readonly Expression[] }
  | { readonly type: 'choice'; readonly parts: readonly Expression[] }
  | { readonly type: 'repeat'; readonly part: Expression; readonly min: number; readonly max: number };

export type Grammar = ReadonlyMap<string, Expression>;

/** A grammar that counts further makes llama.cpp slow. */
const MAX_COUNT = 256;

/** @throws Error if the grammar is malformed, a rule is missing or defined twice, or begins with itself. */
export function readGrammar(text: string): Grammar {
  const rules = new Map<string, Expression>();
  for (const line of text.split('\n')) {
    const [, name = '', body = ''] = /^([a-z][a-z0-9-]*) ::= (.*)$/.exec(line) ?? [];
    if (name === '' || rules.has(name)) throw new Error(`not a new rule: ${line}`);
    rules.set(name, new ExpressionReader(body).whole());
  }
  for (const rule of rules.values()) for (const name of namesIn(rule)) expressionOf(rules, name);
  for (const name of rules.keys()) {
    if (beginnings(rules, name).has(name)) throw new Error(`${name} begins with itself`);
  }
  return rules;
}

export function admits(grammar: Grammar, text: string): boolean {
  const characters = [...text];
  return endsOf(grammar, { type: 'rule', name: 'root' }, characters, new Set([0])).has(characters.length);
}

/** @param draw a number from 0 to below the one given */
export function sampleOf(grammar: Grammar, draw: (below: number) => number): string {
  let size = 0;
  const write = (expression: Expression, depth: number): string => {
    size++;
    const isLong = size > 400 || depth > 30;
    switch (expression.type) {
      case 'text':
        return expression.text;
      case 'class':
        return String.fromCodePoint(characterOf(expression, draw));
      case 'rule':
        return write(expressionOf(grammar, expression.name), depth + 1);
      case 'sequence':
        return expression.parts.map((part) => write(part, depth)).join('');
      case 'choice': {
        const { parts } = expression;
        const part = parts[isLong ? parts.length - 1 : draw(parts.length)]; // the last one of ours always ends
        return part === undefined ? '' : write(part, depth + 1);
      }
      case 'repeat': {
        const { part, min, max } = expression;
        const count = isLong ? min : min + draw(Math.min(max - min, 3) + 1);
        return Array.from({ length: count }, () => write(part, depth + 1)).join('');
      }
    }
  };
  return write({ type: 'rule', name: 'root' }, 0);
}

/** All places at which an expression can end, if it begins at one of the given ones. */
function endsOf(
  grammar: Grammar,
  expression: Expression,
  text: readonly string[],
  starts: Set<number>,
): Set<number> {
  if (starts.size === 0) return starts;
  switch (expression.type) {
    case 'text': {
      const wanted = [...expression.text];
      const fits = [...starts].filter((at) => wanted.every((char, i) => text[at + i] === char));
      return new Set(fits.map((at) => at + wanted.length));
    }
    case 'class':
      return new Set([...starts].filter((at) => isIn(expression, text[at])).map((at) => at + 1));
    case 'rule':
      return endsOf(grammar, expressionOf(grammar, expression.name), text, starts);
    case 'sequence':
      return expression.parts.reduce((ends, part) => endsOf(grammar, part, text, ends), starts);
    case 'choice':
      return new Set(expression.parts.flatMap((part) => [...endsOf(grammar, part, text, starts)]));
    case 'repeat': {
      const ends = new Set(expression.min === 0 ? starts : []);
      let current = starts;
      for (let count = 1; count <= expression.max && current.size > 0; count++) {
        const next = endsOf(grammar, expression.part, text, current);
        current = new Set([...next].filter((at) => count <= expression.min || !ends.has(at)));
        if (count >= expression.min) for (const at of current) ends.add(at);
      }
      return ends;
    }
  }
}

function expressionOf(grammar: Grammar, name: string): Expression {
  const expression = grammar.get(name);
  if (expression === undefined) throw new Error(`there is no rule ${name}`);
  return expression;
}

function namesIn(expression: Expression): string[] {
  if (expression.type === 'rule') return [expression.name];
  if (expression.type === 'repeat') return namesIn(expression.part);
  return 'parts' in expression ? expression.parts.flatMap(namesIn) : [];
}

/** The rules that a rule can begin with. */
function beginnings(grammar: Grammar, start: string): Set<string> {
  const found = new Set<string>();
  const visit = (expression: Expression): boolean => {
    switch (expression.type) {
      case 'text':
        return expression.text === '';
      case 'class':
        return false;
      case 'rule': {
        if (found.has(expression.name)) return false;
        found.add(expression.name);
        return visit(expressionOf(grammar, expression.name));
      }
      case 'sequence':
        return expression.parts.every(visit);
      case 'choice':
        return expression.parts.map(visit).some(Boolean);
      case 'repeat':
        return visit(expression.part) || expression.min === 0;
    }
  };
  visit(expressionOf(grammar, start));
  return found;
}

function isIn(
  { isNegated, ranges }: Extract<Expression, { type: 'class' }>,
  char: string | undefined,
): boolean {
  const code = char?.codePointAt(0);
  return code !== undefined && ranges.some(([low, high]) => code >= low && code <= high) !== isNegated;
}

const SAMPLES = Array.from('aZ09 "\\/{}[],:é😀\u007f', (char) => char.codePointAt(0) ?? 0);

function characterOf(
  expression: Extract<Expression, { type: 'class' }>,
  draw: (below: number) => number,
): number {
  if (expression.isNegated) {
    const fitting = SAMPLES.filter((code) => isIn(expression, String.fromCodePoint(code)));
    return fitting[draw(fitting.length)] ?? 0;
  }
  const [low, high] = expression.ranges[draw(expression.ranges.length)] ?? [0, 0];
  return low + draw(high - low + 1);
}

class ExpressionReader {
  #at = 0;

  constructor(readonly text: string) {}

  whole(): Expression {
    const expression = this.#choice();
    if (this.#at < this.text.length)
      throw new Error(`unexpected ${this.text.slice(this.#at)} in ${this.text}`);
    return expression;
  }

  #choice(): Expression {
    const parts = [this.#sequence()];
    while (this.#takes('|')) parts.push(this.#sequence());
    return parts.length === 1 ? (parts[0] as Expression) : { type: 'choice', parts };
  }

  #sequence(): Expression {
    const parts: Expression[] = [];
    this.#skipSpace();
    while (this.#at < this.text.length && !'|)'.includes(this.text.charAt(this.#at))) {
      parts.push(this.#repeated(this.#single()));
      this.#skipSpace();
    }
    return { type: 'sequence', parts };
  }

  #single(): Expression {
    if (this.#takes('(')) {
      const inner = this.#choice();
      if (!this.#takes(')')) throw new Error(`missing ) in ${this.text}`);
      return inner;
    }
    if (this.#takes('"')) return { type: 'text', text: this.#literal() };
    if (this.#takes('[')) return this.#class();
    const name = this.#match(/[a-z][a-z0-9-]*/y);
    if (name === undefined) throw new Error(`unexpected ${this.text.slice(this.#at)} in ${this.text}`);
    return { type: 'rule', name };
  }

  #repeated(part: Expression): Expression {
    const mark = this.#match(/[*+?]|\{\d+(,\d*)?\}/y);
    if (mark === undefined) return part;
    if (mark === '*') return { type: 'repeat', part, min: 0, max: Infinity };
    if (mark === '+') return { type: 'repeat', part, min: 1, max: Infinity };
    if (mark === '?') return { type: 'repeat', part, min: 0, max: 1 };
    const [, low = '', comma, high = ''] = /(\d+)(,?)(\d*)/.exec(mark) ?? [];
    const max = comma === '' ? Number(low) : high === '' ? Infinity : Number(high);
    if (Number(low) > MAX_COUNT || (max > MAX_COUNT && max < Infinity))
      throw new Error(`too much to count: ${mark}`);
    return { type: 'repeat', part, min: Number(low), max };
  }

  #literal(): string {
    let text = '';
    while (!this.#takesRaw('"')) text += String.fromCodePoint(this.#character());
    return text;
  }

  #class(): Expression {
    const isNegated = this.#takesRaw('^');
    const ranges: [number, number][] = [];
    while (!this.#takesRaw(']')) {
      const low = this.#character();
      const isRange = this.text[this.#at] === '-' && this.text[this.#at + 1] !== ']';
      if (isRange) this.#at++;
      ranges.push([low, isRange ? this.#character() : low]);
    }
    return { type: 'class', isNegated, ranges };
  }

  #character(): number {
    if (this.#at >= this.text.length) throw new Error(`unclosed in ${this.text}`);
    const escaped = this.#match(/\\(x[0-9A-Fa-f]{2}|["\\nrt[\]])/y);
    if (escaped?.startsWith('\\x')) return Number.parseInt(escaped.slice(2), 16);
    if (escaped !== undefined) {
      const char = escaped.charAt(1);
      return ({ n: '\n', r: '\r', t: '\t' }[char] ?? char).codePointAt(0) ?? 0;
    }
    if (this.text[this.#at] === '\\') throw new Error(`unknown escape in ${this.text}`);
    const code = this.text.codePointAt(this.#at) ?? 0;
    this.#at += String.fromCodePoint(code).length;
    return code;
  }

  #takes(char: string): boolean {
    this.#skipSpace();
    return this.#takesRaw(char);
  }

  #takesRaw(char: string): boolean {
    const takes = this.text[this.#at] === char;
    if (takes) this.#at++;
    return takes;
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const [found] = pattern.exec(this.text) ?? [];
    this.#at += found?.length ?? 0;
    return found;
  }

  #skipSpace(): void {
    this.#match(/ */y);
  }
}
