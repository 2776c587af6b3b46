import { TroupeError } from '../../errors.ts';
import type { JsonObject, JsonValue } from '../../util/json.ts';
import type { TurnControl } from '../../agent/turn-control.ts';
import { Spending } from '../../agent/spending.ts';
import type { SafetyLimits } from './safety-limits.ts';

/** A limit of a sub-agent, or of somebody around it, is used up. */
export class LimitReached extends TroupeError {
  override readonly name = 'LimitReached';

  constructor(what: string) {
    super('limit_reached', `The limit of ${what} is used up.`);
  }
}

/** What a budget is for. */
interface BudgetOptions {
  readonly limits: SafetyLimits;
  readonly spending: Spending;
  readonly outer: Budget | undefined;
  readonly isHost: boolean;
  /** Aborted when nothing may be spent any more. */
  readonly until?: AbortSignal | undefined;
}

/**
 * What somebody and all sub-agents below may spend, and have spent. One spending for all of them: ten sub-agents together
 * get no further than one. A step that has begun is finished, so a limit is passed by no more than the model calls that run.
 */
export class Budget {
  readonly #limits: SafetyLimits;
  readonly #spending: Spending;
  readonly #outer: Budget | undefined;
  readonly #isHost: boolean;
  readonly #until: AbortSignal | undefined;

  private constructor({ limits, spending, outer, isHost, until }: BudgetOptions) {
    this.#limits = limits;
    this.#spending = spending;
    this.#outer = outer;
    this.#isHost = isHost;
    this.#until = until;
    spending.start();
    Object.freeze(this); // sub-agents have it
  }

  /**
   * That of a host, for one call of it. What the host itself spends on its model counts too.
   * @param outer that of a sub-agent in whose task the host was called
   */
  static ofHost(limits: SafetyLimits, control: TurnControl | undefined, outer?: Budget): Budget {
    const spending = control?.spending ?? new Spending();
    return new Budget({ limits, spending, outer, isHost: true });
  }

  /**
   * That of a sub-agent for one task.
   * @param saved what `toJSON` gave, if it goes on with one
   * @param until aborted when the task is over: whoever goes on by himself then can do nothing any more
   */
  inner(limits: SafetyLimits, saved?: JsonValue, until?: AbortSignal): Budget {
    return new Budget({ limits, spending: new Spending(saved), outer: this, isHost: false, until });
  }

  /** Counts what a call of the sub-agent costs, with those below it. */
  countUsageOf(control: TurnControl | undefined): void {
    control?.countIn(this.#spending);
  }

  /** Counts the delegation that it is for, with all around it. @throws LimitReached if there may be none; then it doesn't count. */
  begin(): void {
    const around = this.#chain().slice(1);
    for (const budget of around) {
      const { maxDelegations = Infinity } = budget.#limits;
      if (budget.#spending.delegations >= maxDelegations)
        throw new LimitReached(`${maxDelegations} delegations`);
      budget.check();
    }
    for (const budget of around) budget.#spending.delegations++;
  }

  /**
   * Counts a step that is about to begin, or none at all. Those around see the steps of sub-agents below and count them themselves, except for a host that
   * is no sub-agent, and except for steps in the background. @throws LimitReached
   */
  beginStep(isModelCall: boolean, isBackground = false): void {
    const counting = this.#chain().filter((one, i) => isBackground || i === 0 || (i === 1 && one.#isHost));
    for (const budget of counting) {
      budget.check();
      const { maxModelCalls = Infinity } = budget.#limits;
      if (isModelCall && budget.#spending.modelCalls >= maxModelCalls)
        throw new LimitReached(`${maxModelCalls} model calls`);
    }
    if (isModelCall) for (const budget of counting) budget.#spending.modelCalls++;
  }

  /** How long the task has taken so far, without the time in which somebody was asked. */
  get elapsedMs(): number {
    return this.#spending.elapsedMs;
  }

  /** How much time is left, here and outside. */
  get remainingMs(): number {
    return Math.min(...this.#chain().map((one) => (one.#limits.maxWallMs ?? Infinity) - one.elapsedMs));
  }

  /** @throws LimitReached if tokens, money or time are used up; TroupeError if the task is over. */
  check(): void {
    if (this.#until?.aborted) throw new TroupeError('limit_reached', 'The task is over.');
    const { maxTokens = Infinity, maxCost = Infinity, maxWallMs = Infinity } = this.#limits;
    const { inputTokens = 0, outputTokens = 0, cost = 0 } = this.#spending.usage ?? {};
    if (inputTokens + outputTokens >= maxTokens) throw new LimitReached(`${maxTokens} tokens`);
    if (cost >= maxCost) throw new LimitReached(`a cost of ${maxCost}`);
    if (this.elapsedMs >= maxWallMs) throw new LimitReached(`${maxWallMs / 1000} s`);
  }

  /** What was spent, for going on later. The time in between doesn't count. */
  toJSON(): JsonObject {
    return this.#spending.toJSON();
  }

  #chain(): Budget[] {
    return this.#outer === undefined ? [this] : [this, ...this.#outer.#chain()];
  }
}
