import type { RunHub } from '../runs/run-hub.ts';

export interface RetentionLimits {
  /** Days after which runs that have ended are deleted; null: never. */
  readonly keepDays: number | null;
  /** Size of the database from which on the oldest spans and runs are deleted. */
  readonly maxBytes: number;
  /** Entries of one run. Older ones are removed, and the page says so. */
  readonly maxRunEntries: number;
}

const DAY_MS = 86_400_000;
/** Share of the maximum size down to which runs are deleted. */
const TARGET = 0.8;
/** Growth of the database after which its size is looked at again. */
const GROWTH = 0.02;
const BATCH = 50;
const SPAN_BATCH = 1000;
/** Minimum number of entries of a run, of any size. */
const LEAST_ENTRIES = 100;

/** Holds the database within its limits: while runs write, and from time to time. */
export class Retention {
  readonly #hub: RunHub;
  readonly #limits: RetentionLimits;
  readonly #now: () => number;
  #nextBytes: number;

  constructor(hub: RunHub, limits: RetentionLimits, now: () => number) {
    this.#hub = hub;
    this.#limits = limits;
    this.#now = now;
    this.#nextBytes = limits.maxBytes;
  }

  /** Deletes what is too old or too much. @returns deleted runs */
  enforce(): number {
    const deleted = enforceRetention(this.#hub, this.#limits, this.#now());
    const { maxBytes } = this.#limits;
    this.#nextBytes = Math.max(maxBytes, this.#hub.store.usedBytes + maxBytes * GROWTH);
    return deleted;
  }

  /** Looks at the limits with each change. The returned function stops this. @param onFull called when the database is too large */
  watch(onFull: () => void): () => void {
    return this.#hub.listen({
      onEntries: (runId) => trimRun(this.#hub, runId, this.#limits),
      onRun() {},
      onRunsDeleted() {},
      onWaiting() {},
      onStored: () => {
        if (this.#hub.store.usedBytes <= this.#nextBytes) return;
        this.#nextBytes = Number.POSITIVE_INFINITY; // deleting is a change too
        onFull();
      },
    });
  }
}

/**
 * Deletes runs that are too old; then, while the database is too large, the oldest spans of no run, the oldest runs, and at last the older
 * half of the longest run that goes on. @returns deleted runs
 */
export function enforceRetention(hub: RunHub, { keepDays, maxBytes }: RetentionLimits, now: number): number {
  const { store } = hub;
  let deleted = 0;
  if (keepDays !== null) {
    const before = now - keepDays * DAY_MS;
    for (;;) {
      const old = store.oldestEndedRuns(new Date(before).toISOString(), BATCH);
      if (old.length === 0) break;
      deleted += hub.deleteRuns(old);
    }
    store.transaction(() => store.deleteSpansBefore(before));
  }
  const isTooLarge = store.usedBytes > maxBytes;
  while (isTooLarge && store.usedBytes > maxBytes * TARGET) {
    if (store.transaction(() => store.deleteOldestSpans(SPAN_BATCH)) > 0) continue;
    const oldest = store.oldestEndedRuns(undefined, 1);
    deleted += hub.deleteRuns(oldest);
    if (oldest.length === 0 && !trimLongestRun(hub)) break;
  }
  if (deleted > 0 || isTooLarge) store.compact();
  return deleted;
}

/** Removes the oldest entries of a run that has too many. */
export function trimRun(hub: RunHub, runId: string, { maxRunEntries }: RetentionLimits): void {
  const run = hub.run(runId);
  if (run === undefined || run.lastSeq - run.removedUpTo <= maxRunEntries) return;
  removeEntries(hub, runId, run.lastSeq - Math.floor(maxRunEntries * 0.9));
}

/** Removes the older half of the run with the most entries. @returns false if all runs are short */
function trimLongestRun(hub: RunHub): boolean {
  const length = ({ lastSeq, removedUpTo }: { lastSeq: number; removedUpTo: number }): number =>
    lastSeq - removedUpTo;
  const runs = hub.store.runsWithStatus(['running', 'waiting', 'idle', 'failed', 'done']);
  const longest = runs.reduce(
    (best, run) => (best === undefined || length(run) > length(best) ? run : best),
    runs[0],
  );
  if (longest === undefined || length(longest) <= LEAST_ENTRIES) return false;
  removeEntries(hub, longest.id, longest.removedUpTo + Math.floor(length(longest) / 2));
  return true;
}

function removeEntries(hub: RunHub, runId: string, removedUpTo: number): void {
  hub.change(() => {
    hub.store.deleteEntriesUpTo(runId, removedUpTo);
    hub.updateRun(runId, { removedUpTo });
  });
}
