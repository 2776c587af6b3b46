import { BYTES_PER_SAMPLE, samplesOf, type PcmAudio } from '../../util/audio/pcm.ts';
import { Resampler } from '../../util/audio/resampler.ts';

/** Rate of the sound in a room. */
export const ROOM_RATE = 24_000;
/** Time between two frames of a room. */
export const FRAME_MS = 20;
export const FRAME_BYTES = ((ROOM_RATE * FRAME_MS) / 1000) * BYTES_PER_SAMPLE;
/** Longest sound of one source that waits; the rest is dropped. */
const MAX_BYTES = FRAME_BYTES * 1500;

/** Sound of one speaker in a room, taken frame by frame. */
export class RoomSource {
  readonly name: string;
  #resampler: Resampler | undefined;
  #pieces: Uint8Array[] = [];
  /** Bytes of the first piece that were taken. */
  #offset = 0;
  #bytes = 0;
  #isSilent = true;

  constructor(name: string) {
    this.name = name;
  }

  /** Adds sound of any rate. */
  add({ data, rate }: PcmAudio): void {
    if (this.#resampler?.from !== rate) this.#resampler = new Resampler(rate, ROOM_RATE);
    const sound = this.#resampler.feed(data);
    if (sound.length === 0 || this.#bytes >= MAX_BYTES) return;
    this.#pieces.push(sound);
    this.#bytes += sound.length;
  }

  clear(): void {
    this.#pieces = [];
    this.#offset = 0;
    this.#bytes = 0;
  }

  /**
   * The samples of the next frame, or undefined if the speaker is silent. The first sound waits for one frame, so that a late timer makes no gap; the last
   * one is filled up.
   */
  next(): Int16Array | undefined {
    const wasSilent = this.#isSilent;
    this.#isSilent = this.#bytes === 0;
    if (this.#isSilent || wasSilent) return undefined;
    const frame = new Uint8Array(FRAME_BYTES);
    let filled = 0;
    for (;;) {
      const [piece] = this.#pieces;
      if (piece === undefined || filled === FRAME_BYTES) break;
      const part = piece.subarray(this.#offset, this.#offset + FRAME_BYTES - filled);
      frame.set(part, filled);
      filled += part.length;
      this.#offset += part.length;
      if (this.#offset < piece.length) continue;
      this.#pieces.shift();
      this.#offset = 0;
    }
    this.#bytes -= filled;
    return samplesOf(frame);
  }
}
