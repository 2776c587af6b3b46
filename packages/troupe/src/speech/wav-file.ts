import { closeSync, openSync, writeSync } from 'node:fs';
import type { AudioSink } from '../tts/audio-sink.ts';
import { bytesOf, type PcmAudio } from '../util/audio/pcm.ts';
import { Resampler } from '../util/audio/resampler.ts';
import { WAV_HEADER_BYTES, wavHeader } from '../util/audio/wav.ts';

export interface WavFileOptions {
  /** Rate of the file; sound of another rate is converted. @default 24 000 */
  readonly rate?: number | undefined;
}

/**
 * Writes sound to a WAV file, which is whole after each write. A flush changes nothing: what is in the file counts as played.
 */
export class WavFile implements AudioSink, Disposable {
  readonly #rate: number;
  readonly #file: number;
  #bytes = 0;
  #resampler: Resampler | undefined;
  #isOpen = true;

  /** @throws if the file can't be written */
  constructor(path: string, { rate = 24_000 }: WavFileOptions = {}) {
    this.#rate = rate;
    this.#file = openSync(path, 'w');
    this.#append(bytesOf(new Int16Array()));
  }

  write({ data, rate }: PcmAudio): void {
    if (!this.#isOpen) return;
    if (this.#resampler?.from !== rate) {
      this.#append(this.#resampler?.end() ?? new Uint8Array());
      this.#resampler = new Resampler(rate, this.#rate);
    }
    this.#append(this.#resampler.feed(data));
  }

  flush(): void {}

  /** Ends the file. */
  close(): void {
    if (!this.#isOpen) return;
    this.#append(this.#resampler?.end() ?? new Uint8Array());
    this.#isOpen = false;
    closeSync(this.#file);
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #append(data: Uint8Array): void {
    writeSync(this.#file, data, 0, data.length, WAV_HEADER_BYTES + this.#bytes);
    this.#bytes += data.length;
    writeSync(this.#file, wavHeader(this.#rate, this.#bytes), 0, WAV_HEADER_BYTES, 0);
  }
}
