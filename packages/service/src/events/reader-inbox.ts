import type { StoredEvent } from '../store/event-table.ts';
import type { WakeQueue } from './wake-queue.ts';

/** Maximum events that wait for a reader in memory. A slower reader reads from the store again. */
const MAX_WAITING = 1000;

/** Events that one reader was told and has not read. */
export class ReaderInbox {
  readonly #signal: AbortSignal;
  readonly #wakes: WakeQueue;
  #events: StoredEvent[] = [];
  /** Whether the store may hold what was not told. */
  #isLookWanted = false;
  #wake: (() => void) | undefined;
  /** Whether the end of the run was told. */
  isEnd = false;

  /** @param wakes queue by which the reader is woken */
  constructor(signal: AbortSignal, wakes: WakeQueue) {
    this.#signal = signal;
    this.#wakes = wakes;
    signal.addEventListener('abort', this.#wakeUp);
  }

  readonly #wakeUp = (): void => {
    if (this.#wake !== undefined) this.#wakes.add(this.#wake);
    this.#wake = undefined;
  };

  /** Gets committed events. `isEnd`: the run has no more. */
  put(events: readonly StoredEvent[], isEnd: boolean): void {
    this.isEnd ||= isEnd;
    if (this.#events.length + events.length > MAX_WAITING) return this.look();
    this.#events.push(...events);
    this.#wakeUp();
  }

  /** Has the reader look into the store. */
  look(): void {
    this.#isLookWanted = true;
    this.#events = [];
    this.#wakeUp();
  }

  /** Waits for events. Undefined if the reader has to look into the store, or was aborted. */
  async take(): Promise<readonly StoredEvent[] | undefined> {
    while (this.#events.length === 0 && !this.#isLookWanted && !this.#signal.aborted)
      await new Promise<void>((resolve) => (this.#wake = resolve));
    const events = this.#events;
    const isWhole = !this.#isLookWanted && events.length > 0;
    this.#events = [];
    this.#isLookWanted = false;
    return isWhole ? events : undefined;
  }

  close(): void {
    this.#signal.removeEventListener('abort', this.#wakeUp);
  }
}
