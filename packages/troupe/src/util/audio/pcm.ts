/** Sound of one channel: 16-bit samples, little-endian. Folder `util/audio`: start here. */
export interface PcmAudio {
  readonly data: Uint8Array;
  /** Samples per second. */
  readonly rate: number;
}

export const BYTES_PER_SAMPLE = 2;

/** Length of a sound in milliseconds. */
export function durationOf({ data, rate }: PcmAudio): number {
  return (data.length / BYTES_PER_SAMPLE / rate) * 1000;
}

/** Samples of a sound, copied, because bytes from the network may begin at an odd address. */
export function samplesOf(data: Uint8Array): Int16Array {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const samples = new Int16Array(data.byteLength >> 1);
  for (let i = 0; i < samples.length; i++) samples[i] = view.getInt16(i * BYTES_PER_SAMPLE, true);
  return samples;
}

export function bytesOf(samples: Int16Array): Uint8Array {
  const bytes = new Uint8Array(samples.length * BYTES_PER_SAMPLE);
  const view = new DataView(bytes.buffer);
  for (const [i, sample] of samples.entries()) view.setInt16(i * BYTES_PER_SAMPLE, sample, true);
  return bytes;
}

export function joinBytes(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    joined.set(piece, at);
    at += piece.length;
  }
  return joined;
}

/** Makes whole samples from pieces of bytes that may end inside a sample. */
export class WholeSamples {
  #rest: number | undefined;

  /** The whole samples so far; empty if there are none. */
  feed(bytes: Uint8Array): Uint8Array {
    const all = this.#rest === undefined ? bytes : joinBytes([Uint8Array.of(this.#rest), bytes]);
    const isOdd = all.length % BYTES_PER_SAMPLE === 1;
    this.#rest = isOdd ? all.at(-1) : undefined;
    return isOdd ? all.subarray(0, -1) : all;
  }
}

/** Pieces of a sound of at most so many milliseconds. */
export function splitAudio({ data, rate }: PcmAudio, ms: number): readonly PcmAudio[] {
  const size = Math.max(1, Math.round((rate * ms) / 1000)) * BYTES_PER_SAMPLE;
  const pieces: PcmAudio[] = [];
  for (let at = 0; at < data.length; at += size) pieces.push({ data: data.subarray(at, at + size), rate });
  return pieces;
}
