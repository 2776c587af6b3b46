import { settledWithin } from '../util/async/settled-within.ts';
import { ScopeSlot } from './turn/run-scope.ts';

/** An agent as its observations use it. */
interface ObservingAgent {
  readonly observeTimeoutMs: number;
}

const observations = new WeakMap<object, Observations>();

/** Runs `observe` of an agent after the observations before it. */
export function observeInOrder<T>(agent: ObservingAgent, observe: () => Promise<T>): Promise<T> {
  let open = observations.get(agent);
  if (open === undefined) observations.set(agent, (open = new Observations(agent)));
  return open.run(observe);
}

/** The unfinished observations of an agent; undefined if there are none. Settles when they have ended, which may be never. */
export function unfinishedObservations(agent: ObservingAgent): Promise<unknown> | undefined {
  return observations.get(agent)?.unfinished;
}

/**
 * The observations of one agent, one after the other in the order of the calls, so that a slow one does not change the order of a
 * history. One that takes longer than `observeTimeoutMs` no longer holds up the next.
 */
class Observations {
  readonly #agent: ObservingAgent;
  /** Set in the code of an observation, which must not wait for itself. */
  readonly #inside = new ScopeSlot<true>();
  /** The latest observation, which settles last. */
  #latest: Promise<unknown> | undefined;

  constructor(agent: ObservingAgent) {
    this.#agent = agent;
  }

  get unfinished(): Promise<unknown> | undefined {
    return this.#inside.get() ? undefined : this.#latest;
  }

  run<T>(observe: () => Promise<T>): Promise<T> {
    if (this.#inside.get()) return observe();
    const earlier = this.#latest;
    const start = (): Promise<T> => this.#inside.run(true, observe);
    const work =
      earlier === undefined ? start() : settledWithin(earlier, this.#agent.observeTimeoutMs).then(start);
    const latest = earlier === undefined ? work : Promise.allSettled([earlier, work]);
    this.#latest = latest;
    const forget = (): void => void (this.#latest === latest && (this.#latest = undefined));
    latest.then(forget, forget);
    return work;
  }
}
