import { StateModule } from '../state/state-module.ts';
import type { Plan } from './plan.ts';

export interface AddPlanOptions {
  /** True replaces a plan with the same id and keeps its position; false throws. @default true */
  readonly override?: boolean;
}

/**
 * Port for archived plans. Registered state is saved with the notebook; a storage outside the state registers
 * none. Gets only ids of letters, digits, `_` and `-`.
 */
export abstract class PlanStorageBase extends StateModule {
  abstract addPlan(plan: Plan, options?: AddPlanOptions): Promise<void>;

  /** Returns false if there is no plan with this id. */
  abstract deletePlan(id: string): Promise<boolean>;

  /** All plans, oldest first. */
  abstract getPlans(): Promise<readonly Plan[]>;

  abstract getPlan(id: string): Promise<Plan | undefined>;
}
