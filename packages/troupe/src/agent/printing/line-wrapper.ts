import { charWidth } from './display-width.ts';

/** Characters of scripts without spaces between words. Wide characters count as such, too. */
const UNSPACED = /^[\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]$/u;
const FIRST_UNSPACED = '\u0e00';
/** Punctuation that never begins a line (closing), or never ends one (opening). */
const CLOSING = /^[\p{Pe}\p{Pf}\p{Po}ー々]$/u;
const OPENING = /^[\p{Ps}\p{Pi}]$/u;
const JOINER = '\u200d';
const TAB_COLUMNS = 8;

/**
 * Breaks text that comes in pieces into lines at word boundaries, as wide as the terminal. The last word is held back
 * until it is complete, so nothing that was written must be moved. The cost of a piece depends on its length alone: at most
 * one line is held back. A word that is wider than a line is broken anywhere.
 */
export class LineWrapper {
  /** Columns that the current line has used. */
  #column = 0;
  /** Spaces after the last word, left out where the line breaks. */
  #spaces = 0;
  #word = '';
  #wordWidth = 0;
  #last = '';
  #lastWidth = 0;

  /** Starts on a line of which some columns are used. */
  start(column: number): void {
    this.#column = column;
    this.#spaces = 0;
    this.#word = '';
    this.#wordWidth = 0;
  }

  /** Takes the next piece, and returns the text that is to be written now. */
  push(text: string, columns: number): string {
    let output = '';
    for (const char of text) {
      if (char === '\n') {
        output += `${this.#placeWord(columns)}\n`;
        this.start(0);
      } else if (char === ' ' || char === '\t') {
        output += this.#placeWord(columns);
        const at = this.#column + this.#spaces;
        this.#spaces = Math.min(
          this.#spaces + (char === ' ' ? 1 : TAB_COLUMNS - (at % TAB_COLUMNS)),
          columns,
        );
      } else {
        const width = charWidth(char);
        if (this.#canBreakBefore(char, width) || this.#wordWidth + width > columns)
          output += this.#placeWord(columns);
        this.#word += char;
        this.#wordWidth += width;
        this.#last = char;
        this.#lastWidth = width;
      }
    }
    return output;
  }

  /** Ends the text, or lets another one come between: returns the word that was held back. */
  flush(columns: number): string {
    return this.#placeWord(columns);
  }

  #canBreakBefore(char: string, width: number): boolean {
    if (this.#word === '' || width === 0 || this.#last === JOINER) return false;
    if (char < FIRST_UNSPACED && this.#last < FIRST_UNSPACED) return false;
    const isBetweenWords =
      width === 2 || this.#lastWidth === 2 || (UNSPACED.test(char) && UNSPACED.test(this.#last));
    return isBetweenWords && !CLOSING.test(char) && !OPENING.test(this.#last);
  }

  #placeWord(columns: number): string {
    if (this.#word === '') return '';
    const word = this.#word;
    const indentation =
      this.#column === 0 ? Math.min(this.#spaces, Math.max(columns - this.#wordWidth, 0)) : this.#spaces;
    const end = this.#column + indentation + this.#wordWidth;
    const fits = this.#column === 0 || end <= columns;
    const output = fits ? ' '.repeat(indentation) + word : `\n${word}`;
    this.start(fits ? end : this.#wordWidth);
    return output;
  }
}
