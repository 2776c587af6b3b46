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
import { numberOf, objectOf } from '../../model/http/wire-values.ts';
import type { JsonObject } from '../../util/json.ts';
import { DASHSCOPE, DashScopeEndpoint } from './dashscope-endpoint.ts';

/** Text embeddings of DashScope, in batches of 10. */
export class DashScopeTextEmbedding extends HttpEmbeddingModel {
  readonly #endpoint: DashScopeEndpoint;

  constructor(options: HttpEmbeddingOptions) {
    const endpoint = new DashScopeEndpoint(options, 'embeddings/text-embedding/text-embedding');
    super({ vendorName: DASHSCOPE, host: endpoint.host, maxBatch: 10 }, options);
    this.#endpoint = endpoint;
  }

  protected override toCall(
    inputs: readonly EmbeddingInput[],
    settings: HttpSettings,
    purpose: 'query' | 'document',
  ): WireCall {
    const body = {
      model: this.modelName,
      input: { texts: inputs.map(textOfInput) },
      parameters: {
        text_type: purpose,
        ...(this.askedDimensions !== undefined && { dimension: this.askedDimensions }),
      },
    };
    return this.#endpoint.call(settings, JSON.stringify(body));
  }

  protected override readAnswer({ output, usage }: JsonObject): EmbeddedBatch | undefined {
    const embeddings = readVectorList(objectOf(output)['embeddings'], 'embedding');
    return embeddings && { embeddings, inputTokens: numberOf(objectOf(usage)['total_tokens']) };
  }
}
