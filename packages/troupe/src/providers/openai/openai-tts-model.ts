import type { WireCall } from '../../model/http/http-chat-model.ts';
import type { HttpSettings } from '../../model/http/http-call-options.ts';
import {
  HttpTtsModel,
  RawPcmDecoder,
  type HttpTtsOptions,
  type SpeechDecoder,
} from '../../tts/http-tts-model.ts';
import { Endpoint, vendorOf, type OpenAIEndpointOptions } from './endpoint.ts';
import { CHAT_VENDORS } from './vendors.ts';

export interface OpenAITtsOptions
  extends HttpTtsOptions, Pick<OpenAIEndpointOptions, 'vendor' | 'apiVersion'> {
  /** Name of the model. OpenAI's `gpt-4o-mini-tts` and `tts-1` end on 2027-01-06; compatible servers have others. */
  readonly modelName: string;
  /** @default 'alloy' */
  readonly voice?: string | undefined;
  /** Manner of speaking, in words. */
  readonly instructions?: string | undefined;
  /** From 0.25 to 4. @default 1 */
  readonly speed?: number | undefined;
  /** Rate of the sound that the server sends. @default 24 000 */
  readonly rate?: number | undefined;
}

/** Speech over `POST /audio/speech` of OpenAI and of the servers that offer the same API (vLLM, Qwen3-TTS hosts, LocalAI). */
export class OpenAITtsModel extends HttpTtsModel {
  readonly #options: OpenAITtsOptions;
  readonly #endpoint: Endpoint;

  constructor(options: OpenAITtsOptions) {
    const vendor = CHAT_VENDORS[vendorOf(options)];
    super(vendor.title, options.modelName, options);
    this.#options = options;
    this.#endpoint = new Endpoint(options, vendor, '/audio/speech');
  }

  override get cacheKey(): string {
    const { modelName, voice, instructions, speed } = this.#options;
    return JSON.stringify([this.#endpoint.host, modelName, voice, instructions, speed]);
  }

  protected override toCall(input: string, settings: HttpSettings): WireCall {
    const { modelName: model, voice = 'alloy', instructions, speed } = this.#options;
    const body = { model, input, voice, instructions, speed, response_format: 'pcm' };
    return this.#endpoint.call(settings, JSON.stringify(body));
  }

  protected override newDecoder(): SpeechDecoder {
    return new RawPcmDecoder(this.#options.rate ?? 24_000);
  }
}
