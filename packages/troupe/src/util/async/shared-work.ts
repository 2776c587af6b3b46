import { abortable } from '../abort.ts';

/**
 * Work that several callers await, each until its own signal is aborted. Stops the work when no caller is
 * left.
 */
export class SharedWork<T> {
  readonly #stop = new AbortController();
  readonly #result: Promise<T>;
  #state: 'running' | 'done' | 'failed' = 'running';
  #waiting = 0;

  constructor(work: (signal: AbortSignal) => Promise<T>) {
    this.#result = work(this.#stop.signal).then(
      (value) => {
        this.#state = 'done';
        return value;
      },
      (error: unknown) => {
        this.#state = 'failed';
        throw error;
      },
    );
  }

  /** True after a failure, or after a stop because no caller was left: start new work. */
  get hasFailed(): boolean {
    return this.#state === 'failed';
  }

  /** Rejects with the signal's reason as soon as the signal is aborted; other callers continue to wait. */
  async wait(signal?: AbortSignal): Promise<T> {
    this.#waiting += 1;
    try {
      return await (signal === undefined ? this.#result : abortable(this.#result, signal));
    } finally {
      this.#waiting -= 1;
      if (this.#waiting === 0 && this.#state === 'running') {
        this.#state = 'failed';
        this.#stop.abort();
      }
    }
  }
}
