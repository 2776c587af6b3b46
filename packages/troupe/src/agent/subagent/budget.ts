import { TroupeError } from '../../errors.ts';
import { addUsage, type Usage } from '../../message/usage.ts';
import { now } from '../../util/clock.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';
import type { Turn } from '../turn.ts';
import type { SafetyLimits } from './safety-limits.ts';

/** A limit of a sub-agent, or of somebody around it, is used up. */
export class LimitReached extends TroupeError {
  override readonly name = 'LimitReached';

  constructor(what: string) {
    super('limit_reached', `The limit of ${what} is used up.`);
  }
}

interface Spent {
  calls: number;
  iterations: number;
  /** When the first delegation began, if one did. */
  startedAt: number | undefined;
  /** What models have cost before the program ended, or before somebody was asked. */
  before: Usage | undefined;
}

/** What was spent in each call of a host, whichever of its sub-agents did it. */
const spentIn = new WeakMap<Turn, Spent>();

/** What was spent in a call of an agent so far, by itself and for what it delegated, so that it can go on later; null if that is nothing. */
export function spentBy(turn: Turn): JsonValue {
  const spent = spentIn.get(turn);
  const usage = addUsage(spent?.before, turn.usage);
  return spent === undefined && usage === undefined ? null : toJson(spent ?? NOTHING, usage);
}

/** Lets a call of an agent go on with what was spent before. */
export function goOnSpending(turn: Turn, saved: JsonValue): void {
  if (saved !== null) spentIn.set(turn, spentBefore(saved));
}

/**
 * What somebody and all sub-agents below may spend, and have spent. One counter for all of them: ten sub-agents together
 * get no further than one. A step that has begun is finished, so a limit is passed by no more than the model calls that run.
 */
export class Budget {
  readonly #limits: SafetyLimits;
  readonly #outer: Budget | undefined;
  readonly #spent: Spent;
  readonly #isHost: boolean;
  /** Aborted when nothing may be spent any more. */
  readonly #until: AbortSignal | undefined;
  #usage: () => Usage | undefined;

  private constructor(
    limits: SafetyLimits,
    spent: Spent,
    usage: () => Usage | undefined,
    outer: Budget | undefined,
    isHost: boolean,
    until?: AbortSignal,
  ) {
    this.#limits = limits;
    this.#spent = spent;
    this.#usage = usage;
    this.#outer = outer;
    this.#isHost = isHost;
    this.#until = until;
    Object.freeze(this); // sub-agents have it
  }

  /**
   * That of a host, for one call of it. What the host itself spends on its model counts too.
   * @param saved what `toJSON` of a sub-agent gave, if one goes on: then so does what its host has spent
   * @param outer that of a sub-agent in whose task the host was called
   */
  static ofHost(limits: SafetyLimits, turn: Turn | undefined, saved?: JsonValue, outer?: Budget): Budget {
    const before = spentBefore(isJsonObject(saved) ? saved['host'] : undefined);
    let spent = turn && spentIn.get(turn);
    if (spent === undefined) spent = before;
    else {
      // Those who waited at the same time have each noted what there was: the most is the last.
      spent.calls = Math.max(spent.calls, before.calls);
      spent.iterations = Math.max(spent.iterations, before.iterations);
      spent.startedAt = Math.min(spent.startedAt ?? Infinity, before.startedAt ?? now());
      spent.before = larger(spent.before, before.before);
    }
    if (turn !== undefined) spentIn.set(turn, spent);
    spent.startedAt ??= now();
    return new Budget(limits, spent, () => turn?.usage, outer, true);
  }

  /**
   * That of a sub-agent for one task.
   * @param saved what `toJSON` gave, if it goes on with one
   * @param until aborted when the task is over: whoever goes on by himself then can do nothing any more
   */
  inner(limits: SafetyLimits, saved?: JsonValue, until?: AbortSignal): Budget {
    const spent = spentBefore(saved);
    spent.startedAt ??= now();
    return new Budget(limits, spent, () => undefined, this, false, until);
  }

  /** Says where to look up what the sub-agent and those below it have spent on models. */
  countUsageOf(turn: () => Turn | undefined): void {
    this.#usage = () => turn()?.usage;
  }

