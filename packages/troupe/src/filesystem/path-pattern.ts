import { badPattern } from './file-system-error.ts';

const MAX_PATTERN_CHARS = 1000;
const MAX_CHOICES = 100;
/** What all choices together may have: each of them may be compared with each name. */
const MAX_PARTS = 1000;
const CHOICE = /\{([^{}]*,[^{}]*)\}/;
const ANY_FOLDERS = '**';
/** What a comparison takes besides that of the characters, in their number. */
const WORK_OF_COMPARISON = 100;

/**
 * A glob: `*` and `?` stand for characters of a name, `**` for any number of folders, `{a,b}` for either. Everything
 * else, brackets included, stands for itself, and a dot at the beginning of a name is a character as any other.
 */
export class PathPattern {
  /** Where a search begins. */
  readonly start: PathProgress;

  /** @throws FileSystemError if it is too long, or stands for too many others */
  constructor(pattern: string) {
    if (pattern === '') throw badPattern('is empty.');
    if (pattern.length > MAX_PATTERN_CHARS)
      throw badPattern(`is longer than ${MAX_PATTERN_CHARS} characters.`);
    const choices = choicesOf(pattern.normalize('NFC')).map(partsOf);
    if (choices.flat().length > MAX_PARTS) throw badPattern('has too many parts in its choices together.');
    this.start = PathProgress.startOf(choices);
  }

  /** Whether a file is meant. @param names the segments of its path, from the folder on in which it is looked for */
  matches(names: readonly string[]): boolean {
    return this.after(names).isMeant;
  }

  /** Whether anything below a folder can be meant. */
  reachesInto(names: readonly string[]): boolean {
    return this.after(names).isOpen;
  }

  after(names: readonly string[]): PathProgress {
    return names.reduce((progress, name) => progress.into(name), this.start);
  }
}

/** How far along a pattern one can be after some names: all ways at the same time. */
export class PathProgress {
  readonly #choices: readonly (readonly string[])[];
  /** Of each choice, how many of its parts may lie behind. */
  readonly #places: readonly ReadonlySet<number>[];
  /** What it took to go the last name further, in characters that were compared. */
  readonly work: number;

  private constructor(
    choices: readonly (readonly string[])[],
    places: readonly ReadonlySet<number>[],
    work = 0,
  ) {
    this.#choices = choices;
    this.#places = places;
    this.work = work;
  }

  static startOf(choices: readonly (readonly string[])[]): PathProgress {
    const places = choices.map((parts) => withSkipped(parts, new Set([0])));
    return new PathProgress(choices, places);
  }

  /** One name further. */
  into(name: string): PathProgress {
    const given = [...name];
    let work = 0;
    const places = this.#choices.map((parts, i) => {
      const next = new Set<number>();
      for (const at of this.#places[i] ?? []) {
        const part = parts[at];
        work += WORK_OF_COMPARISON;
        if (part === ANY_FOLDERS) next.add(at);
        else if (part !== undefined) {
          const { isLike, steps } = compare(part, given);
          if (isLike) next.add(at + 1);
          work += part.length + steps;
        }
      }
      return withSkipped(parts, next);
    });
    return new PathProgress(this.#choices, places, work);
  }

  /** Whether a file of these names is meant. */
  get isMeant(): boolean {
    return this.#choices.some((parts, i) => this.#places[i]?.has(parts.length));
  }

  /** Whether anything below a folder of these names can be meant. */
  get isOpen(): boolean {
    return this.#choices.some((parts, i) => [...(this.#places[i] ?? [])].some((at) => at < parts.length));
  }
}

/** The places, and those behind a `**` that stands for no folder. */
function withSkipped(parts: readonly string[], places: Set<number>): ReadonlySet<number> {
  for (const at of places) if (parts[at] === ANY_FOLDERS) places.add(at + 1); // it is looked at in its turn
  return places;
}

/** What stands between the slashes. Of several `**` in a row one says it all. */
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
    if (next.length > MAX_CHOICES) throw badPattern(`stands for more than ${MAX_CHOICES} others.`);
    if (next.length === open.length) return next;
    open = next;
  }
}

/** Whether a name is as a part says, and how many steps that took. Of several stars only the last one is ever gone back to. */
function compare(
  part: string,
  given: readonly string[],
): { readonly isLike: boolean; readonly steps: number } {
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
      return { isLike: false, steps };
    }
  }
  while (wanted[i] === '*') i++;
  return { isLike: i === wanted.length, steps };
}
