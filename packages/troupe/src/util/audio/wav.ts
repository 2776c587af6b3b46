import { fromBase64 } from '../base64.ts';
import { bytesOf, samplesOf, WholeSamples, type PcmAudio } from './pcm.ts';

export const WAV_HEADER_BYTES = 44;
const PCM_FORMAT = 1;
/** Format whose real one is named in a longer header. */
const EXTENSIBLE_FORMAT = 0xfffe;
/** Longest header that is read: text chunks of some programs stand before the sound. */
const MAX_HEADER_BYTES = 65_536;

/** Header of a WAV file with one channel of 16-bit samples. @param bytes length of the sound */
export function wavHeader(rate: number, bytes: number): Uint8Array {
  const header = new Uint8Array(WAV_HEADER_BYTES);
  const view = new DataView(header.buffer);
  const text = (at: number, word: string): void =>
    void new TextEncoder().encodeInto(word, header.subarray(at));
  text(0, 'RIFF');
  view.setUint32(4, 36 + bytes, true);
  text(8, 'WAVEfmt ');
  view.setUint32(16, 16, true);
  view.setUint16(20, PCM_FORMAT, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, rate, true);
  view.setUint32(28, rate * 2, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  text(36, 'data');
  view.setUint32(40, bytes, true);
  return header;
}

/** A whole WAV file. */
export function toWav({ data, rate }: PcmAudio): Uint8Array<ArrayBuffer> {
  const file = new Uint8Array(WAV_HEADER_BYTES + data.length);
  file.set(wavHeader(rate, data.length));
  file.set(data, WAV_HEADER_BYTES);
  return file;
}

interface WavFormat {
  readonly rate: number;
  readonly channels: number;
}

/**
 * Reads a WAV file of 16-bit samples while it arrives. Several channels are mixed to one. The length in the header is not
 * trusted: programs that write to a pipe don't know it.
 */
export class WavReader {
  #header: Uint8Array | undefined = new Uint8Array();
  #format: WavFormat | undefined;
  readonly #samples = new WholeSamples();
  #frameRest = new Int16Array();

  /** The sound of the next bytes, if any. @throws TypeError for a file in another format */
  feed(bytes: Uint8Array): PcmAudio | undefined {
    let sound = bytes;
    if (this.#header !== undefined) {
      const joined = new Uint8Array(this.#header.length + bytes.length);
      joined.set(this.#header);
      joined.set(bytes, this.#header.length);
      const start = this.#readHeader(joined);
      if (start === undefined) {
        if (joined.length > MAX_HEADER_BYTES) throw new TypeError('has no sound in its first 64 KB');
        this.#header = joined;
        return undefined;
      }
      this.#header = undefined;
      sound = joined.subarray(start);
    }
    const { rate, channels } = this.#format ?? { rate: 0, channels: 1 };
    const data = this.#samples.feed(sound);
    const mono = channels === 1 ? data : this.#mix(samplesOf(data), channels);
    return mono.length === 0 ? undefined : { data: mono, rate };
  }

  /** Reads the format. @returns the start of the sound, or undefined if more bytes are needed */
  #readHeader(bytes: Uint8Array): number | undefined {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const word = (at: number): string => String.fromCharCode(...bytes.subarray(at, at + 4));
    if (bytes.length < 12) return undefined;
    if (word(0) !== 'RIFF' || word(8) !== 'WAVE') throw new TypeError('is not a WAV file');
    for (let at = 12; at + 8 <= bytes.length;) {
      const length = view.getUint32(at + 4, true);
      if (word(at) === 'data') {
        if (this.#format === undefined) throw new TypeError('has no format before its sound');
        return at + 8;
      }
      if (word(at) === 'fmt ' && at + 24 <= bytes.length) this.#format = readFormat(view, at + 8);
      at += 8 + length + (length % 2);
    }
    return undefined;
  }

  #mix(samples: Int16Array, channels: number): Uint8Array {
    const all = new Int16Array(this.#frameRest.length + samples.length);
    all.set(this.#frameRest);
    all.set(samples, this.#frameRest.length);
    const mono = new Int16Array(Math.floor(all.length / channels));
    for (let frame = 0; frame < mono.length; frame++) {
      let sum = 0;
      for (let channel = 0; channel < channels; channel++) sum += all[frame * channels + channel] ?? 0;
      mono[frame] = Math.round(sum / channels);
    }
    this.#frameRest = all.slice(mono.length * channels);
    return bytesOf(mono);
  }
}

function readFormat(view: DataView, at: number): WavFormat {
  const format = view.getUint16(at, true);
  const channels = view.getUint16(at + 2, true);
  const rate = view.getUint32(at + 4, true);
  const bits = view.getUint16(at + 14, true);
  if ((format !== PCM_FORMAT && format !== EXTENSIBLE_FORMAT) || bits !== 16)
    throw new TypeError('has no 16-bit samples');
  if (channels < 1 || channels > 8 || rate < 4000 || rate > 192_000)
    throw new TypeError('has an impossible format');
  return { rate, channels };
}

/** The sound of a whole WAV file. @throws TypeError */
export function fromWav(file: Uint8Array): PcmAudio {
  const audio = new WavReader().feed(file);
  if (audio === undefined) throw new TypeError('has no sound');
  return audio;
}

/** A sound in a message, as far as its bytes are in the message. */
interface SoundBlock {
  readonly source:
    | { readonly type: 'base64'; readonly mediaType: string; readonly data: string }
    | { readonly type: 'url' };
}

/** Samples of base64 text; undefined for a format that is neither WAV nor PCM. @throws TypeError for broken data */
export function toPcm(data: string, mediaType: string): PcmAudio | undefined {
  const [type, ...params] = mediaType.split(';').map((part) => part.trim().toLowerCase());
  if (type === 'audio/wav' || type === 'audio/x-wav') return fromWav(fromBase64(data));
  const rate = Number(params.find((param) => param.startsWith('rate='))?.slice('rate='.length) ?? 24_000);
  return type === 'audio/pcm' && rate > 0 ? { data: fromBase64(data), rate } : undefined;
}

/** The sound of a block; undefined for an address, another format and broken data. */
export function soundOfBlock({ source }: SoundBlock): PcmAudio | undefined {
  if (source.type !== 'base64') return undefined;
  try {
    return toPcm(source.data, source.mediaType);
  } catch {
    return undefined;
  }
}
