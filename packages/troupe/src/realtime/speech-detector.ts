import { durationOf, samplesOf, type PcmAudio } from '../util/audio/pcm.ts';

/** Port to a detector of voice activity in a stream of sound. */
export interface SpeechDetector {
  /** Takes the next piece of sound. @returns a change: speech has started, or a turn of the person has ended */
  feed(audio: PcmAudio): 'started' | 'stopped' | undefined;
}

export interface EnergyDetectorOptions {
  /** Loudness above that of the background at which sound counts as speech, in decibels. @default 12 */
  readonly threshold?: number | undefined;
  /** Speech before it counts as started, in milliseconds. @default 100 */
  readonly startMs?: number | undefined;
  /** Silence after which the turn has ended, in milliseconds. @default 700 */
  readonly silenceMs?: number | undefined;
}

/** Loudness of the quietest background, and the one that is assumed first, in decibels below full scale. */
const QUIETEST = -70;
const FIRST_BACKGROUND = -55;
/** Share by which the background follows a louder sound in one second. It follows a quieter one at once. */
const RISE_PER_SECOND = 3;

/**
 * Finds speech by its loudness over the background, which it learns. Small, without a model: good for a quiet place and a near
 * microphone. For noisy places, give a detector of your own.
 */
export class EnergyDetector implements SpeechDetector {
  readonly #threshold: number;
  readonly #startMs: number;
  readonly #silenceMs: number;
  #background = FIRST_BACKGROUND;
  #isSpeaking = false;
  #loudMs = 0;
  #quietMs = 0;

  constructor({ threshold = 12, startMs = 100, silenceMs = 700 }: EnergyDetectorOptions = {}) {
    this.#threshold = threshold;
    this.#startMs = startMs;
    this.#silenceMs = silenceMs;
  }

  feed(audio: PcmAudio): 'started' | 'stopped' | undefined {
    const size = Math.max(2, Math.round(audio.rate / 50) * 2); // frames of 20 ms
    let change: 'started' | 'stopped' | undefined;
    for (let at = 0; at < audio.data.length; at += size)
      change = this.#frame({ data: audio.data.subarray(at, at + size), rate: audio.rate }) ?? change;
    return change;
  }

  #frame(frame: PcmAudio): 'started' | 'stopped' | undefined {
    const ms = durationOf(frame);
    const level = levelOf(frame.data);
    const isLoud = level > this.#background + this.#threshold;
    if (level < this.#background) this.#background = Math.max(QUIETEST, level);
    else if (!this.#isSpeaking) this.#background += (RISE_PER_SECOND * ms) / 1000;
    this.#loudMs = isLoud ? this.#loudMs + ms : Math.max(0, this.#loudMs - ms);
    this.#quietMs = isLoud ? 0 : this.#quietMs + ms;
    if (!this.#isSpeaking && this.#loudMs >= this.#startMs) {
      this.#isSpeaking = true;
      return 'started';
    }
    if (this.#isSpeaking && this.#quietMs >= this.#silenceMs) {
      this.#isSpeaking = false;
      this.#loudMs = 0;
      return 'stopped';
    }
    return undefined;
  }
}

/** Loudness in decibels below full scale. */
function levelOf(data: Uint8Array): number {
  const samples = samplesOf(data);
  if (samples.length === 0) return QUIETEST;
  let sum = 0;
  for (const sample of samples) sum += sample * sample;
  return 10 * Math.log10(Math.max(sum / samples.length / 32768 ** 2, 1e-7));
}
