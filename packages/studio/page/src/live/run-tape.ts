import { encoded } from '../encoded.ts';
import type { EntryPage, RunEntry } from '../../../src/protocol.ts';
import { get, messageOf } from '../server/request.ts';
import { live } from './live-client.ts';
import { Store } from './store.ts';
import { TapeFold } from './tape-fold.ts';

/** State of a tape, new for each flush: `version` counts them. */
export interface TapeState {
  readonly phase: 'loading' | 'ready' | 'failed';
  readonly problem: string | undefined;
  readonly version: number;
  readonly fold: TapeFold;
  /** Whether entries before the first one can be loaded. */
  readonly hasEarlier: boolean;
  readonly isLoadingEarlier: boolean;
  /** Number that changes when entries were added in front. */
  readonly generation: number;
}

const PAGE_SIZE = 5000;
/** Pages that are loaded without a click. */
const PAGES_AT_ONCE = 8;
const FLUSH_MS = 40;
const SLOW_FLUSH_MS = 100;
/** A flush that takes longer, with its rendering, makes the next ones rarer. */
const SLOW_MS = 8;

/** The entries of one run: the stored ones, then the live ones, folded in batches so that a fast stream costs a few renderings a second. */
export class RunTape {
  readonly state: Store<TapeState>;
  readonly runId: string;
  #entries: RunEntry[] = [];
  #buffer: RunEntry[] = [];
  #lastSeq = 0;
  #hasTimer = false;
  #flushMs = FLUSH_MS;
  #isClosed = false;
  #unwatch: (() => void) | undefined;

  constructor(runId: string) {
    this.runId = runId;
    this.state = new Store<TapeState>({
      phase: 'loading',
      problem: undefined,
      version: 0,
      fold: new TapeFold(),
      hasEarlier: false,
      isLoadingEarlier: false,
      generation: 0,
    });
  }

  /** Loads the end of the tape, then listens to new entries, then loads the entries before. */
  async open(): Promise<void> {
    try {
      const page = await get<EntryPage>(`runs/${encoded(this.runId)}/entries`, {
        tail: true,
        compact: true,
        limit: PAGE_SIZE,
      });
      if (this.#isClosed) return;
      this.#take(page.entries);
      this.#lastSeq = Math.max(page.lastSeq, page.entries.at(-1)?.seq ?? 0);
      if (page.removedUpTo > 0 && !page.hasMore) this.state.get().fold.addGap(1, page.removedUpTo);
      this.#change({ phase: 'ready', hasEarlier: page.hasMore });
      this.#watch();
      if (page.hasMore) await this.loadEarlier();
    } catch (error) {
      if (!this.#isClosed) this.#change({ phase: 'failed', problem: messageOf(error) });
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#unwatch?.();
  }

  /** Entries up to a number, folded from the start: the run as it was. */
  foldUpTo(seq: number): TapeFold {
    const fold = new TapeFold();
    for (const entry of this.#entries) {
      if (entry.seq > seq) break;
      fold.add(entry);
    }
    return fold;
  }

  /** Loads entries before the first one, and folds everything again. */
  async loadEarlier(): Promise<void> {
    if (!this.state.get().hasEarlier || this.state.get().isLoadingEarlier) return;
    this.#change({ isLoadingEarlier: true });
    const pages: (readonly RunEntry[])[] = [];
    let before = this.#entries[0]?.seq ?? 1;
    let hasEarlier = true;
    try {
      for (let count = 0; count < PAGES_AT_ONCE && hasEarlier; count++) {
        const page = await get<EntryPage>(`runs/${encoded(this.runId)}/entries`, {
          before,
          compact: true,
          limit: PAGE_SIZE,
        });
        if (this.#isClosed) return;
        pages.unshift(page.entries);
        before = page.entries[0]?.seq ?? 1;
        hasEarlier = page.hasMore && page.entries.length > 0;
      }
    } catch {
      hasEarlier = true; // the button in the conversation tries again
    }
    this.#flush();
    this.#entries = [...pages.flat(), ...this.#entries];
    const fold = new TapeFold();
    for (const entry of this.#entries) fold.add(entry);
    const generation = this.state.get().generation + 1;
    this.#change({ fold, hasEarlier, isLoadingEarlier: false, generation });
  }

  #watch(): void {
    this.#unwatch = live.watchRun(this.runId, {
      lastSeq: () => this.#lastSeq,
      onEntries: (entries) => this.#receive(entries),
      onGap: (from, to) => {
        this.#flush();
        this.state.get().fold.addGap(from, to);
        this.#lastSeq = Math.max(this.#lastSeq, to);
        this.#change({});
      },
      onCaughtUp: () => this.#flush(),
    });
  }

  #receive(entries: readonly RunEntry[]): void {
    for (const entry of entries) {
      if (entry.seq <= this.#lastSeq) continue; // sent again after a reconnection
      this.#lastSeq = entry.seq;
      this.#buffer.push(entry);
    }
    if (this.#hasTimer || this.#buffer.length === 0) return;
    this.#hasTimer = true;
    window.setTimeout(() => this.#flush(), this.#flushMs);
  }

  #flush(): void {
    this.#hasTimer = false;
    if (this.#buffer.length === 0 || this.#isClosed) return;
    const start = performance.now();
    const entries = this.#buffer;
    this.#buffer = [];
    this.#take(entries);
    this.#change({});
    // Behind the rendering that the change has caused.
    window.setTimeout(() => {
      const ms = performance.now() - start;
      this.#flushMs = ms > 3 * SLOW_MS ? 2 * SLOW_FLUSH_MS : ms > SLOW_MS ? SLOW_FLUSH_MS : FLUSH_MS;
    }, 0);
  }

  #take(entries: readonly RunEntry[]): void {
    const { fold } = this.state.get();
    for (const entry of entries) {
      this.#entries.push(entry);
      fold.add(entry);
    }
  }

  #change(change: Partial<TapeState>): void {
    const state = this.state.get();
    this.state.set({ ...state, ...change, version: state.version + 1 });
  }
}