  /** Counts the delegation that it is for, with all around it. @throws LimitReached if there may be none; then it doesn't count. */
  begin(): void {
    const around = this.#chain().slice(1);
    for (const budget of around) {
      const { maxCalls = Infinity } = budget.#limits;
      if (budget.#spent.calls >= maxCalls) throw new LimitReached(`${maxCalls} delegations`);
      budget.check();
    }
    for (const budget of around) budget.#spent.calls++;
  }

  /**
   * Counts a step that is about to begin, or none at all. Those of sub-agents below are seen by every sub-agent around them, so each counts for itself,
   * and for a host that is no sub-agent. @throws LimitReached
   */
  beginStep(isModelCall: boolean): void {
    const outer = this.#outer;
    const counting = outer !== undefined && outer.#isHost ? [outer, this] : [this];
    for (const budget of counting) {
      budget.check();
      const { maxIterations = Infinity } = budget.#limits;
      if (isModelCall && budget.#spent.iterations >= maxIterations)
        throw new LimitReached(`${maxIterations} model calls`);
    }
    if (isModelCall) for (const budget of counting) budget.#spent.iterations++;
  }

  /** How long the task has taken so far, without the time in which somebody was asked. */
  get elapsedMs(): number {
    return elapsedSince(this.#spent);
  }

  /** How much time is left, here and outside. */
  get remainingMs(): number {
    return Math.min(...this.#chain().map((one) => (one.#limits.maxWallMs ?? Infinity) - one.elapsedMs));
  }

  /** @throws LimitReached if tokens, money or time are used up; TroupeError if the task is over. */
  check(): void {
    if (this.#until?.aborted) throw new TroupeError('limit_reached', 'The task is over.');
    const { maxTokens = Infinity, maxCost = Infinity, maxWallMs = Infinity } = this.#limits;
    const { inputTokens = 0, outputTokens = 0, cost = 0 } = this.#total ?? {};
    if (inputTokens + outputTokens >= maxTokens) throw new LimitReached(`${maxTokens} tokens`);
    if (cost >= maxCost) throw new LimitReached(`a cost of ${maxCost}`);
    if (this.elapsedMs >= maxWallMs) throw new LimitReached(`${maxWallMs / 1000} s`);
  }

  /** What was spent, for going on later; what the host has spent with it. The time in between doesn't count. */
  toJSON(): JsonObject {
    const outer = this.#outer;
    const host = outer !== undefined && outer.#isHost ? outer.toJSON() : undefined;
    return { ...toJson(this.#spent, this.#total), ...(host && { host }) };
  }

  get #total(): Usage | undefined {
    return addUsage(this.#spent.before, this.#usage());
  }

  #chain(): Budget[] {
    return this.#outer === undefined ? [this] : [this, ...this.#outer.#chain()];
  }
}

const NOTHING: Spent = { calls: 0, iterations: 0, startedAt: undefined, before: undefined };

function toJson(spent: Spent, usage: Usage | undefined): JsonObject {
  const { calls, iterations, startedAt } = spent;
  return {
    calls,
    iterations,
    ...(startedAt !== undefined && { ms: elapsedSince(spent) }),
    ...(usage && { usage }),
  };
}

function elapsedSince({ startedAt = now() }: Spent): number {
  return now() - startedAt;
}

function spentBefore(saved: JsonValue | undefined): Spent {
  const { calls = 0, iterations = 0, ms, usage } = isJsonObject(saved) ? saved : {};
  const { inputTokens = 0, outputTokens = 0, cost = 0 } = isJsonObject(usage) ? usage : {};
  const before = { inputTokens: count(inputTokens), outputTokens: count(outputTokens), cost: count(cost) };
  return {
    calls: count(calls),
    iterations: count(iterations),
    startedAt: ms === undefined ? undefined : now() - count(ms),
    before: usage === undefined ? undefined : before,
  };
}

function larger(a: Usage | undefined, b: Usage | undefined): Usage | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return {
    inputTokens: Math.max(a.inputTokens, b.inputTokens),
    outputTokens: Math.max(a.outputTokens, b.outputTokens),
    cost: Math.max(a.cost ?? 0, b.cost ?? 0),
  };
}

/** What was saved may have been changed, but never gives anything back. */
function count(value: JsonValue): number {
  return typeof value === 'number' && value > 0 ? value : 0;
}
