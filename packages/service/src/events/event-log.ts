import type { ServiceStore } from '../store/service-store.ts';
import { isEnded } from '../store/run-record.ts';
import type { StoredEvent } from '../store/event-table.ts';
import { EventWriter } from './event-writer.ts';
import { ReaderInbox } from './reader-inbox.ts';
import { WakeQueue } from './wake-queue.ts';

const PAGE = 500;
/** Interval of looking for events that another process has written. */
const POLL_MS = 100;
/** Interval with a store that sends notices: finds the events of lost notices. */
const SLOW_POLL_MS = 2000;

/**
 * The events of all runs: stored first, told afterwards. A reader begins behind any event, reads what is stored, and goes on with what
 * is told, without a gap and without a repetition, whichever process writes. Events of other processes are noticed by notices of the
 * store, and by one look for all readers together. Folder `events`: start here.
 */
export class EventLog {
  readonly #store: ServiceStore;
  readonly #wakes = new WakeQueue();
  readonly #inboxes = new Map<string, Set<ReaderInbox>>();
  /** Runs that this process writes: their events are told without a look. */
  readonly #written = new Map<string, number>();
  /** The state of each watched run at the last look. */
  #seen = new Map<string, string>();
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;
  #readers = 0;

  constructor(store: ServiceStore) {
    this.#store = store;
  }

  /** Number of open readers. */
  get readers(): number {
    return this.#readers;
  }

  /** A writer for one attempt at a run. Writes are refused when another attempt has begun. */
  writer(runId: string, attempt: number, failed: (error: unknown) => void): EventWriter {
    this.#written.set(runId, (this.#written.get(runId) ?? 0) + 1);
    return new EventWriter(this.#store, runId, attempt, {
      told: (events) => this.tell(runId, events, false),
      failed,
      closed: () => {
        const left = (this.#written.get(runId) ?? 1) - 1;
        if (left > 0) this.#written.set(runId, left);
        else this.#written.delete(runId);
        this.noticed(runId); // another process may go on with the run
      },
    });
  }

  /** Tells readers about committed events: readers of this process at once, other processes by a notice. */
  tell(runId: string, events: readonly StoredEvent[], isEnd: boolean): void {
    for (const inbox of this.#inboxes.get(runId) ?? []) inbox.put(events, isEnd);
    this.#store.notices?.send('events', runId);
  }

  /** Has the readers of a run look into the store. Without a run: all readers. */
  noticed(runId?: string): void {
    const inboxes = runId === undefined ? this.#inboxes.values() : [this.#inboxes.get(runId) ?? []];
    for (const some of inboxes) for (const inbox of some) inbox.look();
  }

  /**
   * Events behind `after`, in batches, until the run has ended. Before the first read, `after` 0 means: from the beginning of the last
   * attempt. Ends early when `signal` is aborted.
   */
  async *follow(
    runId: string,
    after: number,
    signal: AbortSignal,
  ): AsyncGenerator<readonly StoredEvent[], void, void> {
    let last = after === 0 ? await this.#store.events.startOf(runId) : after;
    const inbox = new ReaderInbox(signal, this.#wakes);
    this.#add(runId, inbox);
    try {
      while (!signal.aborted) {
        const stored = await this.#store.events.read(runId, last, PAGE);
        if (stored.length > 0) {
          last = stored.at(-1)?.n ?? last;
          yield stored;
          continue;
        }
        const progress = await this.#store.runs.progress(runId);
        if (progress === undefined || (isEnded(progress.status) && progress.lastEvent <= last)) return;
        if (progress.lastEvent > last) continue;
        for (;;) {
          const told = await inbox.take();
          if (told === undefined) break; // something has changed, or too much was told: look into the store
          const fresh = told.filter(({ n }) => n > last);
          if (fresh.length > 0 && fresh[0]?.n !== last + 1) break;
          last = fresh.at(-1)?.n ?? last;
          if (fresh.length > 0) yield fresh;
          if (inbox.isEnd) break; // whether more was told meanwhile is in the store
        }
      }
    } finally {
      this.#remove(runId, inbox);
    }
  }

  /** The events from the beginning of the last attempt, as far as they are stored now. */
  async *stored(runId: string): AsyncGenerator<readonly StoredEvent[], void, void> {
    let last = await this.#store.events.startOf(runId);
    for (;;) {
      const events = await this.#store.events.read(runId, last, PAGE);
      if (events.length === 0) return;
      last = events.at(-1)?.n ?? last;
      yield events;
    }
  }

  #add(runId: string, inbox: ReaderInbox): void {
    const inboxes = this.#inboxes.get(runId) ?? new Set();
    this.#inboxes.set(runId, inboxes.add(inbox));
    this.#readers++;
    const ms = this.#store.notices === undefined ? POLL_MS : SLOW_POLL_MS;
    this.#timer ??= setInterval(() => void this.#look(), ms).unref();
  }

  #remove(runId: string, inbox: ReaderInbox): void {
    inbox.close();
    const inboxes = this.#inboxes.get(runId);
    inboxes?.delete(inbox);
    if (inboxes?.size === 0) this.#inboxes.delete(runId);
    this.#readers--;
    if (this.#readers > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#seen.clear();
  }

  /** Looks for changes of the runs that are read here and written elsewhere: a few statements, however many readers there are. */
  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      const ids = [...this.#inboxes.keys()].filter((id) => !this.#written.has(id));
      const states = await this.#store.runs.progressOf(ids);
      const seen = new Map(
        ids.map((id) => {
          const { status, lastEvent } = states.get(id) ?? { status: 'gone', lastEvent: 0 };
          return [id, `${status} ${lastEvent}`];
        }),
      );
      for (const [id, state] of seen) if (this.#seen.get(id) !== state) this.noticed(id);
      this.#seen = seen;
    } catch {
      // the database is away: looked again with the next tick
    } finally {
      this.#isLooking = false;
    }
  }
}
