import {
  textOfInput,
  type EmbeddedBatch,
  type EmbeddingInput,
} from '../../embedding/embedding-model-base.ts';
import {
  HttpEmbeddingModel,
  readVector,
  type HttpEmbeddingOptions,
} from '../../embedding/http-embedding-model.ts';
import { checkKey, joinUrl, mergeHeaders } from '../../model/http/headers.ts';
import type { HttpSettings } from '../../model/http/http-call-options.ts';
import type { WireCall } from '../../model/http/http-chat-model.ts';
import { numberOf } from '../../model/http/wire-values.ts';
import type { JsonObject } from '../../util/json.ts';
import { readEnv } from '#platform';
import { ollamaAddress } from './ollama-address.ts';

const VENDOR = 'Ollama';

export interface OllamaEmbeddingOptions extends HttpEmbeddingOptions {
  /** Time the model stays loaded after an answer. @default the server's setting */
  readonly keepAlive?: string | number | undefined;
}

/** Text embeddings of a local Ollama. Server address: `baseUrl`, else OLLAMA_HOST, else 127.0.0.1:11434. */
export class OllamaEmbeddingModel extends HttpEmbeddingModel {
  readonly #ownUrl: string;
  readonly #keepAlive: string | number | undefined;

  constructor(options: OllamaEmbeddingOptions) {
    const url = ollamaAddress(options.baseUrl ?? readEnv('OLLAMA_HOST') ?? '');
    super({ vendorName: VENDOR, host: new URL(url).host, maxBatch: 256 }, options);
    this.#ownUrl = url;
    this.#keepAlive = options.keepAlive;
  }

  protected override toCall(inputs: readonly EmbeddingInput[], settings: HttpSettings): WireCall {
    const { apiKey: key = readEnv('OLLAMA_API_KEY') || undefined, headers, query } = settings;
    const own = key === undefined ? {} : { authorization: `Bearer ${checkKey(VENDOR, key)}` };
    const body = {
      model: this.modelName,
      input: inputs.map(textOfInput),
      ...(this.askedDimensions !== undefined && { dimensions: this.askedDimensions }),
      ...(this.#keepAlive !== undefined && { keep_alive: this.#keepAlive }),
    };
    return {
      url: joinUrl(this.#ownUrl, '/api/embed', query),
      headers: mergeHeaders({ 'content-type': 'application/json', ...own }, headers),
      body: JSON.stringify(body),
      secrets: key === undefined ? [] : [key],
    };
  }

  protected override readAnswer({
    embeddings: list,
    prompt_eval_count: tokens,
  }: JsonObject): EmbeddedBatch | undefined {
    if (!Array.isArray(list)) return undefined;
    const embeddings = list.flatMap((vector) => readVector(vector) ?? []);
    return embeddings.length === list.length ? { embeddings, inputTokens: numberOf(tokens) } : undefined;
  }
}
