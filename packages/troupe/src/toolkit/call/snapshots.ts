import { getLogger } from '../../config/run-config.ts';
import { messageOf } from '../../errors.ts';
import type { ToolOutput } from '../tool/tool-output.ts';
import type { ToolCallResult } from '../tool/tool.ts';

export interface SnapshotViewer {
  /** Makes of a snapshot what may be seen of it. */
  readonly prepare: (snapshot: ToolOutput) => ToolCallResult | Promise<ToolCallResult>;
  readonly show: (result: ToolCallResult) => unknown;
}

/**
 * What one attempt of a tool shows while it runs. One snapshot is shown at a time. A snapshot is whole, so when they
 * come faster than they can be shown, only the latest one waits: a slow viewer fills no memory.
 */
export class Snapshots {
  readonly #viewer: SnapshotViewer;
  #waiting: ToolOutput | undefined;
  #showing: Promise<void> | undefined;
  #isClosed = false;

  constructor(viewer: SnapshotViewer) {
    this.#viewer = viewer;
  }

  /** Resolves when this snapshot, or a later one, has been shown. Never rejects. */
  show(snapshot: ToolOutput): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    this.#waiting = snapshot;
    this.#showing ??= this.#showAll();
    return this.#showing;
  }

  /** Resolves when all has been shown. */
  async flush(): Promise<void> {
    await this.#showing;
  }

  /** Nothing more is shown. */
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
        if (!this.#isClosed) await this.#viewer.show(result);
      } catch (error) {
        getLogger().log('warn', `A snapshot of a tool could not be shown: ${messageOf(error)}`);
      }
    }
    this.#showing = undefined;
  }
}
