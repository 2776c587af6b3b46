import type { Buffer } from 'node:buffer';

const NEW_LINE = 10;

/** Splits bytes into lines of text. Reads each byte once, also in long lines. */
export class LineSplitter {
  readonly #maxBytes: number;
  readonly #decoder = new TextDecoder();
  #parts: Buffer[] = [];
  #size = 0;

  /** @param maxBytes maximum length of a line */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Returns the lines that end in a piece.
   * @throws RangeError if a line is too long; its bytes are dropped.
   */
  push(piece: Buffer): string[] {
    const lines: string[] = [];
    let start = 0;
    for (let end = piece.indexOf(NEW_LINE); end >= 0; end = piece.indexOf(NEW_LINE, start)) {
      this.#add(piece.subarray(start, end));
      lines.push(this.#take());
      start = end + 1;
    }
    this.#add(piece.subarray(start));
    return lines;
  }

  #add(part: Buffer): void {
    this.#size += part.length;
    if (this.#size > this.#maxBytes) {
      this.#parts = [];
      throw new RangeError('The line is too long.');
    }
    if (part.length > 0) this.#parts.push(part);
  }

  #take(): string {
    const texts = this.#parts.map((part) => this.#decoder.decode(part, { stream: true }));
    this.#parts = [];
    this.#size = 0;
    return texts.join('') + this.#decoder.decode();
  }
}
