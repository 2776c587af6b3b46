import type { WireCall } from '../../model/http/http-chat-model.ts';
import type { HttpSettings } from '../../model/http/http-call-options.ts';
import { JsonByteDecoder } from '../../model/http/sound-request.ts';
import { numberOf, objectOf, objectsOf, stringOf } from '../../model/http/wire-values.ts';
import type { ModelOrigin } from '../../model/model-error.ts';
import { HttpTtsModel, soundOf, type HttpTtsOptions, type SpeechDecoder } from '../../tts/http-tts-model.ts';
import type { SpeechDelta } from '../../tts/tts-model-base.ts';
import type { JsonObject } from '../../util/json.ts';
import { GEMINI, GeminiEndpoint } from './gemini-endpoint.ts';

export interface GeminiTtsOptions extends HttpTtsOptions {
  /** Model name, such as `gemini-3.8-flash-tts`. */
  readonly modelName: string;
  /** @default 'Kore' */
  readonly voice?: string | undefined;
}

const RATE = /rate=(\d+)/;

/** Speech of Gemini's models that answer with sound. */
export class GeminiTtsModel extends HttpTtsModel {
  readonly #voice: string;
  readonly #endpoint: GeminiEndpoint;

  constructor(options: GeminiTtsOptions) {
    super(GEMINI, options.modelName, options);
    this.#voice = options.voice ?? 'Kore';
    this.#endpoint = new GeminiEndpoint(options);
  }

  override get cacheKey(): string {
    return JSON.stringify([this.#endpoint.host, this.modelName, this.#voice]);
  }

  protected override toCall(text: string, settings: HttpSettings): WireCall {
    const body = {
      contents: [{ role: 'user', parts: [{ text }] }],
      generationConfig: {
        responseModalities: ['AUDIO'],
        speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: this.#voice } } },
      },
    };
    return this.#endpoint.call('streamGenerateContent', settings, JSON.stringify(body), { alt: 'sse' });
  }

  protected override newDecoder(origin: ModelOrigin): SpeechDecoder {
    return new JsonByteDecoder(origin, (data) => readGeminiSpeech(data, origin));
  }
}

function* readGeminiSpeech(data: JsonObject, origin: ModelOrigin): Iterable<SpeechDelta> {
  for (const candidate of objectsOf(data['candidates'])) {
    for (const part of objectsOf(objectOf(candidate['content'])['parts'])) {
      const inline = objectOf(part['inlineData']);
      const rate = Number(RATE.exec(stringOf(inline['mimeType']))?.[1] ?? 24_000);
      if (stringOf(inline['data']) !== '') yield soundOf(stringOf(inline['data']), rate, origin);
    }
    if (stringOf(candidate['finishReason']) === '') continue;
    const usage = objectOf(data['usageMetadata']);
    const [inputTokens, outputTokens] = [
      numberOf(usage['promptTokenCount']),
      numberOf(usage['candidatesTokenCount']),
    ];
    if (inputTokens !== undefined && outputTokens !== undefined)
      yield { usage: { inputTokens, outputTokens } };
  }
}
