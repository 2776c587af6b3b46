import { StateModule } from '../state/state-module.ts';
import type { Plan } from './plan.ts';

export interface AddPlanOptions {
  /** Whether a plan with the same id is replaced, in its place; otherwise that is an error. @default true */
  readonly override?: boolean;
}

/**
 * Where plans are kept that are not current any more. What it registers as its state is saved with the notebook; one that keeps
 * plans elsewhere registers nothing. It is only ever asked for ids of letters, digits, `_` and `-`.
 */
export abstract class PlanStorageBase extends StateModule {
  abstract addPlan(plan: Plan, options?: AddPlanOptions): Promise<void>;

  /** Returns whether there was such a plan. */
  abstract deletePlan(id: string): Promise<boolean>;

  /** All plans, oldest first. */
  abstract getPlans(): Promise<readonly Plan[]>;

  abstract getPlan(id: string): Promise<Plan | undefined>;
}
