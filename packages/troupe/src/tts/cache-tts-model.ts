import { checkNumber } from '../util/check-number.ts';
import { TtsModelBase, type SpeechDelta, type SynthesizeOptions } from './tts-model-base.ts';

export interface CacheTtsOptions {
  /** Maximum bytes of sound that are kept; the sound that was used longest ago goes first. @default 32 MB */
  readonly maxBytes?: number | undefined;
}

/** Speaks a text that was spoken before from memory. Text that still grows is not kept: its model is asked each time. */
export class CacheTtsModel extends TtsModelBase {
  override readonly takesTextStream: boolean;
  readonly #model: TtsModelBase;
  readonly #maxBytes: number;
  readonly #sounds = new Map<string, readonly SpeechDelta[]>();
  #bytes = 0;

  constructor(model: TtsModelBase, { maxBytes = 32 * 1024 * 1024 }: CacheTtsOptions = {}) {
    super(model.modelName);
    this.#model = model;
    checkNumber('maxBytes', maxBytes, { least: 0 });
    this.#maxBytes = maxBytes;
    this.takesTextStream = model.takesTextStream;
  }

  override get cacheKey(): string {
    return this.#model.cacheKey;
  }

  override async *synthesize(
    text: string | AsyncIterable<string>,
    options: SynthesizeOptions = {},
  ): AsyncGenerator<SpeechDelta, void, void> {
    if (typeof text !== 'string') return yield* this.#model.synthesize(text, options);
    const key = `${this.#model.cacheKey}\n${text}`;
    const known = this.#sounds.get(key);
    if (known !== undefined) {
      this.#sounds.delete(key);
      this.#sounds.set(key, known);
      return yield* known;
    }
    const sound: SpeechDelta[] = [];
    for await (const delta of this.#model.synthesize(text, options)) {
      if (delta.audio !== undefined) sound.push({ audio: delta.audio }); // the cost was paid once
      yield delta;
    }
    this.#keep(key, sound);
  }

  #keep(key: string, sound: readonly SpeechDelta[]): void {
    const bytes = bytesOf(sound);
    if (bytes > this.#maxBytes || this.#sounds.has(key)) return;
    this.#sounds.set(key, sound);
    this.#bytes += bytes;
    for (const [oldest, old] of this.#sounds) {
      if (this.#bytes <= this.#maxBytes) return;
      this.#sounds.delete(oldest);
      this.#bytes -= bytesOf(old);
    }
  }
}

function bytesOf(sound: readonly SpeechDelta[]): number {
  return sound.reduce((sum, { audio }) => sum + (audio?.data.length ?? 0), 0);
}
