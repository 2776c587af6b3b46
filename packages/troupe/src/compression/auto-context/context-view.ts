import type { Msg } from '../../message/msg.ts';
import { isOwn, isSaidToAgent, requestGroups, unitsOf, type Audience, type Unit } from '../units.ts';
import type { Entry } from './working-memory.ts';

/** Mark of messages that are never changed. */
export const PINNED_MARK = 'pinned';

export interface ViewOptions {
  readonly audience: Audience;
  readonly isPinned: (entry: Entry) => boolean;
  readonly protectedTools: ReadonlySet<string>;
  readonly tokensOf: (msgs: readonly Msg[]) => number;
  /** Maximum tokens of older requests of the current round that stay, if `requestIds` matches no message. */
  readonly maxRequestTokens: number;
}

/**
 * Structure of a conversation at one moment: units, rounds, and the units that must not change. A round is a
 * request with the work on it and its answer.
 */
export class ContextView {
  readonly units: readonly Unit[];
  /** Index of the newest answer; -1 if there is none. Rounds up to this index are previous rounds. */
  readonly latestAnswer: number;
  /** Newest exchange whose results the model has not read yet. */
  readonly unread: Unit | undefined;
  /** Index of the first request that is not answered yet. All messages before it are history. */
  readonly historyEnd: number;
  /** Tokens of all fixed units. */
  readonly fixedTokens: number;
  /** Index of the first input after the newest answer; if there is none, of the newest input. */
  readonly #currentRound: number;
  readonly #requests: ReadonlySet<Msg>;
  /** The newest request. */
  readonly #request: Msg | undefined;
  readonly #options: ViewOptions;

  constructor(
    readonly entries: readonly Entry[],
    options: ViewOptions,
  ) {
    this.#options = options;
    const { audience } = options;
    const msgs = entries.map(({ msg }) => msg);
    this.units = unitsOf(msgs, audience);
    this.latestAnswer = entries.findLastIndex((entry) => this.isAnswer(entry));
    const newest = this.units.findLast(({ kind }) => kind === 'exchange');
    const latestOwn = msgs.findLastIndex((msg) => isOwn(msg, audience));
    this.unread = newest !== undefined && newest.end > latestOwn ? newest : undefined;
    const latest = msgs.findLastIndex((msg) => isSaidToAgent(msg, audience));
    const first = msgs.findIndex((msg, i) => i > this.latestAnswer && isSaidToAgent(msg, audience));
    this.#currentRound = first < 0 ? latest : first;
    const asked = msgs.findIndex(({ id }) => audience.requestIds.has(id));
    this.historyEnd = Math.max(0, asked < 0 ? this.#currentRound : asked);
    const groups = requestGroups(msgs, audience);
    this.#request = msgs[groups.at(-1)?.at(-1) ?? -1];
    this.#requests = this.#findRequests(groups);
    this.fixedTokens = this.tokensOf(this.units.filter((unit) => this.isFixed(unit)));
  }

  /** Units of the current round that may be summarized. */
  get currentWork(): readonly Unit[] {
    return this.units.filter(
      (unit) =>
        unit.start > this.#currentRound &&
        this.isFree(unit) &&
        !this.entriesOf(unit).some((entry) => this.isRequest(entry)),
    );
  }

  /** Units completely within two indexes. */
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

  /**
   * True for units that must not change: pinned, protected, system messages, requests and pending tool calls.
   */
  isFixed(unit: Unit): boolean {
    if (unit.kind === 'pending') return true;
    return this.entriesOf(unit).some(
      (entry) => this.isKept(entry) || this.#requests.has(entry.msg) || this.#isProtected(entry.msg),
    );
  }

  /** True for pinned messages and system messages. */
  isKept(entry: Entry): boolean {
    const { msg } = entry;
    return (msg.role === 'system' && !hasResults(msg)) || this.#options.isPinned(entry);
  }

  /** True if a summary may replace the unit. */
  isFree(unit: Unit): boolean {
    return unit.kind !== 'broken' && !this.isFixed(unit);
  }

  /** True if the unit is fixed only as a possible request: neither the newest nor in `requestIds`. */
  isPossibleRequest(unit: Unit): boolean {
    return this.entriesOf(unit).every((entry) => {
      const { msg } = entry;
      const isSure = msg === this.#request || this.#options.audience.requestIds.has(msg.id);
      return this.#requests.has(msg) && !isSure && !this.isKept(entry);
    });
  }

  /** True for input messages, which start a round. */
  isRequest({ msg }: Entry): boolean {
    return isSaidToAgent(msg, this.#options.audience);
  }

  /**
   * True for messages that end a round: own messages without tool blocks, except summaries and notes in place
   * of tool calls.
   */
  isAnswer({ msg, stub }: Entry): boolean {
    if (hasCalls(msg) || hasResults(msg) || !isOwn(msg, this.#options.audience)) return false;
    return stub?.kind !== 'tools' && stub?.kind !== 'current' && stub?.kind !== 'dropped';
  }

  #isProtected(msg: Msg): boolean {
    const { protectedTools } = this.#options;
    return (
      protectedTools.size > 0 &&
      msg.getContentBlocks(['tool_use', 'tool_result']).some(({ name }) => protectedTools.has(name))
    );
  }

  /** Newest group, and messages of older groups up to `maxRequestTokens`, newest first. */
  #findRequests(groups: readonly (readonly number[])[]): ReadonlySet<Msg> {
    const msgAt = (i: number): Msg => (this.entries[i] as Entry).msg;
    const requests = new Set<Msg>(groups.at(-1)?.map(msgAt));
    let space = this.#options.maxRequestTokens - this.#options.tokensOf([...requests]);
    for (const msg of groups.slice(0, -1).flat().toReversed().map(msgAt)) {
      const tokens = this.#options.tokensOf([msg]);
      if (tokens > space) continue;
      space -= tokens;
      requests.add(msg);
    }
    return requests;
  }
}

export function hasCalls(msg: Msg): boolean {
  return typeof msg.content !== 'string' && msg.hasContentBlocks('tool_use');
}

function hasResults(msg: Msg): boolean {
  return typeof msg.content !== 'string' && msg.hasContentBlocks('tool_result');
}
