import { addUsage, type Usage } from '../../message/usage.ts';
import { Spending } from './spending.ts';

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
