import type { Msg } from '../../message/msg.ts';

/**
 * Content of a replacement: summary of tool calls, of a previous round, of the current round or of one
 * message; the preview of a message; or a note about removed messages. Part of the saved state.
 */
export type StubKind = 'tools' | 'round' | 'current' | 'message' | 'preview' | 'dropped';

/**
 * Marks a message as replacement for an offload. Stored in the entry, so that no message text can imitate it.
 */
export interface Stub {
  readonly uuid: string;
  readonly kind: StubKind;
}

/** Message that the model sees. Immutable: new marks create a new entry. */
export interface Entry {
  readonly msg: Msg;
  readonly marks: readonly string[];
  readonly stub?: Stub;
}

/** Replacement of messages by a single message. */
export interface Change {
  readonly removed: readonly Msg[];
  readonly msg: Msg;
  readonly stub: Stub;
  readonly tokens: number;
}

/** An applied change with the ids of the neighbouring messages. */
export interface AppliedChange {
  readonly change: Change;
  readonly previousMessageId: string | null;
  readonly nextMessageId: string | null;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

/** Relative change of the sample count above which all messages are counted again. */
const MAX_DRIFT = 0.02;

/**
 * Messages that the model sees, in order, with their token counts. Each message is counted once, so a sum
 * costs only the new messages. Messages outside a change stay the same objects.
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

  /** Changes with every change of entries or counts. */
  get version(): number {
    return this.#version;
  }

  get size(): number {
    return this.#entries.length;
  }

  /** Sum over all counted messages. */
  get tokens(): number {
    return this.#tokens;
  }

  /** Messages without a count. */
  get uncounted(): readonly Msg[] {
    return [...this.#uncounted];
  }

  has(id: string): boolean {
    return this.#byId.has(id);
  }

  tokensOf(msgs: readonly Msg[]): number {
    return msgs.reduce((sum, msg) => sum + (this.#counts.get(msg) ?? 0), 0);
  }

  /** Stores counts, also for messages removed meanwhile. */
  setCounts(msgs: readonly Msg[], counts: readonly number[]): void {
    for (const [i, msg] of msgs.entries()) {
      this.#counts.set(msg, counts[i] ?? 0);
      if (!this.#uncounted.delete(msg)) continue;
      this.#tokens += counts[i] ?? 0;
      this.#version++;
    }
  }

  /** Discards all counts if the count of a sample has changed, because the counter was adjusted. */
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

  /** Returns the number of deleted entries. */
  delete(isUnwanted: (entry: Entry) => boolean): number {
    this.#version++;
    const kept: Entry[] = [];
    for (const entry of this.#entries) {
      if (isUnwanted(entry)) this.#forget(entry.msg);
      else kept.push(entry);
    }
    const count = this.#entries.length - kept.length;
    this.#entries = kept;
    return count;
  }

  /** Replaces entries by other entries of the same messages. Returns the number of changed entries. */
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
   * Applies changes at once. The new message of a change takes the position of the last message that the change removes.
   * Skips a change if one of the messages to remove is gone, or if `canTake` rejects one.
   */
  replace(changes: readonly Change[], canTake: (entry: Entry) => boolean): readonly AppliedChange[] {
    const indexes = new Map(this.#entries.map(({ msg }, i) => [msg, i]));
    const isThere = (msg: Msg): boolean => {
      const entry = this.#entries[indexes.get(msg) ?? -1];
      return entry !== undefined && canTake(entry);
    };
    // Computed before any change, because `canTake` may throw.
    const possible = changes.filter(({ removed }) => removed.every(isThere));
    const next: (Entry | undefined)[] = [...this.#entries];
    const made: AppliedChange[] = [];
    for (const change of possible) {
      const at = change.removed.map((msg) => indexes.get(msg) ?? -1);
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
  ): AppliedChange {
    const [first = 0, last = 0] = [at[0], at.at(-1)];
    const tokensBefore = this.#tokens;
    for (const [i, entry] of taken.entries()) {
      next[at[i] ?? 0] = undefined;
      this.#forget(entry.msg);
    }
    const { msg, stub, tokens } = change;
    const entry: Entry = Object.freeze({ msg, stub, marks: commonMarks(taken) });
    next[last] = entry;
    this.#byId.set(msg.id, entry);
    this.#counts.set(msg, tokens);
    this.#tokens += tokens;
    return {
      change,
      previousMessageId: neighborId(next, first, -1),
      nextMessageId: neighborId(next, last, 1),
      tokensBefore,
      tokensAfter: this.#tokens,
    };
  }

  #forgetCounts(): void {
    this.#tokens = 0;
    this.#uncounted = new Set(this.#entries.map(({ msg }) => msg));
  }

  #forget(msg: Msg): void {
    this.#byId.delete(msg.id);
    if (!this.#uncounted.delete(msg)) this.#tokens -= this.#counts.get(msg) ?? 0;
  }
}

/** Id of the nearest message before or after an index. */
function neighborId(entries: readonly (Entry | undefined)[], index: number, step: 1 | -1): string | null {
  let i = index + step;
  while (i >= 0 && i < entries.length && entries[i] === undefined) i += step;
  return entries[i]?.msg.id ?? null;
}

/** Marks shared by all entries. */
function commonMarks([first, ...others]: readonly Entry[]): readonly string[] {
  return first?.marks.filter((mark) => others.every(({ marks }) => marks.includes(mark))) ?? [];
}
