import { addUsage, USAGE_FIELDS, type Usage } from '../../message/usage.ts';
import { monotonic } from '../../util/clock.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';

/** Costs of an agent call. */
interface CostSource {
  readonly usage: Usage | undefined;
}

/**
 * Delegations, model calls, questions, usage and time spent on one request: a task of a sub-agent, or an answer of a host with all its
 * delegations. May span several agent calls and processes, when tool calls are pending in between; time while paused does not count.
 */
export class Spending {
  /** Number of delegations. */
  delegations: number;
  /** Number of model calls. */
  modelCalls: number;
  /** Number of questions to a person. */
  questions: number;
  /** Tokens of running model calls, whose usage is not known yet. */
  runningTokens = 0;
  /** Usage in earlier processes. */
  readonly #savedUsage: Usage | undefined;
  /** Agent calls of this program; each may still go on in the background. */
  readonly #sources = new Set<CostSource>();
  /** Time until the last pause; undefined before the start. */
  #ms: number | undefined;
  /** Start of the time that counts now; undefined while paused. */
  #since: number | undefined;

  /** @param saved a result of `toJSON`. Edited numbers give nothing back: they count as 0 or more. */
  constructor(saved?: JsonValue) {
    const { calls, iterations, questions, ms, usage } = isJsonObject(saved) ? saved : {};
    this.delegations = count(calls);
    this.modelCalls = count(iterations);
    this.questions = count(questions);
    this.#ms = ms === undefined ? undefined : count(ms);
    this.#savedUsage = usage === undefined ? undefined : usageFrom(usage);
  }

  /** Usage of models, nested agent calls included. */
  get usage(): Usage | undefined {
    return [...this.#sources].reduce((sum, source) => addUsage(sum, source.usage), this.#savedUsage);
  }

  /** Input and output tokens, those of running model calls included. */
  get tokens(): number {
    const { inputTokens = 0, outputTokens = 0 } = this.usage ?? {};
    return inputTokens + outputTokens + this.runningTokens;
  }

  get elapsedMs(): number {
    return (this.#ms ?? 0) + (this.#since === undefined ? 0 : monotonic() - this.#since);
  }

  /** Counts the costs of an agent call. */
  add(source: CostSource): void {
    this.#sources.add(source);
  }

  /** Starts the time, unless started. */
  start(): void {
    this.#ms ??= 0;
    this.#since ??= monotonic();
  }

  /** Stops the time until `resume`. */
  pause(): void {
    if (this.#ms !== undefined) this.#ms = this.elapsedMs;
    this.#since = undefined;
  }

  /** Continues the time, if started before. */
  resume(): void {
    if (this.#ms !== undefined) this.start();
  }

  /** JSON for the constructor, in this process or a later one. */
  toJSON(): JsonObject {
    const { delegations: calls, modelCalls: iterations, questions, usage } = this;
    return {
      calls,
      iterations,
      ...(questions > 0 && { questions }),
      ...(this.#ms !== undefined && { ms: this.elapsedMs }),
      ...(usage && { usage }),
    };
  }
}

/** Costs of one agent call, nested agent calls included, and the spending in which they count. Shared with the handling of an interrupt. */
export class TurnCosts {
  /** Costs of the call so far. */
  usage: Usage | undefined;
  readonly #outer: TurnCosts | undefined;
  #spending: Spending | undefined;

  /** @param outer costs of the agent call around */
  constructor(outer: TurnCosts | undefined) {
    this.#outer = outer;
  }

  /** Counts costs in this call and in the calls around. */
  add(usage: Usage): void {
    this.usage = addUsage(this.usage, usage);
    this.#outer?.add(usage);
  }

  /** Spending on the current request. */
  get spending(): Spending {
    return this.#spending ?? this.resume(new Spending());
  }

  /** Goes on with the spending of an earlier call for the same request. */
  resume(spending: Spending): Spending {
    this.#spending = spending;
    spending.add(this);
    spending.resume();
    return spending;
  }
}

function usageFrom(saved: JsonValue): Usage {
  const usage: { -readonly [key in keyof Usage]: Usage[key] } = { inputTokens: 0, outputTokens: 0, cost: 0 };
  if (!isJsonObject(saved)) return usage;
  for (const key of USAGE_FIELDS) if (saved[key] !== undefined) usage[key] = count(saved[key]);
  return usage;
}

function count(value: JsonValue | undefined): number {
  return typeof value === 'number' && value > 0 ? value : 0;
}
