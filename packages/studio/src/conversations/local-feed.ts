import { randomBytes } from 'node:crypto';

import { joinedEvent, PROGRAM_PROTOCOL, type ProgramIdentity, type ProgramItem } from 'troupe/studio';

import type { Programs } from '../runs/programs.ts';

const FLUSH_MS = 25;

/** Items of agents in this process, on their way to the hub: a few at a time, deltas joined. */
export class LocalFeed {
  readonly identity: ProgramIdentity = {
    id: `local-${randomBytes(9).toString('base64url')}`,
    pid: process.pid,
    library: 'troupe',
    protocol: PROGRAM_PROTOCOL,
  };
  readonly #programs: Programs;
  readonly #startTimer: (ms: number, callback: () => void) => () => void;
  readonly #onProblem: (error: unknown) => void;
  #items: ProgramItem[] = [];
  #number = 0;
  #isPlanned = false;

  constructor(
    programs: Programs,
    startTimer: (ms: number, callback: () => void) => () => void,
    onProblem: (error: unknown) => void,
  ) {
    this.#programs = programs;
    this.#startTimer = startTimer;
    this.#onProblem = onProblem;
  }

  add(item: ProgramItem): void {
    const last = this.#items.at(-1);
    const event =
      last?.kind === 'event' && item.kind === 'event' && last.runId === item.runId
        ? joinedEvent(last.event, item.event)
        : undefined;
    if (event !== undefined && item.kind === 'event') this.#items.splice(-1, 1, { ...item, event });
    else this.#items.push(item);
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    this.#startTimer(FLUSH_MS, () => this.flush());
  }

  /** Hands everything to the hub. A failure loses the items and is told, because agents must not wait for a disk. */
  flush(): void {
    this.#isPlanned = false;
    const items = this.#items;
    if (items.length === 0) return;
    this.#items = [];
    try {
      this.#programs.takeBatch(this.identity, ++this.#number, 0, items);
    } catch (error) {
      this.#onProblem(error);
    }
  }
}
