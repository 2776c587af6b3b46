import {
  textOfInput,
  type EmbeddedBatch,
  type EmbeddingInput,
} from '../../embedding/embedding-model-base.ts';
import {
  HttpEmbeddingModel,
  readVectorList,
  type HttpEmbeddingOptions,
} from '../../embedding/http-embedding-model.ts';
import type { HttpSettings } from '../../model/http/http-call-options.ts';
import type { WireCall } from '../../model/http/http-chat-model.ts';
import type { JsonObject } from '../../util/json.ts';
import { GEMINI, GeminiEndpoint } from './gemini-endpoint.ts';

const TASK = { query: 'RETRIEVAL_QUERY', document: 'RETRIEVAL_DOCUMENT' } as const;

/** Text embeddings of Gemini. Queries and documents are embedded differently, as the model is made for. */
export class GeminiEmbeddingModel extends HttpEmbeddingModel {
  readonly #endpoint: GeminiEndpoint;

  constructor(options: HttpEmbeddingOptions) {
    const endpoint = new GeminiEndpoint(options);
    super({ vendorName: GEMINI, host: endpoint.host, maxBatch: 100 }, options);
    this.#endpoint = endpoint;
  }

  protected override toCall(
    inputs: readonly EmbeddingInput[],
    settings: HttpSettings,
    purpose: 'query' | 'document',
  ): WireCall {
    const requests = inputs.map((input) => ({
      model: this.#endpoint.model,
      content: { parts: [{ text: textOfInput(input) }] },
      taskType: TASK[purpose],
      ...(this.askedDimensions !== undefined && { outputDimensionality: this.askedDimensions }),
    }));
    return this.#endpoint.call('batchEmbedContents', settings, JSON.stringify({ requests }));
  }

  protected override readAnswer({ embeddings: list }: JsonObject): EmbeddedBatch | undefined {
    const embeddings = readVectorList(list, 'values');
    return embeddings && { embeddings };
  }
}
