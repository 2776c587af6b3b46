import { getLogger } from '../../config/run-config.ts';
import { messageOf } from '../../errors.ts';
import type { ToolOutput } from '../tool/tool-output.ts';
import type { ToolCallResult } from '../tool/tool.ts';

export interface SnapshotViewer {
  /** Post-processes and cuts a snapshot, and passes it through middleware. Nothing in its place is not shown. */
  readonly prepare: (
    snapshot: ToolOutput,
  ) => ToolCallResult | undefined | Promise<ToolCallResult | undefined>;
  readonly show: (result: ToolCallResult) => unknown;
}

/**
 * Snapshots of one attempt of a tool while it runs, shown one at a time. Each snapshot replaces the one before, so only the
 * latest is queued behind a slow viewer: memory does not grow.
 */
export class SnapshotQueue {
  readonly #viewer: SnapshotViewer;
  #waiting: ToolOutput | undefined;
  #showing: Promise<void> | undefined;
  #isClosed = false;

  constructor(viewer: SnapshotViewer) {
    this.#viewer = viewer;
  }

  /** Resolves when this snapshot or a later one has been shown. Never rejects. */
  show(snapshot: ToolOutput): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    this.#waiting = snapshot;
    this.#showing ??= this.#showAll();
    return this.#showing;
  }

  /** Resolves when all snapshots have been shown. */
  async flush(): Promise<void> {
    await this.#showing;
  }

  /** Drops queued and later snapshots. */
  close(): void {
    this.#isClosed = true;
    this.#waiting = undefined;
  }

  async #showAll(): Promise<void> {
    while (this.#waiting !== undefined) {
      const snapshot = this.#waiting;
      this.#waiting = undefined;
      try {
        const result = await this.#viewer.prepare(snapshot);
        if (!this.#isClosed && result !== undefined) await this.#viewer.show(result);
      } catch (error) {
        getLogger().log('warn', `A snapshot of a tool could not be shown: ${messageOf(error)}`);
      }
    }
    this.#showing = undefined;
  }
}
