import { TroupeError } from '../errors.ts';
import { DeadlineError, withDeadline, type DeadlineOptions } from '../util/async/deadline.ts';
import type { PlanStorageBase } from './plan-storage-base.ts';
import { Plan } from './plan.ts';

/** All plans of a storage, oldest first. @throws TroupeError if the storage returns anything else. */
export async function listArchivedPlans(storage: PlanStorageBase): Promise<readonly Plan[]> {
  const plans: unknown = await storage.getPlans();
  if (!Array.isArray(plans)) throw broken('did not return a list of plans');
  return plans.map(asPlan);
}

/** One plan of a storage. @throws TroupeError if the storage returns anything else. */
export async function loadArchivedPlan(storage: PlanStorageBase, id: string): Promise<Plan | undefined> {
  const found: unknown = await storage.getPlan(id);
  if (found === undefined || found === null) return undefined;
  const plan = asPlan(found);
  if (plan.id !== id) throw broken('returned a plan with another id');
  return plan;
}

/**
 * Waits for a storage within a time limit and until the signal is aborted. @throws TroupeError after the
 * limit
 */
export async function untilStored<T>(limits: DeadlineOptions, body: () => Promise<T>): Promise<T> {
  try {
    return await withDeadline(limits, body);
  } catch (error) {
    if (!(error instanceof DeadlineError)) throw error;
    throw broken(`did not answer within ${limits.timeoutMs / 1000} s. The plan is unchanged`);
  }
}

function asPlan(value: unknown): Plan {
  if (value instanceof Plan) return value;
  throw broken('returned a value that is not a Plan. Restore saved plans with `Plan.from`');
}

function broken(problem: string): TroupeError {
  return new TroupeError('store_failed', `The storage of plans ${problem}.`);
}
