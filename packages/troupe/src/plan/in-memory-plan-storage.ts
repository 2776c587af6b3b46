import { PlanError } from './plan-error.ts';
import { PlanStorageBase, type AddPlanOptions } from './plan-storage-base.ts';
import { Plan } from './plan.ts';

/** Plan storage in memory, in order of insertion. Part of the saved state of its notebook. */
export class InMemoryPlanStorage extends PlanStorageBase {
  static override readonly componentName: string = 'inMemoryPlanStorage';

  #plans = new Map<string, Plan>();

  constructor() {
    super();
    this.registerStateList('plans', {
      toJson: (plan: Plan) => plan.toJSON(),
      fromJson: (json) => Plan.from(json),
    });
  }

  override async addPlan(plan: Plan, { override = true }: AddPlanOptions = {}): Promise<void> {
    if (!override && this.#plans.has(plan.id)) {
      throw new PlanError([`There is a plan with the id '${plan.id}' already.`]);
    }
    this.#plans.set(plan.id, plan);
  }

  override async deletePlan(id: string): Promise<boolean> {
    return this.#plans.delete(id);
  }

  override async getPlans(): Promise<readonly Plan[]> {
    return this.plans;
  }

  override async getPlan(id: string): Promise<Plan | undefined> {
    return this.#plans.get(id);
  }

  /** Saved state. */
  protected get plans(): readonly Plan[] {
    return [...this.#plans.values()];
  }

  protected set plans(plans: readonly Plan[]) {
    this.#plans = new Map(plans.map((plan) => [plan.id, plan]));
  }
}
