import { AsyncLocalStorage } from 'node:async_hooks';

/** The step around the running code. */
interface RunningStep {
  /** `run:step`, the same in every attempt. */
  readonly key: string;
  /** Journals that the effect of the step begins. */
  readonly begin: () => Promise<void>;
}

const steps = new AsyncLocalStorage<RunningStep>();

/** Runs the body of a step. */
export function withinStep<T>(step: RunningStep, body: () => Promise<T>): Promise<T> {
  return steps.run(step, body);
}

/** Journals that the effect of the running step begins: its tool call was allowed, and its tool runs now. */
export async function beginEffect(): Promise<void> {
  await steps.getStore()?.begin();
}

/**
 * The idempotency key of the step around this code: `run:step`, the same in every attempt at the run. For tools that change something
 * outside: a system that knows the key changes nothing twice. Undefined outside of a durable run.
 */
export function currentIdempotencyKey(): string | undefined {
  return steps.getStore()?.key;
}
