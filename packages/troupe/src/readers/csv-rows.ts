const DELIMITERS = [',', ';', '\t', '|'];

/** The delimiter that separates most cells of the first line, outside of quotes. */
export function delimiterOf(text: string): string {
  const line =
    text
      .slice(0, 10_000)
      .replace(/"(?:[^"]|"")*"/g, '')
      .split(/\r?\n/, 1)[0] ?? '';
  const counts = DELIMITERS.map((delimiter) => line.split(delimiter).length);
  return DELIMITERS[counts.indexOf(Math.max(...counts))] ?? ',';
}

/**
 * Reads rows of comma-separated values piece by piece, in linear time. Quoted cells may contain delimiters, line
 * ends and doubled quotes. A quote that never ends takes the rest as its cell.
 */
export class CsvRows {
  readonly #delimiter: string;
  #cells: string[] = [];
  #cell: string[] = [];
  #isQuoted = false;
  /** The piece so far ended with a quote inside of a quoted cell: it closes the cell, or is half of a doubled one. */
  #sawQuote = false;
  #sawReturn = false;

  constructor(delimiter: string) {
    this.#delimiter = delimiter;
  }

  /** Rows that the piece completes. */
  *read(piece: string): Generator<readonly string[]> {
    let start = 0;
    for (let at = 0; at < piece.length; at++) {
      const char = piece.charAt(at);
      if (this.#sawQuote) {
        this.#sawQuote = false;
        if (char === '"') {
          this.#cell.push('"');
          start = at + 1;
          continue;
        }
        this.#isQuoted = false;
        start = at;
      }
      if (this.#isQuoted) {
        if (char !== '"') continue;
        this.#cell.push(piece.slice(start, at));
        this.#sawQuote = true;
        start = at + 1;
        continue;
      }
      const isLineFeedOfPair = char === '\n' && this.#sawReturn;
      this.#sawReturn = char === '\r';
      if (isLineFeedOfPair) {
        start = at + 1;
      } else if (char === '"' && at === start && this.#cell.length === 0) {
        this.#isQuoted = true;
        start = at + 1;
      } else if (char === this.#delimiter) {
        this.#endCell(piece.slice(start, at));
        start = at + 1;
      } else if (char === '\n' || char === '\r') {
        this.#endCell(piece.slice(start, at));
        start = at + 1;
        yield this.#takeRow();
      }
    }
    if (!this.#sawQuote && start < piece.length) this.#cell.push(piece.slice(start));
  }

  /** The row after the last line end, if there is one. */
  *end(): Generator<readonly string[]> {
    if (this.#cells.length === 0 && this.#cell.length === 0) return;
    this.#endCell('');
    yield this.#takeRow();
  }

  #endCell(rest: string): void {
    this.#cells.push([...this.#cell, rest].join(''));
    this.#cell = [];
  }

  #takeRow(): readonly string[] {
    const row = this.#cells;
    this.#cells = [];
    return row;
  }
}

/** All rows of a text. */
export function csvRows(text: string): readonly (readonly string[])[] {
  const rows = new CsvRows(delimiterOf(text));
  return [...rows.read(text), ...rows.end()];
}
