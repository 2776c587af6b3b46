import { badPattern } from './file-system-error.ts';

const MAX_PATTERN_CHARS = 1000;
const MAX_CHOICES = 100;
/** Maximum parts of all alternatives together: each may be compared with each name. */
const MAX_PARTS = 1000;
const CHOICE = /\{([^{}]*,[^{}]*)\}/;
const ANY_FOLDERS = '**';
/** Fixed work of one comparison, in characters. */
const WORK_OF_COMPARISON = 100;

/**
 * Glob: `*` and `?` match characters of a name, `**` any number of folders, `{a,b}` alternatives. All other
 * characters match themselves, including brackets and leading dots.
 */
export class PathPattern {
  /** Progress before the first name. */
  readonly start: PathProgress;

  /** @throws FileSystemError if the pattern is too long or has too many alternatives */
  constructor(pattern: string) {
    if (pattern === '') throw badPattern('is empty.');
    if (pattern.length > MAX_PATTERN_CHARS)
      throw badPattern(`is longer than ${MAX_PATTERN_CHARS} characters.`);
    const choices = choicesOf(pattern.normalize('NFC')).map(partsOf);
    if (choices.flat().length > MAX_PARTS) throw badPattern('has too many parts in its alternatives.');
    this.start = PathProgress.startOf(choices);
  }

  /** True if a file matches. @param names segments of its path, relative to the start folder */
  matches(names: readonly string[]): boolean {
    return this.after(names).isMatch;
  }

  /** True if something below a folder can match. */
  reachesInto(names: readonly string[]): boolean {
    return this.after(names).canContinue;
  }

  after(names: readonly string[]): PathProgress {
    return names.reduce((progress, name) => progress.into(name), this.start);
  }
}

/** Progress of a pattern after some names: all alternatives at once. */
export class PathProgress {
  readonly #choices: readonly (readonly string[])[];
  /** For each alternative, the numbers of parts that may be matched so far. */
  readonly #positions: readonly ReadonlySet<number>[];
  /** Work of the last name, in compared characters. */
  readonly work: number;

  private constructor(
    choices: readonly (readonly string[])[],
    positions: readonly ReadonlySet<number>[],
    work = 0,
  ) {
    this.#choices = choices;
    this.#positions = positions;
    this.work = work;
  }

  static startOf(choices: readonly (readonly string[])[]): PathProgress {
    const positions = choices.map((parts) => withSkipped(parts, new Set([0])));
    return new PathProgress(choices, positions);
  }

  /** Progress after one more name. */
  into(name: string): PathProgress {
    const given = [...name];
    let work = 0;
    const positions = this.#choices.map((parts, i) => {
      const next = new Set<number>();
      for (const at of this.#positions[i] ?? []) {
        const part = parts[at];
        work += WORK_OF_COMPARISON;
        if (part === ANY_FOLDERS) next.add(at);
        else if (part !== undefined) {
          const { isEqual, steps } = compare(part, given);
          if (isEqual) next.add(at + 1);
          work += part.length + steps;
        }
      }
      return withSkipped(parts, next);
    });
    return new PathProgress(this.#choices, positions, work);
  }

  /** True if a file with these names matches. */
  get isMatch(): boolean {
    return this.#choices.some((parts, i) => this.#positions[i]?.has(parts.length));
  }

  /** True if something below a folder with these names can match. */
  get canContinue(): boolean {
    return this.#choices.some((parts, i) => [...(this.#positions[i] ?? [])].some((at) => at < parts.length));
  }
}

/** Adds the positions after each `**` that matches no folder. */
function withSkipped(parts: readonly string[], positions: Set<number>): ReadonlySet<number> {
  // Iteration includes added positions.
  for (const at of positions) if (parts[at] === ANY_FOLDERS) positions.add(at + 1);
  return positions;
}

/** Parts between slashes, with repeated `**` merged. */
function partsOf(text: string): readonly string[] {
  const parts = text.split('/').filter(Boolean);
  return parts.filter((part, i) => part !== ANY_FOLDERS || parts[i - 1] !== ANY_FOLDERS);
}

function choicesOf(pattern: string): readonly string[] {
  let open = [pattern];
  for (;;) {
    const next = open.flatMap((text) => {
      const choice = CHOICE.exec(text);
      if (choice === null) return [text];
      const [before, after] = [text.slice(0, choice.index), text.slice(choice.index + choice[0].length)];
      return (choice[1] ?? '').split(',').map((way) => `${before}${way}${after}`);
    });
    if (next.length > MAX_CHOICES) throw badPattern(`has more than ${MAX_CHOICES} alternatives.`);
    if (next.length === open.length) return next;
    open = next;
  }
}

/** Compares a name with a part, and counts steps. Backtracks to the last star only. */
function compare(
  part: string,
  given: readonly string[],
): { readonly isEqual: boolean; readonly steps: number } {
  const wanted = [...part];
  let [i, j, star, resume, steps] = [0, 0, -1, 0, 0];
  for (; j < given.length; steps++) {
    if (wanted[i] === '*') {
      [star, resume] = [i++, j];
    } else if (i < wanted.length && (wanted[i] === '?' || wanted[i] === given[j])) {
      i++;
      j++;
    } else if (star >= 0) {
      i = star + 1;
      j = ++resume;
    } else {
      return { isEqual: false, steps };
    }
  }
  while (wanted[i] === '*') i++;
  return { isEqual: i === wanted.length, steps };
}
