import type { Msg } from '../../message/msg.ts';
import { isOwn, isSaidToAgent, requestGroups, unitsOf, type Audience, type Unit } from '../units.ts';
import type { Entry } from './working-memory.ts';

/** The mark of messages that stay as they are. */
export const PINNED_MARK = 'pinned';

export interface ViewOptions {
  readonly audience: Audience;
  readonly isPinned: (entry: Entry) => boolean;
  readonly protectedTools: ReadonlySet<string>;
  readonly tokensOf: (msgs: readonly Msg[]) => number;
  /** How many tokens requests of the current round may have besides the newest, if nobody says which are the requests. */
  readonly maxRequestTokens: number;
}

/** How a conversation is made up at one moment: its units, its rounds, and what must stay as it is. */
export class ContextView {
  readonly units: readonly Unit[];
  /** The place of the newest answer; -1 if there is none. What comes before it is over. */
  readonly latestAnswer: number;
  /** The newest calls, if the model has yet to read their results. */
  readonly unread: Unit | undefined;
  /** The tokens of all that must stay as it is. */
  readonly fixedTokens: number;
  /** The place of the first thing that others have said since the newest answer; of the last thing, if nothing. */
  readonly #currentRound: number;
  readonly #requests: ReadonlySet<Msg>;
  /** The newest of them. */
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
    const lastWord = msgs.findLastIndex((msg) => isOwn(msg, audience));
    this.unread = newest !== undefined && newest.end > lastWord ? newest : undefined;
    const latest = msgs.findLastIndex((msg) => isSaidToAgent(msg, audience));
    const first = msgs.findIndex((msg, i) => i > this.latestAnswer && isSaidToAgent(msg, audience));
    this.#currentRound = first < 0 ? latest : first;
    const runs = requestGroups(msgs, audience);
    this.#request = msgs[runs.at(-1)?.at(-1) ?? -1];
    this.#requests = this.#findRequests(runs);
    this.fixedTokens = this.tokensOf(this.units.filter((unit) => this.isFixed(unit)));
  }

  /** What was done for the current request, as far as it may be summed up. */
  get currentWork(): readonly Unit[] {
    return this.units.filter(
      (unit) =>
        unit.start > this.#currentRound &&
        this.isFree(unit) &&
        !this.entriesOf(unit).some((entry) => this.isRequest(entry)),
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

  /** Whether it is fixed only since it may be a request, and not the newest one. */
  isPerhapsRequest(unit: Unit): boolean {
    return this.entriesOf(unit).every((entry) => {
      const { msg } = entry;
      const isSure = msg === this.#request || this.#options.audience.requestIds.has(msg.id);
      return this.#requests.has(msg) && !isSure && !this.isKept(entry);
    });
  }

  /** Whether a message is the beginning of a round: something that others have said. */
  isRequest({ msg }: Entry): boolean {
    return isSaidToAgent(msg, this.#options.audience);
  }

  /** Whether a message ends a round: something said that is not a mere summary of what was done. */
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

  /** The newest run, and of the others what there is room for: smaller parts go before larger ones that are older. */
  #findRequests(runs: readonly (readonly number[])[]): ReadonlySet<Msg> {
    const msgAt = (i: number): Msg => (this.entries[i] as Entry).msg;
    const requests = new Set<Msg>(runs.at(-1)?.map(msgAt));
    let room = this.#options.maxRequestTokens - this.#options.tokensOf([...requests]);
    for (const msg of runs.slice(0, -1).flat().toReversed().map(msgAt)) {
      const tokens = this.#options.tokensOf([msg]);
      if (tokens > room) continue;
      room -= tokens;
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
