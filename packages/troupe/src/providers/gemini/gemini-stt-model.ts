import type { HttpSettings } from '../../model/http/http-call-options.ts';
import type { WireCall } from '../../model/http/http-chat-model.ts';
import { numberOf, objectOf, objectsOf, stringOf } from '../../model/http/wire-values.ts';
import type { ModelOrigin } from '../../model/model-error.ts';
import { HttpSttModel, type HttpSttOptions } from '../../stt/http-stt-model.ts';
import type { TranscriptDelta } from '../../stt/stt-model-base.ts';
import { toBase64 } from '../../util/base64.ts';
import type { JsonObject } from '../../util/json.ts';
import { GEMINI, GeminiEndpoint } from './gemini-endpoint.ts';

export interface GeminiSttOptions extends HttpSttOptions {
  /** Model name, such as `gemini-3.8-flash`. */
  readonly modelName: string;
  /** Instruction for the model. @default to write down the words, and nothing else */
  readonly prompt?: string | undefined;
}

const PROMPT =
  'Write down what is said in this recording, word for word, in its language. Answer with these words only; with nothing if nobody speaks.';
/** Gemini takes requests of at most 20 MB, and base64 adds a third. */
const MAX_BYTES = 14 * 1024 * 1024;

/** Speech recognition by a Gemini model that hears. */
export class GeminiSttModel extends HttpSttModel {
  readonly #prompt: string;
  readonly #endpoint: GeminiEndpoint;

  constructor(options: GeminiSttOptions) {
    super(GEMINI, options.modelName, { maxBytes: MAX_BYTES, ...options });
    this.#prompt = options.prompt ?? PROMPT;
    this.#endpoint = new GeminiEndpoint(options);
  }

  protected override toCall(wav: Uint8Array<ArrayBuffer>, settings: HttpSettings): WireCall {
    const inlineData = { mimeType: 'audio/wav', data: toBase64(wav) };
    const contents = [{ role: 'user', parts: [{ inlineData }, { text: this.#prompt }] }];
    return this.#endpoint.call('streamGenerateContent', settings, JSON.stringify({ contents }), {
      alt: 'sse',
    });
  }

  protected override *readEvent(data: JsonObject, _origin: ModelOrigin): Iterable<TranscriptDelta> {
    const [candidate] = objectsOf(data['candidates']);
    for (const part of objectsOf(objectOf(candidate?.['content'])['parts']))
      if (part['thought'] !== true) yield { text: stringOf(part['text']) };
    if (stringOf(candidate?.['finishReason']) === '') return;
    const usage = objectOf(data['usageMetadata']);
    const inputTokens = numberOf(usage['promptTokenCount']);
    const outputTokens = numberOf(usage['candidatesTokenCount']);
    if (inputTokens !== undefined && outputTokens !== undefined)
      yield { usage: { inputTokens, outputTokens } };
  }
}
