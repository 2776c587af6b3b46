import type { Msg } from '../../message/msg.ts';

/**
 * What a message in the place of others is: a summary of tool calls, of a round that is over, of the current round or of one
 * message; the beginning of a message; or the mere note that there was something.
 */
export type StubKind = 'tools' | 'round' | 'current' | 'message' | 'preview' | 'dropped';

/** Says that a message stands for what is kept under a uuid. It is part of the entry, so no text can pass for it. */
export interface Stub {
  readonly uuid: string;
  readonly kind: StubKind;
}

/** A message that the model sees. It never changes: other marks make another entry. */
export interface Entry {
  readonly msg: Msg;
  readonly marks: readonly string[];
  readonly stub?: Stub;
}

/** A message to put in the place of others. */
export interface Change {
  readonly removed: readonly Msg[];
  readonly msg: Msg;
  readonly stub: Stub;
  readonly tokens: number;
}

/** A change that was made, and where. */
export interface Changed {
  readonly change: Change;
  readonly previousMessageId: string | null;
  readonly nextMessageId: string | null;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

/** By how much the counts may be out of date. */
const MAX_DRIFT = 0.02;

/**
 * What the model sees, in order, and how many tokens that has. Each message is counted once: whoever asks for the
 * sum pays for what is new, not for all of it. Messages that a change doesn't touch stay the very same objects.
 */
export class WorkingMemory {
  #entries: Entry[] = [];
  #byId = new Map<string, Entry>();
  readonly #counts = new WeakMap<Msg, number>();
  #uncounted = new Set<Msg>();
  #tokens = 0;
  #sample = 0;
  #version = 0;

  get entries(): readonly Entry[] {
    return this.#entries;
  }

  /** Another number whenever the entries are others, or have been counted. */
  get version(): number {
    return this.#version;
  }

  get size(): number {
    return this.#entries.length;
  }

  /** Of all messages that were counted. */
  get tokens(): number {
    return this.#tokens;
  }

  /** The messages that nobody has counted yet. */
  get uncounted(): readonly Msg[] {
    return [...this.#uncounted];
  }

  has(id: string): boolean {
    return this.#byId.has(id);
  }

  tokensOf(msgs: readonly Msg[]): number {
    return msgs.reduce((sum, msg) => sum + (this.#counts.get(msg) ?? 0), 0);
  }

  /** Notes what messages count that may have gone meanwhile. */
  setCounts(msgs: readonly Msg[], counts: readonly number[]): void {
    for (const [i, msg] of msgs.entries()) {
      this.#counts.set(msg, counts[i] ?? 0);
      if (!this.#uncounted.delete(msg)) continue;
      this.#tokens += counts[i] ?? 0;
      this.#version++;
    }
  }

  /** All is counted anew if a sample has now another number of tokens than before: then the counter has learned. */
  calibrate(sample: number): void {
    if (Math.abs(sample - this.#sample) <= this.#sample * MAX_DRIFT) return;
    this.#sample = sample;
    this.#forgetCounts();
  }

  add(entry: Entry): void {
    this.#version++;
    this.#entries.push(entry);
    this.#byId.set(entry.msg.id, entry);
    this.#uncounted.add(entry.msg);
  }

  /** Returns how many there were. */
  delete(isUnwanted: (entry: Entry) => boolean): number {
    this.#version++;
    const kept: Entry[] = [];
    for (const entry of this.#entries) {
      if (isUnwanted(entry)) this.#leave(entry.msg);
      else kept.push(entry);
    }
    const count = this.#entries.length - kept.length;
    this.#entries = kept;
    return count;
  }

  /** Changes entries to others of the same messages. Returns how many were changed. */
  remark(remarked: (entry: Entry) => Entry): number {
    this.#version++;
    let count = 0;
    this.#entries = this.#entries.map((entry) => {
      const other = remarked(entry);
      if (other === entry) return entry;
      count++;
      this.#byId.set(entry.msg.id, other);
      return other;
    });
    return count;
  }

  load(entries: readonly Entry[]): void {
    this.#version++;
    this.#entries = [...entries];
    this.#byId = new Map(entries.map((entry) => [entry.msg.id, entry]));
    this.#forgetCounts();
  }

  /**
   * Makes changes, all at once: each puts one message where the last of those stood that it removes. A change is left out
   * if one of those has gone, or may no longer be taken.
   */
  replace(changes: readonly Change[], canTake: (entry: Entry) => boolean): readonly Changed[] {
    const places = new Map(this.#entries.map(({ msg }, i) => [msg, i]));
    const isThere = (msg: Msg): boolean => {
      const entry = this.#entries[places.get(msg) ?? -1];
      return entry !== undefined && canTake(entry);
    };
    const possible = changes.filter(({ removed }) => removed.every(isThere)); // before anything changes: a rule may throw
    const next: (Entry | undefined)[] = [...this.#entries];
    const made: Changed[] = [];
    for (const change of possible) {
      const at = change.removed.map((msg) => places.get(msg) ?? -1);
      const taken = at.map((i) => next[i]).filter((entry, n) => entry?.msg === change.removed[n]) as Entry[];
      if (taken.length === at.length) made.push(this.#make(change, taken, at, next));
    }
    this.#version++;
    this.#entries = next.filter((entry) => entry !== undefined);
    return made;
  }

  #make(
    change: Change,
    taken: readonly Entry[],
    at: readonly number[],
    next: (Entry | undefined)[],
  ): Changed {
    const [first = 0, last = 0] = [at[0], at.at(-1)];
    const tokensBefore = this.#tokens;
    for (const [i, entry] of taken.entries()) {
      next[at[i] ?? 0] = undefined;
      this.#leave(entry.msg);
    }
    const { msg, stub, tokens } = change;
    const entry: Entry = Object.freeze({ msg, stub, marks: commonMarks(taken) });
    next[last] = entry;
    this.#byId.set(msg.id, entry);
    this.#counts.set(msg, tokens);
    this.#tokens += tokens;
    return {
      change,
      previousMessageId: neighbour(next, first, -1),
      nextMessageId: neighbour(next, last, 1),
      tokensBefore,
      tokensAfter: this.#tokens,
    };
  }

  #forgetCounts(): void {
    this.#tokens = 0;
    this.#uncounted = new Set(this.#entries.map(({ msg }) => msg));
  }

  #leave(msg: Msg): void {
    this.#byId.delete(msg.id);
    if (!this.#uncounted.delete(msg)) this.#tokens -= this.#counts.get(msg) ?? 0;
  }
}

/** The id of the nearest message before or behind a place. */
function neighbour(entries: readonly (Entry | undefined)[], place: number, step: 1 | -1): string | null {
  let i = place + step;
  while (i >= 0 && i < entries.length && entries[i] === undefined) i += step;
  return entries[i]?.msg.id ?? null;
}

/** The marks that all of them have. */
function commonMarks([first, ...others]: readonly Entry[]): readonly string[] {
  return first?.marks.filter((mark) => others.every(({ marks }) => marks.includes(mark))) ?? [];
}
