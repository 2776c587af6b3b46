import type { Msg } from '../../message/msg.ts';

/** What was taken out of a conversation at once. */
export interface Offload {
  readonly uuid: string;
  readonly msgs: readonly Msg[];
}

/** What was taken out of a conversation, by the uuid that stands in its place. */
export class OffloadStore {
  #offloads = new Map<string, Offload>();
  /** In how many of them a message is, by its id. */
  #uses = new Map<string, number>();

  get items(): readonly Offload[] {
    return [...this.#offloads.values()];
  }

  get size(): number {
    return this.#offloads.size;
  }

  /** The messages, as they were; none if nothing is kept under this uuid. */
  get(uuid: string): readonly Msg[] {
    return this.#offloads.get(uuid)?.msgs ?? [];
  }

  /** Whether a message is in any of them. */
  holds(id: string): boolean {
    return this.#uses.has(id);
  }

  set(uuid: string, msgs: readonly Msg[]): void {
    this.delete(uuid);
    this.#offloads.set(uuid, Object.freeze({ uuid, msgs: Object.freeze([...msgs]) }));
    for (const { id } of msgs) this.#uses.set(id, (this.#uses.get(id) ?? 0) + 1);
  }

  delete(uuid: string): void {
    for (const { id } of this.get(uuid)) {
      const uses = (this.#uses.get(id) ?? 1) - 1;
      if (uses > 0) this.#uses.set(id, uses);
      else this.#uses.delete(id);
    }
    this.#offloads.delete(uuid);
  }

  load(offloads: readonly Offload[]): void {
    this.#offloads = new Map();
    this.#uses = new Map();
    for (const { uuid, msgs } of offloads) this.set(uuid, msgs);
  }
}
