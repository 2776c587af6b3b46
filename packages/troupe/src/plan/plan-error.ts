import { TroupeError } from '../errors.ts';

/** An invalid edit of a plan, with one sentence per problem. The plan is unchanged. */
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
