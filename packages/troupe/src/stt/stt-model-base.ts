import type { Usage } from '../message/usage.ts';
import { joinBytes, type PcmAudio } from '../util/audio/pcm.ts';
import { Resampler } from '../util/audio/resampler.ts';

/** Sound to be written down: whole, or piece by piece while it is recorded. */
export type SpokenSound = PcmAudio | AsyncIterable<PcmAudio>;

/** One piece of a transcript, after the pieces before. */
export interface TranscriptDelta {
  readonly text?: string;
  /** Cost of the request, once, if the provider names it. */
  readonly usage?: Usage;
}

export interface TranscribeOptions {
  readonly signal?: AbortSignal | undefined;
}

/** Text of a sound. */
export interface Transcript {
  readonly text: string;
  readonly usage?: Usage;
}

/**
 * Port to a model of speech recognition: sound to text. A provider writes `transcribe` only. Folder `stt`: start here.
 *
 * @example
 * ```ts no-run
 * import { readFileSync } from 'node:fs';
 * import { OpenAISttModel } from 'troupe/openai';
 * import { fromWav } from 'troupe/speech';
 *
 * const stt = new OpenAISttModel({ modelName: 'gpt-transcribe' });
 * const { text } = await stt.toTranscript(fromWav(readFileSync('question.wav')));
 * console.log(text);
 * ```
 */
export abstract class SttModelBase {
  constructor(readonly modelName: string) {}

  /**
   * Writes down a sound. Stops at once when the signal is aborted, or the reader leaves.
   * @throws ModelError
   */
  abstract transcribe(sound: SpokenSound, options?: TranscribeOptions): AsyncIterable<TranscriptDelta>;

  /** The whole transcript of a sound. @throws ModelError */
  async toTranscript(sound: SpokenSound, options?: TranscribeOptions): Promise<Transcript> {
    let text = '';
    let usage: Usage | undefined;
    for await (const delta of this.transcribe(sound, options)) {
      text += delta.text ?? '';
      usage = delta.usage ?? usage;
    }
    return usage === undefined ? { text } : { text, usage };
  }
}

/** The sound as one piece, at the rate of its first piece. @throws TypeError if it is longer than `maxBytes` */
export async function wholeSound(
  sound: SpokenSound,
  maxBytes: number,
  signal: AbortSignal,
): Promise<PcmAudio> {
  if ('data' in sound) {
    assertFits(sound.data.length, maxBytes);
    return sound;
  }
  const pieces: Uint8Array[] = [];
  let rate: number | undefined;
  let bytes = 0;
  let resampler: { readonly from: number; readonly resampler: Resampler } | undefined;
  for await (const piece of sound) {
    signal.throwIfAborted();
    rate ??= piece.rate;
    if (piece.rate !== rate && resampler?.from !== piece.rate)
      resampler = { from: piece.rate, resampler: new Resampler(piece.rate, rate) };
    const data = piece.rate === rate ? piece.data : (resampler?.resampler.feed(piece.data) ?? piece.data);
    bytes += data.length;
    assertFits(bytes, maxBytes);
    pieces.push(data);
  }
  return { data: joinBytes(pieces), rate: rate ?? 16_000 };
}

function assertFits(bytes: number, maxBytes: number): void {
  if (bytes > maxBytes)
    throw new TypeError(
      `The sound has more than ${Math.floor(maxBytes / 1024 / 1024)} MB: send it in parts.`,
    );
}
