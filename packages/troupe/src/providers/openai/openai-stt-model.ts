import type { HttpSettings } from '../../model/http/http-call-options.ts';
import type { WireCall } from '../../model/http/http-chat-model.ts';
import { numberOf, objectOf, stringOf } from '../../model/http/wire-values.ts';
import type { ModelOrigin } from '../../model/model-error.ts';
import { HttpSttModel, type HttpSttOptions } from '../../stt/http-stt-model.ts';
import type { TranscriptDelta } from '../../stt/stt-model-base.ts';
import { joinBytes } from '../../util/audio/pcm.ts';
import { newId } from '../../util/ids.ts';
import type { JsonObject } from '../../util/json.ts';
import { Endpoint, vendorOf, type OpenAIEndpointOptions } from './endpoint.ts';
import { CHAT_VENDORS } from './vendors.ts';

export interface OpenAISttOptions
  extends HttpSttOptions, Pick<OpenAIEndpointOptions, 'vendor' | 'apiVersion'> {
  /** Name of the model, such as `gpt-transcribe`. OpenAI's `whisper-1` and `gpt-4o-transcribe` end on 2027-02-26. */
  readonly modelName: string;
  /** Language of the sound, such as `en`. @default detected */
  readonly language?: string | undefined;
  /** Text that helps with names and spelling. */
  readonly prompt?: string | undefined;
}

const encoder = new TextEncoder();

/** Speech recognition over `POST /audio/transcriptions` of OpenAI and of the servers that offer the same API (vLLM, Groq, LocalAI, whisper.cpp). */
export class OpenAISttModel extends HttpSttModel {
  readonly #options: OpenAISttOptions;
  readonly #endpoint: Endpoint;

  constructor(options: OpenAISttOptions) {
    const vendor = CHAT_VENDORS[vendorOf(options)];
    super(vendor.title, options.modelName, options);
    this.#options = options;
    this.#endpoint = new Endpoint(options, vendor, '/audio/transcriptions');
  }

  protected override toCall(wav: Uint8Array<ArrayBuffer>, settings: HttpSettings): WireCall {
    const { modelName: model, language, prompt } = this.#options;
    const fields = { model, response_format: 'json', stream: 'true', language, prompt };
    const boundary = `----troupe-${newId()}`;
    const body = multipart(boundary, fields, wav);
    return this.#endpoint.call(settings, body, `multipart/form-data; boundary=${boundary}`);
  }

  /** Events `transcript.text.delta` and `.done`, or one object with the whole text. */
  protected override *readEvent(
    data: JsonObject,
    _origin: ModelOrigin,
    hasText: boolean,
  ): Iterable<TranscriptDelta> {
    const type = stringOf(data['type']);
    if (type === 'transcript.text.delta') yield { text: stringOf(data['delta']) };
    else if (type === '' || (type === 'transcript.text.done' && !hasText))
      yield { text: stringOf(data['text']) };
    const usage = objectOf(data['usage']);
    const inputTokens = numberOf(usage['input_tokens']);
    const outputTokens = numberOf(usage['output_tokens']);
    if (inputTokens !== undefined && outputTokens !== undefined)
      yield { usage: { inputTokens, outputTokens } };
  }
}

function multipart(
  boundary: string,
  fields: Readonly<Record<string, string | undefined>>,
  wav: Uint8Array,
): Uint8Array<ArrayBuffer> {
  const part = (header: string, value: string): string =>
    `--${boundary}\r\ncontent-disposition: form-data; ${header}\r\n\r\n${value}`;
  const texts = Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [`${part(`name="${name}"`, value)}\r\n`],
  );
  const file = part('name="file"; filename="sound.wav"\r\ncontent-type: audio/wav', '');
  const start = encoder.encode(texts.join('') + file);
  return joinBytes([start, wav, encoder.encode(`\r\n--${boundary}--\r\n`)]);
}
