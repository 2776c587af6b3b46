import { escapeTags, tagPattern } from '../../util/escape-tags.ts';

const TAGS = tagPattern('returncode', 'stdout', 'stderr');
const CONTINUATION_MASK = 0xc0;
const CONTINUATION = 0x80;

/**
 * Keeps the beginning and the end of a program's output, at most `maxBytes`, and counts the rest. The cost
 * per byte is constant, and the memory in proportion to what is kept.
 */
export class CappedOutput {
  readonly #headSize: number;
  readonly #tailSize: number;
  #head = new Uint8Array(0);
  /** Ring buffer: byte n after the head is at index n modulo `#tailSize`. */
  #tail = new Uint8Array(0);
  #total = 0;

  /** @param maxBytes 2 or more */
  constructor(maxBytes: number) {
    this.#headSize = Math.ceil(maxBytes / 2);
    this.#tailSize = maxBytes - this.#headSize;
  }

  /** Number of bytes received. */
  get totalBytes(): number {
    return this.#total;
  }

  push(chunk: Uint8Array): void {
    const toHead = chunk.subarray(0, Math.max(0, this.#headSize - this.#total));
    if (toHead.length > 0) {
      this.#head = grown(this.#head, this.#total + toHead.length, this.#headSize);
      this.#head.set(toHead, this.#total);
    }
    this.#total += chunk.length;
    const last = chunk.subarray(toHead.length).subarray(-this.#tailSize);
    if (last.length === 0) return;
    const start = (this.#total - this.#headSize - last.length) % this.#tailSize;
    const untilEnd = last.subarray(0, this.#tailSize - start);
    this.#tail = grown(this.#tail, start + untilEnd.length, this.#tailSize);
    this.#tail.set(untilEnd, start);
    this.#tail.set(last.subarray(untilEnd.length), 0);
  }

  /**
   * Kept output as text, with a note for the omitted part. Splits no character and escapes the tags of
   * results.
   */
  toString(): string {
    const head = this.#head.subarray(0, Math.min(this.#total, this.#headSize));
    const behindHead = this.#total - head.length;
    if (behindHead <= this.#tailSize) {
      return textOf(Buffer.concat([head, this.#tail.subarray(0, behindHead)]));
    }
    const split = behindHead % this.#tailSize;
    const tail = Buffer.concat([this.#tail.subarray(split), this.#tail.subarray(0, split)]);
    const left = behindHead - tail.length;
    const note = `<system-info>${left} of ${this.#total} bytes are left out here.</system-info>`;
    return `${textOf(head)}\n${note}\n${textOf(fromCharacter(tail))}`;
  }
}

/** The bytes with room for `size` of them, and for more to come. */
function grown(bytes: Uint8Array<ArrayBuffer>, size: number, maxSize: number): Uint8Array<ArrayBuffer> {
  if (size <= bytes.length) return bytes;
  const larger = new Uint8Array(Math.min(maxSize, Math.max(size, 2 * bytes.length)));
  larger.set(bytes);
  return larger;
}

/** Decodes bytes, without an incomplete character at the end. */
function textOf(bytes: Uint8Array): string {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true });
  return escapeTags(text, TAGS);
}

/** Bytes from the start of the first complete character. */
function fromCharacter(bytes: Uint8Array): Uint8Array {
  let start = 0;
  while (start < 3 && ((bytes[start] ?? 0) & CONTINUATION_MASK) === CONTINUATION) start++;
  return bytes.subarray(start);
}
