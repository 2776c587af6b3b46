import { checkNumber } from '../util/check-number.ts';

export interface FileLimits {
  /** Maximum bytes of a file to read or write. @default 10 MiB */
  readonly maxFileBytes: number;
  /** Maximum entries of a folder to list. @default 10 000 */
  readonly maxEntries: number;
  /** Maximum entries visited by one search. @default 100 000 */
  readonly maxVisited: number;
  /** Maximum bytes read by one search. @default 64 MiB */
  readonly maxSearchedBytes: number;
}

export type FileLimitsInput = { readonly [Name in keyof FileLimits]?: FileLimits[Name] | undefined };

const DEFAULT_LIMITS: FileLimits = {
  maxFileBytes: 10 * 1024 * 1024,
  maxEntries: 10_000,
  maxVisited: 100_000,
  maxSearchedBytes: 64 * 1024 * 1024,
};

/**
 * Fills in defaults. Rejects NaN, which would disable a limit or make files look empty. @throws TroupeError
 */
export function checkedLimits(given: FileLimitsInput = {}): FileLimits {
  const limits: { -readonly [Name in keyof FileLimits]: FileLimits[Name] } = { ...DEFAULT_LIMITS };
  for (const name of Object.keys(DEFAULT_LIMITS) as (keyof FileLimits)[]) {
    const value = given[name];
    if (value === undefined) continue;
    checkNumber(`limits.${name}`, value, { least: 0 });
    limits[name] = value;
  }
  return limits;
}
