import { abortable } from '../abort.ts';

/**
 * Work that several callers wait for, each as long as its own signal lets it.
 * When all of them have left, the work is stopped.
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

  /** It failed or was stopped: whoever comes now should start anew. */
  get hasFailed(): boolean {
    return this.#state === 'failed';
  }

  /** Rejects with the signal's reason as soon as it is aborted; the others wait on. */
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
