import type { HttpSettings } from '../model/http/http-call-options.ts';
import type { WireCall } from '../model/http/http-chat-model.ts';
import {
  checkSoundModel,
  JsonByteDecoder,
  soundResponse,
  type HttpSoundOptions,
} from '../model/http/sound-request.ts';
import type { ModelOrigin } from '../model/model-error.ts';
import { stoppable } from '../util/async/stoppable.ts';
import { toWav } from '../util/audio/wav.ts';
import type { JsonObject } from '../util/json.ts';
import {
  SttModelBase,
  wholeSound,
  type SpokenSound,
  type TranscribeOptions,
  type TranscriptDelta,
} from './stt-model-base.ts';

export interface HttpSttOptions extends HttpSoundOptions {
  /** Maximum length of a sound in bytes; vendors refuse more than about 25 MB. @default 24 MB */
  readonly maxBytes?: number | undefined;
}

const MAX_BYTES = 24 * 1024 * 1024;

/**
 * Base class of models of speech recognition behind an HTTP API, which take a whole WAV file. A provider writes the request
 * (`toCall`) and reads the events of the answer (`readEvent`).
 */
export abstract class HttpSttModel extends SttModelBase {
  readonly #options: HttpSttOptions;

  /** @param vendorName name of the provider in errors */
  constructor(
    readonly vendorName: string,
    modelName: string,
    options: HttpSttOptions,
  ) {
    super(modelName);
    checkSoundModel(vendorName, modelName, options);
    this.#options = options;
  }

  protected abstract toCall(wav: Uint8Array<ArrayBuffer>, settings: HttpSettings): WireCall;

  /** Reads one event, or the whole answer of a server that does not stream. @param hasText whether earlier events had text */
  protected abstract readEvent(
    data: JsonObject,
    origin: ModelOrigin,
    hasText: boolean,
  ): Iterable<TranscriptDelta>;

  override transcribe(
    sound: SpokenSound,
    { signal }: TranscribeOptions = {},
  ): AsyncGenerator<TranscriptDelta, void, void> {
    return stoppable((stopped) => this.#transcribe(sound, stopped), signal);
  }

  async *#transcribe(sound: SpokenSound, signal: AbortSignal): AsyncGenerator<TranscriptDelta, void, void> {
    const { maxBytes = MAX_BYTES } = this.#options;
    const audio = await wholeSound(sound, maxBytes, signal);
    if (audio.data.length === 0) return;
    const wav = toWav(audio);
    const { vendorName, modelName } = this;
    let hasText = false;
    const request = {
      vendorName,
      modelName,
      options: this.#options,
      toCall: (settings: HttpSettings) => this.toCall(wav, settings),
      newDecoder: (origin: ModelOrigin) =>
        new JsonByteDecoder(origin, (data) => this.readEvent(data, origin, hasText)),
    };
    for await (const delta of soundResponse(request, signal)) {
      hasText ||= delta.text !== undefined && delta.text !== '';
      yield delta;
    }
  }
}
