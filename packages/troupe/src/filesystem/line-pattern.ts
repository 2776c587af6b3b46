import { readPattern, type PatternNode } from './pattern-reader.ts';
import { badPattern } from './file-system-error.ts';

export interface LinePatternOptions {
  /** @default false */
  readonly ignoreCase?: boolean | undefined;
}

type Step =
  | { readonly op: 'char'; readonly test: (char: string) => boolean }
  | { readonly op: 'fork'; to: number; or: number }
  | { readonly op: 'assert'; readonly what: string }
  | { readonly op: 'match' };

const MAX_PATTERN_CHARS = 1000;
/** What repetitions such as `{50}` may grow a pattern to. */
const MAX_STEPS = 2000;
/** What the engine's own search is used for. At worst that takes the product of both lengths, so a long pattern is none of it. */
const PLAIN = /^[^\\^$.*+?()[\]{}|]{1,100}$/;
const WORD = /^\w$/;

/** Between the characters of a line: which steps come next, and what was before. Knows where characters led to. */
interface Place {
  readonly steps: readonly number[];
  /** A character of the kind that came before; none at the beginning. */
  readonly before: string | undefined;
  readonly known: Map<string, Place>;
}

const END = '';
const FOUND: Place = { steps: [], before: undefined, known: new Map() };
const MISSED: Place = { steps: [], before: undefined, known: new Map() };
/** As many steps are remembered, before it is found out anew. */
const MAX_KNOWN = 100_000;
/** How much work is done at once. To find out where a character leads takes a look at every step that it may be. */
const WORK_AT_ONCE = 100_000;
const WORK_OF_STEP = 10;

/**
 * A regular expression that says whether a line has a match, in a time that grows with the line and no faster,
 * whatever the pattern: all ways to match are followed at the same time, and none is ever gone back on. So there are no
 * back-references and no lookarounds. The rest is that of JavaScript, whose own engine decides on single characters.
 */
export class LinePattern {
  readonly #plain: string | undefined;
  readonly #steps: readonly Step[];
  /** When each step was added last. */
  readonly #added: number[];
  readonly #places = new Map<string, Place>();
  #now = 0;
  #known = 0;
  #work = 0;

  /** @throws FileSystemError if it is none, or asks for too much */
  constructor(pattern: string, { ignoreCase = false }: LinePatternOptions = {}) {
    if (pattern === '') throw badPattern('is empty.');
    if (pattern.length > MAX_PATTERN_CHARS)
      throw badPattern(`is longer than ${MAX_PATTERN_CHARS} characters.`);
    this.#plain = !ignoreCase && PLAIN.test(pattern) ? pattern : undefined;
    this.#steps = compile(readPattern(pattern, ignoreCase));
    this.#added = this.#steps.map(() => -1);
  }

  test(line: string): boolean {
    const search = this.search(line);
    let step = search.next();
    while (!step.done) step = search.next();
    return step.value;
  }

  /** The same bit by bit, for whoever must let others in: yields how much work was done, whenever that is a lot. */
  *search(line: string): Generator<number, boolean, undefined> {
    if (this.#plain !== undefined) return line.includes(this.#plain);
    let place = this.#placeOf([], undefined);
    this.#work = 0;
    for (const char of line) {
      place = place.known.get(char) ?? this.#follow(place, char);
      if (place === FOUND) return true;
      if (++this.#work < WORK_AT_ONCE) continue;
      yield this.#work;
      this.#work = 0;
    }
    return (place.known.get(END) ?? this.#follow(place, END)) === FOUND;
  }

  /** Where a character leads, which is then known. */
  #follow(place: Place, char: string): Place {
    this.#known += place.steps.length + 1;
    this.#work += (place.steps.length + 1) * WORK_OF_STEP;
    if (this.#known > MAX_KNOWN) {
      this.#places.clear();
      this.#known = 0;
    }
    const next = this.#next(place, char);
    place.known.set(char, next);
    return next;
  }

  #next({ steps, before }: Place, char: string): Place {
    this.#now++;
    const here: number[] = [];
    const after = char === END ? undefined : char;
    // A match may begin anywhere, so the first step is always among those that are tried.
    for (const step of [...steps, 0]) if (this.#add(step, before, after, here)) return FOUND;
    if (char === END) return MISSED;
    const taken = here.filter((index) => this.#takes(index, char)).map((index) => index + 1);
    return this.#placeOf(taken, isWord(char) ? 'a' : ' ');
  }

  #placeOf(steps: readonly number[], before: string | undefined): Place {
    const key = `${before}${steps.join()}`;
    let place = this.#places.get(key);
    if (place === undefined) {
      place = { steps, before, known: new Map() };
      this.#places.set(key, place);
    }
    return place;
  }

  #takes(index: number, char: string): boolean {
    const step = this.#steps[index];
    return step?.op === 'char' && step.test(char);
  }

  /** Collects the characters that may come next from a step on. @returns whether it is a match already */
  #add(start: number, before: string | undefined, after: string | undefined, found: number[]): boolean {
    const waiting = [start];
    for (let index = waiting.pop(); index !== undefined; index = waiting.pop()) {
      if (this.#added[index] === this.#now) continue;
      this.#added[index] = this.#now;
      const step = this.#steps[index];
      if (step?.op === 'match') return true;
      if (step?.op === 'char') found.push(index);
      if (step?.op === 'fork') waiting.push(step.or, step.to);
      if (step?.op === 'assert' && holds(step.what, before, after)) waiting.push(index + 1);
    }
    return false;
  }
}

function holds(what: string, before: string | undefined, after: string | undefined): boolean {
  if (what === '^') return before === undefined;
  if (what === '$') return after === undefined;
  const isEdge = isWord(before) !== isWord(after);
  return what === '\\b' ? isEdge : !isEdge;
}

function isWord(char: string | undefined): boolean {
  return char !== undefined && WORD.test(char);
}

function compile(pattern: PatternNode): readonly Step[] {
  const steps: Step[] = [];

  function push<S extends Step>(step: S): S {
    if (steps.length >= MAX_STEPS) throw badPattern('repeats too much. Use smaller numbers in {}.');
    steps.push(step);
    return step;
  }
  const fork = () => push({ op: 'fork', to: steps.length + 1, or: 0 });

  function add(node: PatternNode): void {
    switch (node.op) {
      case 'char':
      case 'assert':
        push(node);
        return;
      case 'all':
        node.of.forEach(add);
        return;
      case 'any':
        return addAny(node.of);
      case 'repeat':
        return addRepeat(node);
    }
  }

  function addAny(ways: readonly PatternNode[]): void {
    const exits = ways.slice(0, -1).map((way) => {
      const choice = fork();
      add(way);
      const exit = fork();
      choice.or = steps.length;
      return exit;
    });
    ways.slice(-1).forEach(add);
    for (const exit of exits) exit.to = exit.or = steps.length;
  }

  function addRepeat({ of, min, max }: PatternNode & { op: 'repeat' }): void {
    for (let count = 0; count < min; count++) {
      const before = steps.length;
      add(of);
      if (steps.length === before) return; // nothing stays nothing, however often it is repeated
    }
    if (max === Infinity) {
      const start = steps.length;
      const choice = fork();
      add(of);
      Object.assign(fork(), { to: start, or: start });
      choice.or = steps.length;
      return;
    }
    const choices: { or: number }[] = [];
    for (let count = min; count < max; count++) {
      choices.push(fork());
      add(of);
    }
    for (const choice of choices) choice.or = steps.length;
  }

  add(pattern);
  push({ op: 'match' });
  return steps;
}
