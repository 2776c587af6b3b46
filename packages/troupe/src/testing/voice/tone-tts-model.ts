import { TtsModelBase, type SpeechDelta, type SynthesizeOptions } from '../../tts/tts-model-base.ts';
import { bytesOf } from '../../util/audio/pcm.ts';

export interface ToneTtsOptions {
  /** @default 24 000 */
  readonly rate?: number | undefined;
  /** Whether the model takes text that still grows. @default false */
  readonly takesTextStream?: boolean | undefined;
  /** Sound of one character, in milliseconds. @default 10 */
  readonly msPerCharacter?: number | undefined;
  /** Called before the sound of a text; may wait, or throw. */
  readonly onText?: ((text: string, options: SynthesizeOptions) => void | Promise<void>) | undefined;
}

const MS_PER_CHARACTER = 10;
const HERTZ = 440;

/** Speech model for tests, without a network: a tone, 10 ms for each character by default, one piece for each text. `texts` has what was spoken. */
export class ToneTtsModel extends TtsModelBase {
  override readonly takesTextStream: boolean;
  readonly texts: string[] = [];
  readonly #rate: number;
  readonly #msPerCharacter: number;
  readonly #onText: ToneTtsOptions['onText'];

  constructor({
    rate = 24_000,
    takesTextStream = false,
    msPerCharacter = MS_PER_CHARACTER,
    onText,
  }: ToneTtsOptions = {}) {
    super('tone');
    this.#rate = rate;
    this.takesTextStream = takesTextStream;
    this.#msPerCharacter = msPerCharacter;
    this.#onText = onText;
  }

  override async *synthesize(
    text: string | AsyncIterable<string>,
    options: SynthesizeOptions = {},
  ): AsyncGenerator<SpeechDelta, void, void> {
    for await (const part of typeof text === 'string' ? [text] : text) {
      await this.#onText?.(part, options);
      options.signal?.throwIfAborted();
      this.texts.push(part);
      yield { audio: { data: this.#tone(part.length * this.#msPerCharacter), rate: this.#rate } };
    }
  }

  #tone(ms: number): Uint8Array {
    const samples = Int16Array.from({ length: (ms * this.#rate) / 1000 }, (_, i) =>
      Math.round(8000 * Math.sin((2 * Math.PI * HERTZ * i) / this.#rate)),
    );
    return bytesOf(samples);
  }
}
