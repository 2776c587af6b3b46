import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';

import type { ServiceStore } from '../store/service-store.ts';

/** Number of looks in a row at which a lock has to be free: a process that has lost its connection takes a new one meanwhile. */
const FREE_LOOKS = 2;
/** Looks with a lock of its own before a process judges others: after a restart of the database, all need a new connection. */
const OWN_LOOKS = 5;
/** Silence after which the row of a process is removed. One that goes on writes it again. */
const FORGET_MS = 3_600_000;

/**
 * Shows the other processes that this one lives, and tells which of them do. A process is dead when it gave no sign of life for
 * `takeOverMs`, when it ran on this machine and its id is gone, or, with PostgreSQL, when the lock that its connection held is free: that
 * is seen within half a second, from any machine. A process that is stopped keeps its connection, and is known by its silence.
 *
 * A process that was wrongly taken for dead loses its runs to another one and can write nothing more of them.
 */
export class OwnerWatch {
  readonly owner = randomUUID();
  readonly #store: ServiceStore;
  readonly #takeOverMs: number;
  readonly #now: () => number;
  readonly #freeLooks = new Map<string, number>();
  #ownLooks = 0;
  #hasLeft = false;

  constructor(store: ServiceStore, takeOverMs: number, now: () => number) {
    this.#store = store;
    this.#takeOverMs = takeOverMs;
    this.#now = now;
  }

  /** Writes a sign of life. */
  async beat(): Promise<void> {
    if (this.#hasLeft) return;
    const { owners, notices } = this.#store;
    const now = this.#now();
    await owners.beat({ id: this.owner, host: hostname(), pid: process.pid }, notices?.lock, now);
    await owners.removeSilent(Math.max(FORGET_MS, this.#takeOverMs), now);
  }

  /** Begins to count anew: this process has lost its lock, or taken another one. */
  lockChanged(): void {
    this.#ownLooks = 0;
    this.#freeLooks.clear();
  }

  /** Looks for processes whose lock is free, and removes them. @returns whether there was one */
  async removeDead(): Promise<boolean> {
    const { owners, notices } = this.#store;
    if (notices?.lock === undefined || ++this.#ownLooks <= OWN_LOOKS) return false;
    const free = (await owners.withoutLock()).filter((id) => id !== this.owner);
    for (const id of this.#freeLooks.keys()) if (!free.includes(id)) this.#freeLooks.delete(id);
    let isFound = false;
    for (const id of free) {
      const looks = (this.#freeLooks.get(id) ?? 0) + 1;
      this.#freeLooks.set(id, looks);
      if (looks >= FREE_LOOKS && (await owners.removeWithoutLock(id))) isFound = true;
    }
    return isFound;
  }

  /** Ids of the other processes that live. */
  async alive(): Promise<ReadonlySet<string>> {
    const owners = await this.#store.owners.all(this.#now());
    const alive = owners.filter(({ id, host, pid, silentMs }) => {
      if (id === this.owner || silentMs > this.#takeOverMs) return false;
      return host !== hostname() || isAlive(pid);
    });
    return new Set(alive.map(({ id }) => id));
  }

  /** Tells the others that this process ends. */
  async leave(): Promise<void> {
    this.#hasLeft = true;
    await this.#store.owners.remove(this.owner);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
