import type { ServiceStore } from '../store/service-store.ts';
import type { StoredEvent } from '../store/event-table.ts';

/** Maximum characters of events that wait for their commit before a run waits. */
const MAX_UNCOMMITTED = 1_000_000;

export interface WriterListener {
  /** Called with events that were committed. */
  told(events: readonly StoredEvent[]): void;
  /** Called when the attempt writes no more. */
  closed(): void;
  /** Called when events could not be committed: the attempt has to end. */
  failed(error: unknown): void;
}

/** Writes the events of one attempt at a run. Events that arrive while a commit runs share the next commit. */
export class EventWriter {
  readonly #store: ServiceStore;
  readonly #runId: string;
  readonly #attempt: number;
  readonly #listener: WriterListener;
  #waiting: string[] = [];
  #size = 0;
  #commit: Promise<void> | undefined;
  /** The first failure: events behind a lost one are not written, so that none is missing in between. */
  #failure: Error | undefined;

  constructor(store: ServiceStore, runId: string, attempt: number, listener: WriterListener) {
    this.#store = store;
    this.#runId = runId;
    this.#attempt = attempt;
    this.#listener = listener;
  }

  /** Adds an event as JSON; returns a promise only if the run should wait. */
  add(data: string): void | Promise<void> {
    this.#waiting.push(data);
    this.#size += data.length;
    this.#commit ??= this.#flushAll();
    this.#commit.catch(() => {}); // told by `flushed`, and by the next wait
    if (this.#size > MAX_UNCOMMITTED) return this.#commit;
  }

  /** Resolves when every event is committed. @throws FencedError if another attempt has begun */
  async flushed(): Promise<void> {
    await this.#commit;
    if (this.#failure !== undefined) throw this.#failure;
  }

  close(): void {
    this.#listener.closed();
  }

  async #flushAll(): Promise<void> {
    try {
      if (this.#failure !== undefined) throw this.#failure;
      while (this.#waiting.length > 0) await this.#flush();
    } catch (error) {
      this.#failure = error instanceof Error ? error : new Error(String(error));
      this.#listener.failed(error);
      throw error;
    } finally {
      this.#commit = undefined;
    }
  }

  async #flush(): Promise<void> {
    let batch: string[] | undefined;
    let first = 0;
    await this.#store.commits.add(async (tx) => {
      if (batch === undefined) {
        batch = this.#waiting;
        this.#waiting = [];
        this.#size = 0;
      }
      await this.#store.runs.assertAttempt(tx, this.#runId, this.#attempt);
      first = await this.#store.events.append(tx, this.#runId, this.#attempt, batch);
    });
    this.#listener.told((batch ?? []).map((data, index) => ({ n: first + index, data })));
  }
}
