import type { WireCall } from '../model/http/http-chat-model.ts';
import type { HttpSettings } from '../model/http/http-call-options.ts';
import { malformedResponse } from '../model/http/http-error.ts';
import {
  checkSoundModel,
  soundResponse,
  type ByteDecoder,
  type HttpSoundOptions,
} from '../model/http/sound-request.ts';
import type { ModelOrigin } from '../model/model-error.ts';
import { stoppable } from '../util/async/stoppable.ts';
import { WholeSamples } from '../util/audio/pcm.ts';
import { fromBase64 } from '../util/base64.ts';
import { TtsModelBase, type SpeechDelta, type SynthesizeOptions } from './tts-model-base.ts';

export type HttpTtsOptions = HttpSoundOptions;

/** Reads the sound of one response. */
export type SpeechDecoder = ByteDecoder<SpeechDelta>;

/** Base class of speech models behind an HTTP API. A provider writes the request (`toCall`) and reads the answer (`newDecoder`). */
export abstract class HttpTtsModel extends TtsModelBase {
  readonly #options: HttpTtsOptions;

  /** @param vendorName name of the provider in errors */
  constructor(
    readonly vendorName: string,
    modelName: string,
    options: HttpTtsOptions,
  ) {
    super(modelName);
    checkSoundModel(vendorName, modelName, options);
    this.#options = options;
  }

  protected abstract toCall(text: string, settings: HttpSettings): WireCall;

  protected abstract newDecoder(origin: ModelOrigin): SpeechDecoder;

  override synthesize(
    text: string | AsyncIterable<string>,
    { signal }: SynthesizeOptions = {},
  ): AsyncGenerator<SpeechDelta, void, void> {
    return stoppable((stopped) => this.#speak(text, stopped), signal);
  }

  async *#speak(
    text: string | AsyncIterable<string>,
    signal: AbortSignal,
  ): AsyncGenerator<SpeechDelta, void, void> {
    if (typeof text !== 'string') {
      for await (const part of text) yield* this.#speak(part, signal);
      return;
    }
    if (text.trim() === '') return;
    const { vendorName, modelName } = this;
    const toCall = (settings: HttpSettings): WireCall => this.toCall(text, settings);
    const newDecoder = (origin: ModelOrigin): SpeechDecoder => this.newDecoder(origin);
    yield* soundResponse({ vendorName, modelName, options: this.#options, toCall, newDecoder }, signal);
  }
}

/** Reads a response that is sound only: samples without a header. */
export class RawPcmDecoder implements SpeechDecoder {
  readonly #rate: number;
  readonly #samples = new WholeSamples();

  constructor(rate: number) {
    this.#rate = rate;
  }

  *read(bytes: Uint8Array): Iterable<SpeechDelta> {
    const data = this.#samples.feed(bytes);
    if (data.length > 0) yield { audio: { data, rate: this.#rate } };
  }

  end(): Iterable<SpeechDelta> {
    return [];
  }
}

/** Sound of base64 text on the wire. Each text ends with a whole sample. @throws ModelError */
export function soundOf(base64: string, rate: number, origin: ModelOrigin): SpeechDelta {
  try {
    return { audio: { data: fromBase64(base64), rate } };
  } catch {
    throw malformedResponse(origin, 'sound that is not base64');
  }
}
