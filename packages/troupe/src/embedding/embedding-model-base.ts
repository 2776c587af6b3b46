import { getLogger } from '../config/run-config.ts';
import { TroupeError } from '../errors.ts';
import type { ImageBlock, TextBlock, VideoBlock } from '../message/blocks.ts';
import { addUsage, type Usage } from '../message/usage.ts';
import { ModelError } from '../model/model-error.ts';
import { RequestLimiter } from '../model/wrappers/request-limiter.ts';
import { traced } from '../tracing/instrumentation.ts';
import { forEachConcurrently } from '../util/async/for-each-concurrently.ts';
import { checkNumber, MAX_TIMER_MS } from '../util/check-number.ts';
import { elapsedSince, monotonic, sleep } from '../util/clock.ts';
import { randomFraction } from '../util/ids.ts';

/** Content to embed: a text, or a block. Most models take text only. */
export type EmbeddingInput = string | TextBlock | ImageBlock | VideoBlock;
export type EmbeddingModality = 'text' | 'image' | 'video';

/** One vector of an embedding model. */
export type Embedding = Float32Array<ArrayBuffer>;

export interface EmbedOptions {
  /** Use of the vectors. Some models embed queries and documents differently. @default 'document' */
  readonly purpose?: 'query' | 'document' | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface EmbeddingResponse {
  /** One vector for each input, in the same order. */
  readonly embeddings: readonly Embedding[];
  /** Tokens and seconds of the requests. */
  readonly usage: Usage;
  /** Number of vectors that came from a cache. */
  readonly cachedCount: number;
}

/** Answer to one request of an adapter. */
export interface EmbeddedBatch {
  readonly embeddings: readonly Embedding[];
  readonly inputTokens?: number | undefined;
}

export interface EmbeddingModelOptions {
  /** Length of the vectors. @default the model's own length, taken from its first answer */
  readonly dimensions?: number | undefined;
  /** Maximum inputs of one request. @default the provider's limit */
  readonly batchSize?: number | undefined;
  /** Maximum requests of this model at once, of all its callers together. @default 4 */
  readonly maxConcurrency?: number | undefined;
  /** Maximum attempts of one request, including the first. @default 3 */
  readonly maxAttempts?: number | undefined;
  /** Upper bound of the delay after the first failure; doubles with every attempt. @default 500 */
  readonly baseDelayMs?: number | undefined;
}

interface ModelInfo {
  readonly modelName: string;
  readonly vendorName?: string | undefined;
  readonly host?: string | undefined;
  /** Maximum inputs of one request that the provider takes. */
  readonly maxBatch: number;
  readonly modalities?: readonly EmbeddingModality[] | undefined;
  /** Settings beside the name that change the vectors, as one text: vectors of other settings are another model's. */
  readonly variant?: string | undefined;
}

/**
 * Port to an embedding model: inputs to vectors. An adapter writes `embedBatch`, one request. This class adds
 * batches, limited concurrency, retries, usage, checks of the answer and one span.
 * Folder `embedding`: start here.
 */
export abstract class EmbeddingModelBase {
  readonly modelName: string;
  readonly vendorName: string | undefined;
  readonly host: string | undefined;
  readonly modalities: readonly EmbeddingModality[];
  /** The option `dimensions`. */
  readonly askedDimensions: number | undefined;
  /** Settings beside the name that change the vectors; empty without any. */
  readonly variant: string;
  readonly #batchSize: number;
  readonly #maxConcurrency: number;
  readonly #maxAttempts: number;
  readonly #baseDelayMs: number;
  readonly #limiter: RequestLimiter;
  #dimensions: number | undefined;

  constructor(info: ModelInfo, options: EmbeddingModelOptions = {}) {
    const { dimensions, batchSize = info.maxBatch, maxConcurrency = 4, maxAttempts = 3 } = options;
    const { baseDelayMs = 500 } = options;
    if (dimensions !== undefined) checkNumber('dimensions', dimensions, { least: 1, whole: true });
    checkNumber('batchSize', batchSize, { least: 1, most: info.maxBatch, whole: true });
    checkNumber('maxConcurrency', maxConcurrency, { least: 1, whole: true });
    checkNumber('maxAttempts', maxAttempts, { least: 1, whole: true });
    checkNumber('baseDelayMs', baseDelayMs, { least: 0, most: MAX_TIMER_MS });
    if (typeof info.modelName !== 'string' || info.modelName === '')
      throw new TroupeError('invalid_config', 'An embedding model needs a modelName.');
    this.modelName = info.modelName;
    this.vendorName = info.vendorName;
    this.host = info.host;
    this.modalities = info.modalities ?? ['text'];
    this.askedDimensions = dimensions;
    this.variant = info.variant ?? '';
    this.#dimensions = dimensions;
    this.#batchSize = batchSize;
    this.#maxConcurrency = maxConcurrency;
    this.#maxAttempts = maxAttempts;
    this.#baseDelayMs = baseDelayMs;
    this.#limiter = new RequestLimiter({ maxConcurrent: maxConcurrency });
  }

  /** Length of the vectors; undefined until the first answer if not configured. */
  get dimensions(): number | undefined {
    return this.#dimensions;
  }

  /** Sends one request. The number of inputs is at most the batch size. @throws ModelError */
  protected abstract embedBatch(
    inputs: readonly EmbeddingInput[],
    options: Required<Pick<EmbedOptions, 'purpose'>> & { readonly signal: AbortSignal | undefined },
  ): Promise<EmbeddedBatch>;

