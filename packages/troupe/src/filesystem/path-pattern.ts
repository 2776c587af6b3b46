import { badPattern } from './file-system-error.ts';

const MAX_PATTERN_CHARS = 1000;
const MAX_CHOICES = 100;
const CHOICE = /\{([^{}]*,[^{}]*)\}/;

/**
 * A glob: `*` and `?` stand for characters of a name, `**` for any number of folders, `{a,b}` for either. Everything
 * else, brackets included, stands for itself, and a dot at the beginning of a name is a character as any other.
 */
export class PathPattern {
  readonly #choices: readonly (readonly string[])[];

  /** @throws FileSystemError if it is too long, or stands for too many others */
  constructor(pattern: string) {
    if (pattern === '') throw badPattern('is empty.');
    if (pattern.length > MAX_PATTERN_CHARS)
      throw badPattern(`is longer than ${MAX_PATTERN_CHARS} characters.`);
    this.#choices = choicesOf(pattern.normalize('NFC')).map((text) => text.split('/').filter(Boolean));
  }

  /** Whether a file is meant. @param names the segments of its path, from the folder on in which it is looked for */
  matches(names: readonly string[]): boolean {
    return this.#choices.some((parts) => follow(parts, names).has(parts.length));
  }

  /** Whether anything below a folder can be meant. */
  reachesInto(names: readonly string[]): boolean {
    return this.#choices.some((parts) => [...follow(parts, names)].some((at) => at < parts.length));
  }
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

/** How far along the parts one can be after the names; all ways at the same time. */
function follow(parts: readonly string[], names: readonly string[]): ReadonlySet<number> {
  let places = new Set<number>();
  const add = (at: number, to: Set<number>): void => {
    to.add(at);
    if (parts[at] === '**') add(at + 1, to);
  };
  add(0, places);
  for (const name of names) {
    const next = new Set<number>();
    for (const at of places) {
      const part = parts[at];
      if (part === '**') add(at, next);
      else if (part !== undefined && isLike(part, name)) add(at + 1, next);
    }
    places = next;
  }
  return places;
}

/** Whether a name is as a part says. Of several stars only the last one is ever gone back to. */
function isLike(part: string, name: string): boolean {
  const [wanted, given] = [[...part], [...name]];
  let [i, j, star, resume] = [0, 0, -1, 0];
  while (j < given.length) {
    if (wanted[i] === '*') {
      [star, resume] = [i++, j];
    } else if (i < wanted.length && (wanted[i] === '?' || wanted[i] === given[j])) {
      i++;
      j++;
    } else if (star >= 0) {
      i = star + 1;
      j = ++resume;
    } else {
      return false;
    }
  }
  while (wanted[i] === '*') i++;
  return i === wanted.length;
}
