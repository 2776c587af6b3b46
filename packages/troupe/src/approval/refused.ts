import { TroupeError } from '../errors.ts';

/** The error for a decision that does not count. */
export function refused(id: unknown, problem: string): TroupeError {
  return new TroupeError(
    'decision_refused',
    `The pending tool call '${String(id).slice(0, 64)}' ${problem}.`,
  );
}
