import type { RunHub } from '../runs/run-hub.ts';

export interface RetentionLimits {
  /** Days after which runs that have ended are deleted; null: never. */
  readonly keepDays: number | null;
  /** Size of the database from which on the oldest runs are deleted. */
  readonly maxBytes: number;
  /** Entries of one run. Older ones are removed, and the page says so. */
  readonly maxRunEntries: number;
}

const DAY_MS = 86_400_000;
/** Share of the maximum size down to which runs are deleted. */
const TARGET = 0.8;
const BATCH = 50;

/** Deletes runs that are too old, then the oldest ones while the database is too large. Runs that go on are kept. @returns deleted runs */
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
  if (store.usedBytes > maxBytes) {
    while (store.usedBytes > maxBytes * TARGET) {
      const oldest = store.oldestEndedRuns(undefined, 1);
      if (oldest.length === 0) break;
      deleted += hub.deleteRuns(oldest);
    }
  }
  if (deleted > 0) store.compact();
  return deleted;
}

/** Removes the oldest entries of a run that has too many. */
export function trimRun(hub: RunHub, runId: string, { maxRunEntries }: RetentionLimits): void {
  const run = hub.run(runId);
  if (run === undefined || run.lastSeq - run.removedUpTo <= maxRunEntries) return;
  const removedUpTo = run.lastSeq - Math.floor(maxRunEntries * 0.9);
  hub.change(() => {
    hub.store.deleteEntriesUpTo(runId, removedUpTo);
    hub.updateRun(runId, { removedUpTo });
  });
}
