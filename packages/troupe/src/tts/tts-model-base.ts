import type { Usage } from '../message/usage.ts';
import type { PcmAudio } from '../util/audio/pcm.ts';

/** One piece of speech, after the pieces before. */
export interface SpeechDelta {
  readonly audio?: PcmAudio;
  /** Cost of the request, once, if the provider names it. */
  readonly usage?: Usage;
}

export interface SynthesizeOptions {
  readonly signal?: AbortSignal | undefined;
}

/**
 * Port to a speech model: text to sound. A provider writes `synthesize` only. Speech comes in pieces, each sent once, and
 * all pieces of one call have the same rate. Folder `tts`: start here.
 *
 * @example
 * ```ts
 * import { ReActAgent } from 'troupe';
 * import { OfflineModel } from 'troupe/offline';
 * import { ToneTtsModel } from 'troupe/testing';
 *
 * const agent = new ReActAgent({ name: 'Friday', model: new OfflineModel(), ttsModel: new ToneTtsModel(), console: false });
 * for await (const event of agent.stream('Hello!'))
 *   if (event.type === 'audio_delta') console.log(event.mediaType); // audio/pcm;rate=24000
 * ```
 */
export abstract class TtsModelBase {
  /** Whether `synthesize` takes text that still grows. Otherwise it gets one sentence at a time. */
  readonly takesTextStream: boolean = false;

  constructor(readonly modelName: string) {}

  /**
   * Speaks a text. Stops at once when the signal is aborted, or the reader leaves.
   * @throws ModelError
   */
  abstract synthesize(
    text: string | AsyncIterable<string>,
    options?: SynthesizeOptions,
  ): AsyncIterable<SpeechDelta>;

  /** Model, voice and other settings that change the sound: part of the key of a cache. */
  get cacheKey(): string {
    return this.modelName;
  }
}

/** Media type of speech in messages and events, such as `audio/pcm;rate=24000`. */
export function pcmMediaType(rate: number): string {
  return `audio/pcm;rate=${rate}`;
}
