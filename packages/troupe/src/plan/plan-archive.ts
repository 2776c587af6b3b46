import { TroupeError } from '../errors.ts';
import { DeadlineError, withDeadline, type DeadlineOptions } from '../util/async/deadline.ts';
import type { PlanStorageBase } from './plan-storage-base.ts';
import { Plan } from './plan.ts';

/** The plans in a storage, oldest first. @throws TroupeError if it gives something else. */
export async function archivedPlans(storage: PlanStorageBase): Promise<readonly Plan[]> {
  const plans: unknown = await storage.getPlans();
  if (!Array.isArray(plans)) throw broken('gave no list of plans');
  return plans.map(asPlan);
}

/** One plan of a storage. @throws TroupeError if it gives something else. */
export async function archivedPlan(storage: PlanStorageBase, id: string): Promise<Plan | undefined> {
  const found: unknown = await storage.getPlan(id);
  if (found === undefined || found === null) return undefined;
  const plan = asPlan(found);
  if (plan.id !== id) throw broken('gave another plan than the one it was asked for');
  return plan;
}

/** Waits for a storage, but not for ever, and not any longer than somebody wants to know. @throws TroupeError */
export async function untilStored<T>(limits: DeadlineOptions, work: () => Promise<T>): Promise<T> {
  try {
    return await withDeadline(limits, work);
  } catch (error) {
    if (!(error instanceof DeadlineError)) throw error;
    throw broken(`gave no answer within ${limits.timeoutMs / 1000} s. The plan is as it was`);
  }
}

function asPlan(value: unknown): Plan {
  if (value instanceof Plan) return value;
  throw broken('gave something that is no Plan. `Plan.from` makes one of what `toJSON` gave');
}

function broken(problem: string): TroupeError {
  return new TroupeError('store_failed', `The storage of plans ${problem}.`);
}
