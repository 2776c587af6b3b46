import type { Msg } from '../../message/msg.ts';
import { unitsOf, type Unit } from './units.ts';
import type { Entry } from './working-memory.ts';

/** The mark of messages that stay as they are. */
export const PINNED_MARK = 'pinned';

export interface ViewOptions {
  readonly isPinned: (entry: Entry) => boolean;
  readonly protectedTools: ReadonlySet<string>;
  readonly tokensOf: (msgs: readonly Msg[]) => number;
  /** How many tokens the user's messages of the current round may have that stay besides the newest. */
  readonly roomForRequests: number;
}

/** How a conversation is made up at one moment: its units, its rounds, and what must stay as it is. */
export class ContextView {
  readonly units: readonly Unit[];
  /** The place of the newest answer; -1 if there is none. What comes before it is over. */
  readonly latestAnswer: number;
  /** The newest calls, if the model has yet to read their results. */
  readonly unread: Unit | undefined;
  /** The newest request. It stays whatever happens. */
  readonly request: Msg | undefined;
  /** The place of the first thing that a user has said since the newest answer; of the last thing, if nothing. */
  readonly #currentRound: number;
  readonly #requests: ReadonlySet<Msg>;
  readonly #options: ViewOptions;

  constructor(
    readonly entries: readonly Entry[],
    options: ViewOptions,
  ) {
    this.#options = options;
    this.units = unitsOf(entries);
    this.latestAnswer = entries.findLastIndex(isAnswer);
    const newest = this.units.findLast(({ kind }) => kind === 'exchange');
    const lastWord = entries.findLastIndex(({ msg }) => msg.role === 'assistant');
    this.unread = newest !== undefined && newest.end > lastWord ? newest : undefined;
    const latestUser = entries.findLastIndex(({ msg }) => isFromUser(msg));
    const firstUser = entries.findIndex(({ msg }, i) => i > this.latestAnswer && isFromUser(msg));
    this.#currentRound = firstUser < 0 ? latestUser : firstUser;
    this.request = entries[latestUser]?.msg;
    this.#requests = this.#findRequests(latestUser);
  }

  /** What was done for the current request, as far as it may be summed up. */
  get currentWork(): readonly Unit[] {
    return this.units.filter(
      (unit) =>
        unit.start > this.#currentRound &&
        this.isFree(unit) &&
        !this.entriesOf(unit).some(({ msg }) => isFromUser(msg)),
    );
  }

  /** The units that are wholly between two places. */
  unitsIn(start: number, end: number): readonly Unit[] {
    let [low, high] = [0, this.units.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.units[middle]?.start ?? 0) < start) low = middle + 1;
      else high = middle;
    }
    const units: Unit[] = [];
    for (let i = low; (this.units[i]?.end ?? Infinity) <= end; i++) units.push(this.units[i] as Unit);
    return units;
  }

  msgsOf(units: readonly Unit[]): readonly Msg[] {
    return units.flatMap(({ start, end }) => this.entries.slice(start, end).map(({ msg }) => msg));
  }

  tokensOf(units: readonly Unit[]): number {
    return this.#options.tokensOf(this.msgsOf(units));
  }

  entriesOf({ start, end }: Unit): readonly Entry[] {
    return this.entries.slice(start, end);
  }

  /** Whether nobody may touch it: what is pinned or protected, all system messages, the request, calls that wait. */
  isFixed(unit: Unit): boolean {
    if (unit.kind === 'pending') return true;
    return this.entriesOf(unit).some(
      (entry) => this.isKept(entry) || this.#requests.has(entry.msg) || this.#isProtected(entry.msg),
    );
  }

  /** Whether it is pinned, or a system message. */
  isKept(entry: Entry): boolean {
    const { msg } = entry;
    return (msg.role === 'system' && !hasResults(msg)) || this.#options.isPinned(entry);
  }

  /** Whether a summary may take its place. */
  isFree(unit: Unit): boolean {
    return unit.kind !== 'broken' && !this.isFixed(unit);
  }

  /** Whether it gives a way only to the newest request, and to what is pinned. */
  isRequestOnly(unit: Unit): boolean {
    return this.entriesOf(unit).every(
      (entry) => entry.msg !== this.request && this.#requests.has(entry.msg) && !this.isKept(entry),
    );
  }

  #isProtected(msg: Msg): boolean {
    const { protectedTools } = this.#options;
    return (
      protectedTools.size > 0 &&
      msg.getContentBlocks(['tool_use', 'tool_result']).some(({ name }) => protectedTools.has(name))
    );
  }

  /** What the user has said since the newest answer, as far as there is room for it: smaller parts go before larger ones that are older. */
  #findRequests(latestUser: number): ReadonlySet<Msg> {
    const requests = new Set<Msg>();
    if (this.request === undefined) return requests;
    requests.add(this.request);
    let room = this.#options.roomForRequests;
    for (let i = latestUser - 1; i > this.latestAnswer; i--) {
      const msg = this.entries[i]?.msg;
      if (msg === undefined || !isFromUser(msg)) continue;
      const tokens = this.#options.tokensOf([msg]);
      if (tokens > room) continue;
      room -= tokens;
      requests.add(msg);
    }
    return requests;
  }
}

export function isFromUser(msg: Msg): boolean {
  return msg.role === 'user' && !hasResults(msg);
}

/** Whether a message ends a round: something said that is not a mere summary of what was done. */
export function isAnswer({ msg, stub }: Entry): boolean {
  if (msg.role !== 'assistant' || hasCalls(msg) || hasResults(msg)) return false;
  return stub?.kind !== 'tools' && stub?.kind !== 'current' && stub?.kind !== 'dropped';
}

export function hasCalls(msg: Msg): boolean {
  return typeof msg.content !== 'string' && msg.hasContentBlocks('tool_use');
}

export function hasResults(msg: Msg): boolean {
  return typeof msg.content !== 'string' && msg.hasContentBlocks('tool_result');
}
