import type { EmbeddedBatch, EmbeddingInput } from '../../embedding/embedding-model-base.ts';
import { textOfInput } from '../../embedding/embedding-model-base.ts';
import {
  HttpEmbeddingModel,
  readVectorList,
  type HttpEmbeddingOptions,
} from '../../embedding/http-embedding-model.ts';
import type { HttpSettings } from '../../model/http/http-call-options.ts';
import type { WireCall } from '../../model/http/http-chat-model.ts';
import { numberOf, objectOf } from '../../model/http/wire-values.ts';
import type { JsonObject } from '../../util/json.ts';
import { Endpoint, vendorOf } from './endpoint.ts';
import { CHAT_VENDORS, type ChatVendorName } from './vendors.ts';

export interface OpenAIEmbeddingOptions extends HttpEmbeddingOptions {
  /** Vendor of the API. @default detected from `baseUrl`; without a `baseUrl`, OpenAI */
  readonly vendor?: ChatVendorName | undefined;
  /** For Azure's older addresses. */
  readonly apiVersion?: string | undefined;
}

/** Inputs that a request of a vendor may have at most. */
const MAX_BATCH: Readonly<Partial<Record<ChatVendorName, number>>> = {
  openai: 2048,
  azure: 2048,
  dashscope: 10,
};

/**
 * Text embeddings over the API of OpenAI, which most vendors and local servers have too. `dimensions` is sent
 * only if it is given: older models reject it.
 */
export class OpenAIEmbeddingModel extends HttpEmbeddingModel {
  readonly #endpoint: Endpoint;

  constructor(options: OpenAIEmbeddingOptions) {
    const name = vendorOf(options);
    const vendor = CHAT_VENDORS[name];
    const endpoint = new Endpoint(options, vendor, '/embeddings');
    super({ vendorName: vendor.title, host: endpoint.host, maxBatch: MAX_BATCH[name] ?? 128 }, options);
    this.#endpoint = endpoint;
  }

  protected override toCall(inputs: readonly EmbeddingInput[], settings: HttpSettings): WireCall {
    const body = {
      model: this.modelName,
      input: inputs.map(textOfInput),
      encoding_format: 'float',
      ...(this.askedDimensions !== undefined && { dimensions: this.askedDimensions }),
    };
    return this.#endpoint.call(settings, JSON.stringify(body));
  }

  protected override readAnswer({ data, usage }: JsonObject): EmbeddedBatch | undefined {
    const embeddings = readVectorList(data, 'embedding');
    const { prompt_tokens: prompt, total_tokens: total } = objectOf(usage);
    return embeddings && { embeddings, inputTokens: numberOf(prompt) ?? numberOf(total) };
  }
}
