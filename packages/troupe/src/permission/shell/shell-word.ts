/** One word of a command, without its quotes. */
export interface ShellWord {
  /** What only the shell knows when it runs is a `HOLE`; wildcards stay as they are. */
  readonly text: string;
  /** Whether a variable, a substitution or braces make it something else. */
  readonly hasHole: boolean;
  /** Whether it is exactly its text. */
  readonly isLiteral: boolean;
  /** Whether it may turn into an option, or into several words of any kind. */
  readonly mayBeFlag: boolean;
}

export interface ShellAssignment {
  readonly name: string;
  readonly value: ShellWord;
}

/** A simple command: the only thing that a shell runs. It may have no words, as in `> file`. */
export interface ShellCommand {
  readonly assignments: ShellAssignment[];
  readonly words: ShellWord[];
  /** Files that redirections read. */
  readonly reads: ShellWord[];
  /** Files that redirections write. */
  readonly writes: ShellWord[];
}

export interface ShellScript {
  /** Every simple command in it, wherever it stands, whether it will be reached or not. */
  readonly commands: readonly ShellCommand[];
  /** Why there may be others; undefined if these are all. */
  readonly problem: string | undefined;
}

/** Stands in a word for what is not known. It is in no text that is read. */
export const HOLE = '\u0000';

/** A word while it is read. */
export class WordDraft {
  #text = '';
  #hasHole = false;
  #hasWildcard = false;
  #mayBeFlag = false;
  /** What it begins with. To look that up in a text that grows would cost its length each time. */
  #first = '';

  add(text: string): void {
    this.#first ||= text.slice(0, 1);
    this.#text += text;
  }

  addWildcard(char: string): void {
    this.#open();
    this.#hasWildcard = true;
    this.add(char);
  }

  /** @param splits whether it may become several words */
  addHole(splits: boolean, text = HOLE): void {
    this.#open();
    this.#hasHole = true;
    this.#mayBeFlag ||= splits;
    this.add(text);
  }

  /** Something that is not known begins: what comes before it decides whether the word can be an option. */
  #open(): void {
    if (this.#first === '' || this.#first === '-') this.#mayBeFlag = true;
  }

  finish(): ShellWord {
    if (this.#text === '[' || this.#text === '[[') return literalWord(this.#text);
    const isLiteral = !this.#hasHole && !this.#hasWildcard;
    return { text: this.#text, hasHole: this.#hasHole, isLiteral, mayBeFlag: this.#mayBeFlag };
  }
}

export function literalWord(text: string): ShellWord {
  return { text, hasHole: false, isLiteral: true, mayBeFlag: false };
}

export const NO_WORD: ShellWord = literalWord('');

/** Anything, in any number. */
export const UNKNOWN_WORD: ShellWord = { text: HOLE, hasHole: true, isLiteral: false, mayBeFlag: true };
