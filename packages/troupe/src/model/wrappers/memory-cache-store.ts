import { checkNumber } from '../../util/check-number.ts';
import type { ModelDelta } from '../../message/model-delta.ts';

/** Storage of cached responses. Deltas are plain JSON. */
export interface CacheStore {
  get(
    key: string,
  ): readonly ModelDelta[] | undefined | null | Promise<readonly ModelDelta[] | undefined | null>;
  set(key: string, answer: readonly ModelDelta[]): void | Promise<void>;
}

/** Cache store in memory. Drops the least recently used entry when full. */
export class MemoryCacheStore implements CacheStore {
  /** Ordered from least to most recently used. */
  readonly #answers = new Map<string, readonly ModelDelta[]>();
  readonly #maxEntries: number;

  constructor(maxEntries = 1000) {
    checkNumber('maxEntries', maxEntries, { least: 1, whole: true });
    this.#maxEntries = maxEntries;
  }

  get(key: string): readonly ModelDelta[] | undefined {
    const answer = this.#answers.get(key);
    if (answer !== undefined) this.#toEnd(key, answer);
    return answer;
  }

  set(key: string, answer: readonly ModelDelta[]): void {
    this.#toEnd(key, answer);
    if (this.#answers.size <= this.#maxEntries) return;
    for (const oldest of this.#answers.keys()) return void this.#answers.delete(oldest);
  }

  get size(): number {
    return this.#answers.size;
  }

  #toEnd(key: string, answer: readonly ModelDelta[]): void {
    this.#answers.delete(key);
    this.#answers.set(key, answer);
  }
}
