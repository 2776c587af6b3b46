import type { Buffer } from 'node:buffer';

const NEW_LINE = 10;

/** Cuts bytes into lines of text. Each byte is looked at once, however long its line. */
export class LineSplitter {
  readonly #maxBytes: number;
  readonly #decoder = new TextDecoder();
  #parts: Buffer[] = [];
  #size = 0;

  /** @param maxBytes how long a line may be */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The lines that end in a piece. @throws RangeError if one is too long; its bytes are let go. */
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
