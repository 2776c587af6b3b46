import { checkNumber } from '../util/check-number.ts';
import type { Embedding } from './embedding-model-base.ts';

/** Storage of vectors by the hash of model and content. */
export interface EmbeddingCache {
  /** Vectors of keys; undefined for a key without one. */
  get(keys: readonly string[]): Promise<readonly (Embedding | undefined)[]>;
  set(entries: readonly { readonly key: string; readonly embedding: Embedding }[]): Promise<void>;
}

/** Embedding cache in memory. Drops the least recently used entry when full. */
export class MemoryEmbeddingCache implements EmbeddingCache {
  /** Ordered from least to most recently used. */
  readonly #entries = new Map<string, Embedding>();
  readonly #maxEntries: number;

  constructor(maxEntries = 10_000) {
    checkNumber('maxEntries', maxEntries, { least: 1, whole: true });
    this.#maxEntries = maxEntries;
  }

  async get(keys: readonly string[]): Promise<readonly (Embedding | undefined)[]> {
    return keys.map((key) => {
      const embedding = this.#entries.get(key);
      if (embedding !== undefined) this.#toEnd(key, embedding);
      return embedding;
    });
  }

  async set(entries: readonly { readonly key: string; readonly embedding: Embedding }[]): Promise<void> {
    for (const { key, embedding } of entries) this.#toEnd(key, embedding);
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= this.#maxEntries) return;
      this.#entries.delete(oldest);
    }
  }

  get size(): number {
    return this.#entries.size;
  }

  #toEnd(key: string, embedding: Embedding): void {
    this.#entries.delete(key);
    this.#entries.set(key, embedding);
  }
}
