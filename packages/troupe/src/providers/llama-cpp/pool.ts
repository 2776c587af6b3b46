import { whenAborted } from '../../util/abort.ts';

/** Pool of items for exclusive use. Waiting callers are served in order. */
export class Pool<T> {
  readonly #free: T[];
  readonly #waiting: ((item: T) => void)[] = [];

  constructor(items: readonly T[]) {
    this.#free = [...items];
  }

  /**
   * Takes the free item with the highest `score`, or waits for the next free one. The caller must give the item back by
   * `release`. Rejects with the signal's reason as soon as the signal is aborted.
   */
  async acquire(score: (item: T) => number, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    const best = this.#best(score);
    if (best !== undefined) return best;
    return new Promise((resolve, reject) => {
      const serve = (item: T): void => {
        unlink();
        resolve(item);
      };
      this.#waiting.push(serve);
      const unlink = whenAborted(signal, (reason) => {
        this.#waiting.splice(this.#waiting.indexOf(serve), 1);
        reject(reason);
      });
    });
  }

  release(item: T): void {
    const serve = this.#waiting.shift();
    if (serve === undefined) this.#free.push(item);
    else serve(item);
  }

  #best(score: (item: T) => number): T | undefined {
    const ranked = this.#free.map((item, at) => ({ at, score: score(item) }));
    const [best] = ranked.sort((a, b) => b.score - a.score);
    return best && this.#free.splice(best.at, 1)[0];
  }
}
