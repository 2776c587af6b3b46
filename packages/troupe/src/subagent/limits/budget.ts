import { TroupeError } from '../../errors.ts';
import type { JsonObject, JsonValue } from '../../util/json.ts';
import type { TurnControl } from '../../agent/turn/turn-control.ts';
import { Spending } from '../../agent/turn/spending.ts';
import { LimitReached } from './limit-reached.ts';
import { RunningTokens } from './running-tokens.ts';
import type { SafetyLimits } from './safety-limits.ts';

interface BudgetOptions {
  readonly limits: SafetyLimits;
  readonly spending: Spending;
  readonly outer: Budget | undefined;
  readonly isHost: boolean;
  /** Aborted when nothing more may be spent. */
  readonly until?: AbortSignal | undefined;
}

/** Limits and spent amounts of one budget, for a person. */
export interface BudgetFacts {
  /** Whether it is the budget of a host for all its sub-agents together, and not that of one task. */
  readonly isHost: boolean;
  /** Numeric limits, such as `maxTokens`. */
  readonly limits: Readonly<Record<string, number>>;
  readonly spent: {
    readonly modelCalls: number;
    readonly delegations: number;
    readonly tokens: number;
    readonly cost: number;
    readonly ms: number;
  };
}

/**
 * Limits and spent amounts of a host or a sub-agent, including all nested sub-agents: ten sub-agents together
 * may spend no more than a single one. Token limits also stop a running model call; a started step is finished
 * otherwise. Folder `subagent/limits`: start here.
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
    Object.freeze(this); // shared with sub-agents
  }

  /**
   * Budget of a host for one agent call. Model calls of the host count too.
   * @param outer budget of the enclosing sub-agent, if the host was called in its task
   */
  static ofHost(limits: SafetyLimits, control: TurnControl | undefined, outer?: Budget): Budget {
    const spending = control?.costs.spending ?? new Spending();
    return new Budget({ limits, spending, outer, isHost: true });
  }

  /**
   * Budget of a sub-agent for one task.
   * @param saved result of `toJSON`, when a suspended task resumes
   * @param until aborted when the task is over; afterwards the budget allows nothing
   */
  inner(limits: SafetyLimits, saved?: JsonValue, until?: AbortSignal): Budget {
    return new Budget({ limits, spending: new Spending(saved), outer: this, isHost: false, until });
  }

  /** Counts the usage of an agent call of the sub-agent, nested agent calls included. */
  countUsageOf(control: TurnControl | undefined): void {
    if (control !== undefined) this.#spending.add(control.costs);
  }

  /**
   * Counts the delegation of this budget in all enclosing budgets.
   * @throws LimitReached if a limit is used up; then nothing is counted.
   */
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
   * Checks the limits before a step, then counts a model call, in all counting budgets or in none. Enclosing
   * sub-agents count relayed steps by themselves; so only this budget counts, plus that of the outermost host. In
   * the background, where steps are not relayed, all enclosing budgets count.
   * @throws LimitReached
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

  /** Counts the tokens of a model call while it runs, in this and all enclosing budgets. */
  countRunning(): RunningTokens {
    const limits = this.#chain().flatMap((one) => {
      const { maxTokens = Infinity } = one.#limits;
      return maxTokens === Infinity ? [] : [{ maxTokens, spending: one.#spending }];
    });
    return new RunningTokens(limits);
  }

  /** Time spent on the task so far, without the time in which approvals were pending. */
  get elapsedMs(): number {
    return this.#spending.elapsedMs;
  }

  /** Smallest remaining time of this and all enclosing budgets. */
  get remainingMs(): number {
    return Math.min(...this.#chain().map((one) => (one.#limits.maxWallMs ?? Infinity) - one.elapsedMs));
  }

  /** @throws LimitReached if tokens, cost or time are used up; TroupeError if the task is over. */
  check(): void {
    if (this.#until?.aborted) throw new TroupeError('limit_reached', 'The task is over.');
    const { maxTokens = Infinity, maxCost = Infinity, maxWallMs = Infinity } = this.#limits;
    const { tokens, usage: { cost = 0 } = {} } = this.#spending;
    if (tokens >= maxTokens) throw new LimitReached(`${maxTokens} tokens`);
    if (cost >= maxCost) throw new LimitReached(`a cost of ${maxCost}`);
    if (this.elapsedMs >= maxWallMs) throw new LimitReached(`${maxWallMs / 1000} s`);
  }

  /** Limits and spent amounts, for a person: of this budget, then of the enclosing ones, up to the outermost host. */
  describe(): BudgetFacts[] {
    return this.#chain().map((one) => {
      const { usage, modelCalls, delegations, elapsedMs } = one.#spending;
      const tokens = (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0);
      const limits = Object.entries(one.#limits).filter(([, value]) => typeof value === 'number');
      return {
        isHost: one.#isHost,
        limits: Object.fromEntries(limits) as Readonly<Record<string, number>>,
        spent: { modelCalls, delegations, tokens, cost: usage?.cost ?? 0, ms: Math.round(elapsedMs) },
      };
    });
  }

  /** Spent amounts, for a resumed task. Time until the resume is not counted. */
  toJSON(): JsonObject {
    return this.#spending.toJSON();
  }

  #chain(): Budget[] {
    return this.#outer === undefined ? [this] : [this, ...this.#outer.#chain()];
  }
}
