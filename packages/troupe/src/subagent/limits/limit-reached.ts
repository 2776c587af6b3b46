import { TroupeError } from '../../errors.ts';

/** Thrown when a limit of a sub-agent, or of an enclosing host, is used up. */
export class LimitReached extends TroupeError {
  override readonly name = 'LimitReached';

  constructor(what: string) {
    super('limit_reached', `The limit of ${what} is used up.`);
  }
}
