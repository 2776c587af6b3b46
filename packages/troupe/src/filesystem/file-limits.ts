import { checkNumber } from '../util/check-number.ts';

export interface FileLimits {
  /** The largest file that is read or written. @default 10 MiB */
  readonly maxFileBytes: number;
  /** How many entries a folder may have to be listed. @default 10 000 */
  readonly maxEntries: number;
  /** How many entries one search may look at. @default 100 000 */
  readonly maxVisited: number;
  /** How many bytes one search may read. @default 64 MiB */
  readonly maxSearchedBytes: number;
}

export type FileLimitsInput = { readonly [Name in keyof FileLimits]?: FileLimits[Name] | undefined };

const DEFAULT_LIMITS: FileLimits = {
  maxFileBytes: 10 * 1024 * 1024,
  maxEntries: 10_000,
  maxVisited: 100_000,
  maxSearchedBytes: 64 * 1024 * 1024,
};

/** A limit that is no number would limit nothing, or everything: files would look empty. @throws TroupeError */
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
