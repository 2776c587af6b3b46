import { readPattern, type PatternNode } from './pattern-reader.ts';
import { badPattern } from './file-system-error.ts';

export interface LinePatternOptions {
  /** @default false */
  readonly ignoreCase?: boolean | undefined;
}

type Instruction =
  | { readonly op: 'char'; readonly test: (char: string) => boolean }
  | { readonly op: 'fork'; to: number; or: number }
  | { readonly op: 'assert'; readonly what: string }
  | { readonly op: 'match' };

const MAX_PATTERN_CHARS = 1000;
/** Maximum instructions of a compiled pattern, for repetitions such as `{50}`. */
const MAX_INSTRUCTIONS = 2000;
/**
 * Patterns searched with `includes`. Limited in length, because its worst case is the product of both
 * lengths.
 */
const PLAIN = /^[^\\^$.*+?()[\]{}|]{1,100}$/;
const WORD = /^\w$/;

/** State between two characters: the instructions to try next, with cached transitions by character. */
interface State {
  readonly steps: readonly number[];
  /**
   * Representative of the kind (word or other) of the previous character; undefined at the start of the line.
   */
  readonly before: string | undefined;
  readonly transitions: Map<string, State>;
}

const END = '';
const FOUND: State = { steps: [], before: undefined, transitions: new Map() };
const NOT_FOUND: State = { steps: [], before: undefined, transitions: new Map() };
/** Maximum cached transitions before the cache is cleared. */
const MAX_CACHED = 100_000;
/** Work after which `search` yields. Computing a transition tests every active instruction. */
const WORK_PER_YIELD = 100_000;
const WORK_OF_INSTRUCTION = 10;

/**
 * Regular expression for lines with linear running time: follows all alternatives at once without
 * backtracking. Supports JavaScript's syntax without back-references and lookarounds; single characters are
 * tested by JavaScript's own engine.
 */
export class LinePattern {
  readonly #plain: string | undefined;
  readonly #program: readonly Instruction[];
  /** Generation in which each instruction was added last. */
  readonly #added: number[];
  readonly #states = new Map<string, State>();
  #generation = 0;
  #cachedCount = 0;
  #work = 0;

  /** @throws FileSystemError if the pattern is invalid or too large */
  constructor(pattern: string, { ignoreCase = false }: LinePatternOptions = {}) {
    if (pattern === '') throw badPattern('is empty.');
    if (pattern.length > MAX_PATTERN_CHARS)
      throw badPattern(`is longer than ${MAX_PATTERN_CHARS} characters.`);
    this.#plain = !ignoreCase && PLAIN.test(pattern) ? pattern : undefined;
    this.#program = compile(readPattern(pattern, ignoreCase));
    this.#added = this.#program.map(() => -1);
  }

  test(line: string): boolean {
    const search = this.search(line);
    let step = search.next();
    while (!step.done) step = search.next();
    return step.value;
  }

  /** Like `test`, but yields the amount of work at regular intervals. */
  *search(line: string): Generator<number, boolean, undefined> {
    if (this.#plain !== undefined) return line.includes(this.#plain);
    let state = this.#stateOf([], undefined);
    this.#work = 0;
    for (const char of line) {
      state = state.transitions.get(char) ?? this.#transition(state, char);
      if (state === FOUND) return true;
      if (++this.#work < WORK_PER_YIELD) continue;
      yield this.#work;
      this.#work = 0;
    }
    return (state.transitions.get(END) ?? this.#transition(state, END)) === FOUND;
  }

  /** Computes and caches a transition. */
  #transition(state: State, char: string): State {
    this.#cachedCount += state.steps.length + 1;
    this.#work += (state.steps.length + 1) * WORK_OF_INSTRUCTION;
    if (this.#cachedCount > MAX_CACHED) {
      this.#states.clear();
      this.#cachedCount = 0;
    }
    const next = this.#next(state, char);
    state.transitions.set(char, next);
    return next;
  }

  #next({ steps, before }: State, char: string): State {
    this.#generation++;
    const here: number[] = [];
    const after = char === END ? undefined : char;
    // A match may begin anywhere, so the first instruction is always tried.
    for (const step of [...steps, 0]) if (this.#add(step, before, after, here)) return FOUND;
    if (char === END) return NOT_FOUND;
    const taken = here.filter((index) => this.#takes(index, char)).map((index) => index + 1);
    return this.#stateOf(taken, isWord(char) ? 'a' : ' ');
  }

  #stateOf(steps: readonly number[], before: string | undefined): State {
    const key = `${before}${steps.join()}`;
    let state = this.#states.get(key);
    if (state === undefined) {
      state = { steps, before, transitions: new Map() };
      this.#states.set(key, state);
    }
    return state;
  }

  #takes(index: number, char: string): boolean {
    const step = this.#program[index];
    return step?.op === 'char' && step.test(char);
  }

  /** Collects the character instructions reachable from `start`. @returns true on a match */
  #add(start: number, before: string | undefined, after: string | undefined, found: number[]): boolean {
    const pending = [start];
    for (let index = pending.pop(); index !== undefined; index = pending.pop()) {
      if (this.#added[index] === this.#generation) continue;
      this.#added[index] = this.#generation;
      const step = this.#program[index];
      if (step?.op === 'match') return true;
      if (step?.op === 'char') found.push(index);
      if (step?.op === 'fork') pending.push(step.or, step.to);
      if (step?.op === 'assert' && holds(step.what, before, after)) pending.push(index + 1);
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

function compile(pattern: PatternNode): readonly Instruction[] {
  const steps: Instruction[] = [];

  function push<S extends Instruction>(step: S): S {
    if (steps.length >= MAX_INSTRUCTIONS) throw badPattern('repeats too much. Use smaller numbers in {}.');
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
      if (steps.length === before) return; // repeating an empty pattern adds nothing
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
