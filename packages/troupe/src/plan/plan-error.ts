import { TroupeError } from '../errors.ts';

/** An edit that does not fit the plan. Nothing was changed. All that is wrong with it is named, one sentence each. */
export class PlanError extends TroupeError {
  override readonly name = 'PlanError';

  constructor(readonly problems: readonly string[]) {
    super('invalid_plan', problems.join(' '));
  }
}

/** @throws PlanError if there is a problem. */
export function refuseIf(problems: readonly string[]): void {
  if (problems.length > 0) throw new PlanError(problems);
}
