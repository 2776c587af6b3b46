/** One word of a command, without quotes. */
export interface ShellWord {
  /** Parts only known at run time are `UNKNOWN`; wildcards stay. */
  readonly text: string;
  /** True if a variable, a substitution or braces change the word at run time. */
  readonly hasUnknown: boolean;
  /** True if the word is exactly its text. */
  readonly isLiteral: boolean;
  /** True if the word may become an option, or several words. */
  readonly mayBeFlag: boolean;
}

export interface ShellAssignment {
  readonly name: string;
  readonly value: ShellWord;
}

/** A simple command. May have no words, as in `> file`. */
export interface ShellCommand {
  readonly assignments: ShellAssignment[];
  readonly words: ShellWord[];
  /** Files read by redirections. */
  readonly reads: ShellWord[];
  /** Files written by redirections. */
  readonly writes: ShellWord[];
}

export interface ShellScript {
  /** Every simple command, also in branches that may not run. */
  readonly commands: readonly ShellCommand[];
  /**
   * Index of the first command that may get input from the text: by a pipe, a redirection or a here-document. All later ones
   * may, too. `Infinity` for none.
   */
  readonly firstFed: number;
  /** Names of the functions that the text defines. */
  readonly functions: readonly string[];
  /** Reason why the list may be incomplete; undefined if it is complete. */
  readonly problem: string | undefined;
}

/** Placeholder for an unknown part of a word. Never part of a parsed text. */
export const UNKNOWN = '\u0000';

/** Builder of a word during parsing. */
export class WordDraft {
  #text = '';
  #hasUnknown = false;
  #hasWildcard = false;
  #mayBeFlag = false;
  /** First character, stored because reading it from a growing text would be slow. */
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

  /** @param splits true if the part may become several words */
  addUnknown(splits: boolean, text = UNKNOWN): void {
    this.#open();
    this.#hasUnknown = true;
    this.#mayBeFlag ||= splits;
    this.add(text);
  }

  /** Before an unknown part, the first character decides whether the word can be an option. */
  #open(): void {
    if (this.#first === '' || this.#first === '-') this.#mayBeFlag = true;
  }

  finish(): ShellWord {
    if (this.#text === '[' || this.#text === '[[') return literalWord(this.#text);
    const isLiteral = !this.#hasUnknown && !this.#hasWildcard;
    return { text: this.#text, hasUnknown: this.#hasUnknown, isLiteral, mayBeFlag: this.#mayBeFlag };
  }
}

export function literalWord(text: string): ShellWord {
  return { text, hasUnknown: false, isLiteral: true, mayBeFlag: false };
}

export const NO_WORD: ShellWord = literalWord('');

/** Any number of unknown words. */
export const UNKNOWN_WORD: ShellWord = { text: UNKNOWN, hasUnknown: true, isLiteral: false, mayBeFlag: true };