  /**
   * Vectors of inputs, in the same order. Fails as a whole.
   * @throws TroupeError for an input that the model does not take
   * @throws ModelError if a request fails for good
   */
  async embed(
    inputs: readonly EmbeddingInput[],
    { purpose = 'document', signal }: EmbedOptions = {},
  ): Promise<EmbeddingResponse> {
    for (const input of inputs) this.#checkInput(input);
    if (inputs.length === 0) return { embeddings: [], usage: NO_USAGE, cachedCount: 0 };
    const { modelName, vendorName, host } = this;
    return traced(
      () => ({
        type: 'embedding',
        model: { modelName, vendorName, host },
        inputCount: inputs.length,
        dimensions: this.#dimensions,
      }),
      () => this.#embedAll(inputs, purpose, signal),
      {
        signal,
        outcomeOf: ({ embeddings, usage }) => ({ status: 'ok', usage, count: embeddings.length }),
      },
    );
  }

  async #embedAll(
    inputs: readonly EmbeddingInput[],
    purpose: 'query' | 'document',
    signal: AbortSignal | undefined,
  ): Promise<EmbeddingResponse> {
    const startedAt = monotonic();
    const batches = Array.from({ length: Math.ceil(inputs.length / this.#batchSize) }, (_, index) =>
      inputs.slice(index * this.#batchSize, (index + 1) * this.#batchSize),
    );
    const answers: EmbeddedBatch[] = [];
    await forEachConcurrently(batches, this.#maxConcurrency, async (batch, index) => {
      signal?.throwIfAborted();
      answers[index] = await this.#attempt(batch, purpose, signal);
    });
    const embeddings = answers.flatMap((answer) => answer.embeddings);
    const inputTokens = answers.reduce((sum, answer) => sum + (answer.inputTokens ?? 0), 0);
    const seconds = elapsedSince(startedAt) / 1000;
    return { embeddings, usage: { inputTokens, outputTokens: 0, seconds }, cachedCount: 0 };
  }

  async #attempt(
    batch: readonly EmbeddingInput[],
    purpose: 'query' | 'document',
    signal: AbortSignal | undefined,
  ): Promise<EmbeddedBatch> {
    for (let attempt = 1; ; attempt++) {
      try {
        return this.#checked(batch, await this.#request(batch, purpose, signal));
      } catch (error) {
        signal?.throwIfAborted();
        const canRetry = ModelError.isInstance(error) && error.isRetryable && attempt < this.#maxAttempts;
        if (!canRetry) throw error;
        const bound = Math.min(30_000, this.#baseDelayMs * 2 ** (attempt - 1));
        const delayMs = error.retryAfterMs ?? randomFraction() * bound;
        if (delayMs > 60_000) throw error;
        getLogger().log('warn', `${this.modelName} failed (${error.kind}) and is retried.`, {
          attempt,
          delayMs,
        });
        await sleep(delayMs, signal);
      }
    }
  }

  async #request(
    batch: readonly EmbeddingInput[],
    purpose: 'query' | 'document',
    signal: AbortSignal | undefined,
  ): Promise<EmbeddedBatch> {
    const admission = await this.#limiter.acquire(0, signal ?? new AbortController().signal);
    try {
      return await this.embedBatch(batch, { purpose, signal });
    } finally {
      admission.end();
    }
  }

  #checked(batch: readonly EmbeddingInput[], answer: EmbeddedBatch): EmbeddedBatch {
    const { embeddings } = answer;
    const expected = (this.#dimensions ??= embeddings[0]?.length);
    const isWhole =
      embeddings.length === batch.length &&
      embeddings.every(
        (vector) => vector.length === expected && vector.every((value) => Number.isFinite(value)),
      );
    if (isWhole) return answer;
    const lengths = [...new Set(embeddings.map(({ length }) => length))].join(', ');
    const problem = `${this.modelName} gave ${embeddings.length} vectors of ${lengths} numbers for ${batch.length} inputs; vectors of ${expected} numbers were expected.`;
    throw new ModelError(problem, { kind: 'malformed', model: this.modelName });
  }

  #checkInput(input: EmbeddingInput): void {
    const modality = typeof input === 'string' ? 'text' : input.type;
    if (!this.modalities.includes(modality))
      throw new TroupeError(
        'invalid_config',
        `${this.modelName} embeds ${this.modalities.join(', ')}, not ${modality}.`,
      );
    if (modality === 'text' && textOfInput(input).trim() === '')
      throw new TroupeError('invalid_config', 'An empty text has no embedding. Leave it out.');
  }
}

const NO_USAGE: Usage = Object.freeze({ inputTokens: 0, outputTokens: 0, seconds: 0 });

/** Text of an input; empty for media. */
export function textOfInput(input: EmbeddingInput): string {
  return typeof input === 'string' ? input : input.type === 'text' ? input.text : '';
}

/** The sum of two usages of embedding models. */
export function addEmbeddingUsage(a: Usage, b: Usage): Usage {
  return addUsage(a, b) ?? NO_USAGE;
}

/** Cosine of the angle between two vectors of the same length, from -1 to 1; 0 for a zero vector. */
export function cosineSimilarity(a: Float32Array, b: Float32Array): number {
  let [dot, aa, bb] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    const [x, y] = [a[i] ?? 0, b[i] ?? 0];
    dot += x * y;
    aa += x * x;
    bb += y * y;
  }
  return aa === 0 || bb === 0 ? 0 : dot / Math.sqrt(aa * bb);
}
