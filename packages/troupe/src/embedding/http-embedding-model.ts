import type { Deadlines } from '../model/http/deadlines.ts';
import { checkDeadlines } from '../model/http/deadlines.ts';
import { secretsInQuery } from '../model/http/headers.ts';
import { settleHttp, type HttpCallOptions, type HttpSettings } from '../model/http/http-call-options.ts';
import { malformedResponse, responseError } from '../model/http/http-error.ts';
import type { WireCall } from '../model/http/http-chat-model.ts';
import { readWholeText } from '../model/http/read-response.ts';
import { numberOf } from '../model/http/wire-values.ts';
import { withOrigin } from '../model/model-error.ts';
import { isJsonObject, readJson, type JsonObject } from '../util/json.ts';
import { platformFetch, type Fetch } from '../util/net/http.ts';
import {
  EmbeddingModelBase,
  type EmbeddedBatch,
  type Embedding,
  type EmbeddingInput,
  type EmbeddingModality,
  type EmbeddingModelOptions,
} from './embedding-model-base.ts';

export interface HttpEmbeddingOptions extends EmbeddingModelOptions, Omit<HttpCallOptions, 'stream'> {
  /** Model name of the provider. */
  readonly modelName: string;
  /** Function that sends requests. @default the platform's fetch */
  readonly fetch?: Fetch | undefined;
  /** Time limits for each part of a response. */
  readonly deadlines?: Deadlines | undefined;
}

interface ProviderInfo {
  /** Name of the provider in errors and spans. */
  readonly vendorName: string;
  readonly host: string;
  readonly maxBatch: number;
  readonly modalities?: readonly EmbeddingModality[] | undefined;
}

const NEVER = (): boolean => false;

/**
 * Base class of embedding models behind an HTTP API. A provider writes the request (`toCall`) and reads the
 * answer (`readAnswer`), both without side effects.
 */
export abstract class HttpEmbeddingModel extends EmbeddingModelBase {
  readonly #options: HttpEmbeddingOptions;

  constructor(provider: ProviderInfo, options: HttpEmbeddingOptions) {
    super({ ...provider, modelName: options.modelName }, options);
    checkDeadlines(options.deadlines);
    this.#options = options;
  }

  protected abstract toCall(
    inputs: readonly EmbeddingInput[],
    settings: HttpSettings,
    purpose: 'query' | 'document',
  ): WireCall;

  /** @returns undefined if the answer has no vectors */
  protected abstract readAnswer(answer: JsonObject): EmbeddedBatch | undefined;

  protected override async embedBatch(
    inputs: readonly EmbeddingInput[],
    { purpose, signal }: { readonly purpose: 'query' | 'document'; readonly signal: AbortSignal | undefined },
  ): Promise<EmbeddedBatch> {
    const origin = { vendor: this.vendorName, model: this.modelName, host: this.host };
    const { fetch = platformFetch, deadlines = {} } = this.#options;
    try {
      const settings = await settleHttp(this.#options, {}, signal ?? new AbortController().signal);
      const call = this.toCall(inputs, settings, purpose);
      const secrets = [
        ...(settings.apiKey === undefined ? [] : [settings.apiKey]),
        ...(call.secrets ?? []),
        ...secretsInQuery(call.url),
      ];
      const text = await readWholeText({ ...call, origin, secrets, fetch, deadlines, isOver: NEVER }, signal);
      const answer = readJson(text);
      if (!isJsonObject(answer)) throw malformedResponse(origin, 'an answer that is not JSON');
      const batch = this.readAnswer(answer);
      if (batch !== undefined) return batch;
      throw 'error' in answer || 'code' in answer
        ? responseError({ origin, body: text })
        : malformedResponse(origin, 'an answer without vectors');
    } catch (error) {
      throw withOrigin(error, origin);
    }
  }
}

/** A vector from JSON; undefined if it is none. */
export function readVector(value: unknown): Embedding | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const numbers = value.map(numberOf);
  return numbers.includes(undefined) ? undefined : Float32Array.from(numbers as number[]);
}

/** Vectors from JSON, put in order by `index` where there is one; undefined if one of them is none. */
export function readVectorList(values: unknown, field: string): readonly Embedding[] | undefined {
  if (!Array.isArray(values)) return undefined;
  const items = values.map((value, position) => {
    const item = isJsonObject(value) ? value : {};
    const index = numberOf(item['index']) ?? numberOf(item['text_index']) ?? position;
    return { index, vector: readVector(item[field]) };
  });
  const sorted = items.toSorted((a, b) => a.index - b.index).flatMap(({ vector }) => vector ?? []);
  return sorted.length === values.length ? sorted : undefined;
}
