import { TroupeError } from '../errors.ts';

interface Range {
  readonly least: number;
  readonly most?: number | undefined;
  readonly whole?: boolean | undefined;
}

/** Longest delay of a timer, in milliseconds. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/**
 * Checks a numeric option.
 * @throws TroupeError that names the option if the value is outside the range
 */
export function checkNumber(
  name: string,
  value: number,
  { least, most = Infinity, whole = false }: Range,
): void {
  if (typeof value === 'number' && value >= least && value <= most && (!whole || Number.isInteger(value)))
    return;
  const range = most === Infinity ? `of ${least} or more` : `from ${least} to ${most}`;
  throw new TroupeError('invalid_config', `${name} must be a ${whole ? 'whole ' : ''}number ${range}.`);
}
