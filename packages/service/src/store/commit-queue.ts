import type { ServiceDatabase, SqlQueries } from './database.ts';
import { repeatConflicts } from './repeat-conflicts.ts';

/** Maximum writes of one commit. An embedded database applies them without a pause. */
const MAX_WRITES = 100;

type Write = (tx: SqlQueries) => Promise<void>;

interface Waiting {
  readonly write: Write;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Commits writes of many runs together: writes that arrive while a commit runs share the next commit. Each write resolves after the
 * commit that holds it, and writes are applied in the order of their arrival. If a write fails, the writes of its commit are tried one by
 * one, so that one run can't fail another. If the commit itself fails, such as with a lost connection, it may have happened: all its
 * writes are rejected, and nothing is written twice.
 */
export class CommitQueue {
  readonly #db: ServiceDatabase;
  #waiting: Waiting[] = [];
  #running: Promise<void> | undefined;

  constructor(db: ServiceDatabase) {
    this.#db = db;
  }

  add(write: Write): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      this.#waiting.push({ write, resolve, reject });
      this.#running ??= this.#commit();
    });
  }

  /** Resolves when everything that was added before is committed, or has failed. */
  async idle(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  async #commit(): Promise<void> {
    await Promise.resolve(); // writes of the same task share one commit
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, MAX_WRITES);
      let isCommitting = false;
      try {
        await repeatConflicts(() => {
          isCommitting = false;
          return this.#db.transaction(async (tx) => {
            for (const { write } of batch) await write(tx);
            isCommitting = true;
          });
        });
        for (const { resolve } of batch) resolve();
      } catch (error) {
        if (batch.length === 1 || isCommitting) for (const { reject } of batch) reject(error);
        else for (const waiting of batch) await this.#commitAlone(waiting);
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    this.#running = undefined;
  }

  async #commitAlone({ write, resolve, reject }: Waiting): Promise<void> {
    try {
      await repeatConflicts(() => this.#db.transaction(write));
      resolve();
    } catch (error) {
      reject(error);
    }
  }
}
