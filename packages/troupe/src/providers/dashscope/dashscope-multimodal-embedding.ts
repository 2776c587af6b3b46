import { TroupeError } from '../../errors.ts';
import type { EmbeddedBatch, EmbeddingInput } from '../../embedding/embedding-model-base.ts';
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

/** Families of models, by the start of their name: their fixed vector length, and inputs of one request. */
const FAMILIES: readonly { readonly name: string; readonly dimensions: number; readonly maxBatch: number }[] =
  [
    { name: 'tongyi-embedding-vision-plus', dimensions: 1152, maxBatch: 8 },
    { name: 'tongyi-embedding-vision-flash', dimensions: 768, maxBatch: 8 },
    { name: 'multimodal-embedding-', dimensions: 1024, maxBatch: 1 },
  ];

/**
 * Embeddings of texts, images and videos in one space, by DashScope. The length of the vectors is that of the
 * model. A video is given by URL only.
 */
export class DashScopeMultimodalEmbedding extends HttpEmbeddingModel {
  readonly #endpoint: DashScopeEndpoint;

  constructor(options: HttpEmbeddingOptions) {
    const family = FAMILIES.find(({ name }) => options.modelName.startsWith(name));
    if (family === undefined) {
      const names = FAMILIES.map(({ name }) => `${name}…`).join(', ');
      throw new TroupeError(
        'invalid_config',
        `The modelName of a multimodal model begins with one of ${names}`,
      );
    }
    const { dimensions, maxBatch } = family;
    if (options.dimensions !== undefined && options.dimensions !== dimensions)
      throw new TroupeError(
        'invalid_config',
        `${options.modelName} has vectors of ${dimensions} numbers only.`,
      );
    const endpoint = new DashScopeEndpoint(options, 'embeddings/multimodal-embedding/multimodal-embedding');
    const modalities = ['text', 'image', 'video'] as const;
    super({ vendorName: DASHSCOPE, host: endpoint.host, maxBatch, modalities }, { ...options, dimensions });
    this.#endpoint = endpoint;
  }

  protected override toCall(inputs: readonly EmbeddingInput[], settings: HttpSettings): WireCall {
    const body = { model: this.modelName, input: { contents: inputs.map(toContent) } };
    return this.#endpoint.call(settings, JSON.stringify(body));
  }

  protected override readAnswer({ output, usage }: JsonObject): EmbeddedBatch | undefined {
    const embeddings = readVectorList(objectOf(output)['embeddings'], 'embedding');
    return embeddings && { embeddings, inputTokens: numberOf(objectOf(usage)['input_tokens']) };
  }
}

function toContent(input: EmbeddingInput): Record<string, string> {
  if (typeof input === 'string') return { text: input };
  if (input.type === 'text') return { text: input.text };
  const { type, source } = input;
  if (source.type === 'url') return { [type]: source.url };
  if (type === 'video') throw new TroupeError('invalid_config', `${DASHSCOPE} takes a video by URL only.`);
  return { [type]: `data:${source.mediaType};base64,${source.data}` };
}
