import { addUsage, type Usage } from '../message/usage.ts';
import { now } from '../util/clock.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../util/json.ts';
import type { Turn } from '../agent/turn.ts';

/**
 * What is spent on one thing that was asked for: a task of a sub-agent, or an answer of a host with all that it delegates. It may take
 * several calls, when somebody has to be asked in between, and several processes; time in which it rests doesn't count.
 */
export class Account {
  /** Delegations. */
  calls: number;
  /** Model calls. */
  iterations: number;
  /** What models have cost in processes that ended. */
  readonly #before: Usage | undefined;
  /** The calls that it takes in this program: each knows what it has cost, and may yet go on in the background. */
  readonly #turns = new Set<Turn>();
  /** How long it took until it last rested; undefined if it has never begun. */
  #ms: number | undefined;
  /** When it last began; undefined while it rests. */
  #since: number | undefined;

  /** @param saved what `toJSON` gave. It may have been changed, but never gives anything back. */
  constructor(saved?: JsonValue) {
    const { calls, iterations, ms, usage } = isJsonObject(saved) ? saved : {};
    this.calls = count(calls);
    this.iterations = count(iterations);
    this.#ms = ms === undefined ? undefined : count(ms);
    this.#before = usage === undefined ? undefined : usageFrom(usage);
  }

  /** What models have cost, those of sub-agents included. */
  get usage(): Usage | undefined {
    return [...this.#turns].reduce((sum, turn) => addUsage(sum, turn.usage), this.#before);
  }

  get elapsedMs(): number {
    return (this.#ms ?? 0) + (this.#since === undefined ? 0 : now() - this.#since);
  }

  /** Says that a call is for it, and counts what that costs. */
  add(turn: Turn): void {
    this.#turns.add(turn.origin);
  }

  /** From now on time counts. */
  begin(): void {
    this.#ms ??= 0;
    this.#since ??= now();
  }

  /** Until it goes on, time doesn't count. */
  rest(): void {
    if (this.#ms !== undefined) this.#ms = this.elapsedMs;
    this.#since = undefined;
  }

  /** Goes on in another call. Time counts again if it did before. */
  goOnIn(turn: Turn): void {
    this.add(turn);
    accounts.set(turn.origin, this);
    if (this.#ms !== undefined) this.begin();
  }

  /** For going on later. */
  toJSON(): JsonObject {
    const { calls, iterations, usage } = this;
    return {
      calls,
      iterations,
      ...(this.#ms !== undefined && { ms: this.elapsedMs }),
      ...(usage && { usage }),
    };
  }
}

const accounts = new WeakMap<Turn, Account>();

/** What is spent on the answer of a host, which this call is for. */
export function accountOf(turn: Turn): Account {
  const known = accounts.get(turn.origin);
  if (known !== undefined) return known;
  const account = new Account();
  account.goOnIn(turn);
  return account;
}

function usageFrom(saved: JsonValue): Usage {
  const { inputTokens, outputTokens, cost } = isJsonObject(saved) ? saved : {};
  return { inputTokens: count(inputTokens), outputTokens: count(outputTokens), cost: count(cost) };
}

function count(value: JsonValue | undefined): number {
  return typeof value === 'number' && value > 0 ? value : 0;
}
