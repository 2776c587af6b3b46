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

/** Stands in a word for what is not known. It is in no text that is read. */
export const HOLE = '\u0000';

/** A word while it is read. */
export class WordDraft {
  #text = '';
  #hasHole = false;
  #hasWildcard = false;
  #mayBeFlag = false;

  add(text: string): void {
    this.#text += text;
  }

  addWildcard(char: string): void {
    this.#open();
    this.#hasWildcard = true;
    this.#text += char;
  }

  /** @param splits whether it may become several words */
  addHole(splits: boolean, text = HOLE): void {
    this.#open();
    this.#hasHole = true;
    this.#mayBeFlag ||= splits;
    this.#text += text;
  }

  /** Something that is not known begins: what comes before it decides whether the word can be an option. */
  #open(): void {
    if (this.#text === '' || this.#text.startsWith('-')) this.#mayBeFlag = true;
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
