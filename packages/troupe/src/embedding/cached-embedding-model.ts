import { getLogger } from '../config/run-config.ts';
import { messageOf } from '../errors.ts';
import { sha256 } from '../util/hash.ts';
import {
  EmbeddingModelBase,
  type EmbeddedBatch,
  type Embedding,
  type EmbeddingInput,
  type EmbeddingResponse,
  type EmbedOptions,
} from './embedding-model-base.ts';
import { MemoryEmbeddingCache, type EmbeddingCache } from './memory-embedding-cache.ts';

/**
 * Embedding model with a cache: an input embedded before, also by an earlier program, needs no request. Equal
 * inputs of one call are embedded once. A cache that fails is logged, and the model is asked.
 */
export class CachedEmbeddingModel extends EmbeddingModelBase {
  readonly #model: EmbeddingModelBase;
  readonly #cache: EmbeddingCache;

  /** @param cache @default vectors of the last 10 000 inputs, in memory */
  constructor(model: EmbeddingModelBase, cache: EmbeddingCache = new MemoryEmbeddingCache()) {
    const { modelName, vendorName, host, modalities, variant } = model;
    super({ modelName, vendorName, host, modalities, variant, maxBatch: Number.MAX_SAFE_INTEGER });
    this.#model = model;
    this.#cache = cache;
  }

  override get dimensions(): number | undefined {
    return this.#model.dimensions;
  }

  protected override async embedBatch(
    inputs: readonly EmbeddingInput[],
    options: EmbedOptions,
  ): Promise<EmbeddedBatch> {
    return this.#model.embed(inputs, options);
  }

  override async embed(
    inputs: readonly EmbeddingInput[],
    options: EmbedOptions = {},
  ): Promise<EmbeddingResponse> {
    const keys = await Promise.all(inputs.map((input) => this.#keyOf(input, options)));
    const known = new Map<string, Embedding>();
    const stored = await this.#attempt('read', () => this.#cache.get(keys));
    const length = this.#model.dimensions;
    stored?.forEach((embedding, index) => {
      const isUsable = embedding !== undefined && (length === undefined || embedding.length === length);
      if (isUsable) known.set(keys[index] ?? '', embedding);
    });
    const cachedCount = keys.filter((key) => known.has(key)).length;
    const missing = new Map<string, EmbeddingInput>();
    inputs.forEach((input, index) => {
      const key = keys[index] ?? '';
      if (!known.has(key)) missing.set(key, input);
    });
    const answer = await this.#model.embed([...missing.values()], options);
    const entries = [...missing.keys()].map((key, index) => ({ key, embedding: vectorAt(answer, index) }));
    for (const { key, embedding } of entries) known.set(key, embedding);
    if (entries.length > 0) await this.#attempt('write', () => this.#cache.set(entries));
    const embeddings = keys.flatMap((key) => known.get(key) ?? []);
    return { embeddings, usage: answer.usage, cachedCount };
  }

  #keyOf(input: EmbeddingInput, { purpose = 'document' }: EmbedOptions): Promise<string> {
    const { vendorName = '', host = '', modelName, askedDimensions = 0, variant } = this.#model;
    const content = typeof input === 'string' ? { type: 'text', text: input } : input;
    const parts = [vendorName, host, modelName, askedDimensions, purpose, content];
    return sha256(JSON.stringify(variant === '' ? parts : [...parts, variant]));
  }

  async #attempt<T>(what: string, work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      getLogger().log('warn', `The cache of ${this.modelName} could not ${what}: ${messageOf(error)}`);
      return undefined;
    }
  }
}

function vectorAt({ embeddings }: EmbeddingResponse, index: number): Embedding {
  return embeddings[index] ?? new Float32Array();
}
