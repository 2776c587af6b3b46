import { TroupeError } from '../errors.ts';
import { checkNumber, MAX_TIMER_MS } from '../util/check-number.ts';

/** SettledLimits of one file, against files made to exhaust a program. Options of `ReadDocumentOptions`. */
export interface ReadLimits {
  /** Maximum size of a file. @default 64 MiB */
  readonly maxBytes?: number | undefined;
  /** Maximum size of all that is packed in a file: entries of an Office file, streams of a PDF. @default 128 MiB */
  readonly maxUnpackedBytes?: number | undefined;
  /** Maximum ratio of unpacked to packed size of an entry or stream of more than 1 MiB, except images in a PDF. @default 250 */
  readonly maxRatio?: number | undefined;
  /** Maximum entries of an Office file, and pages of a PDF. @default 5000 */
  readonly maxEntries?: number | undefined;
  /** Maximum characters of the text. @default 20 million */
  readonly maxChars?: number | undefined;
  /** Maximum memory that reading a PDF or an Office file may take. @default 512 MiB */
  readonly maxMemoryBytes?: number | undefined;
  /** Time limit of a PDF or an Office file. @default 60 seconds */
  readonly timeoutMs?: number | undefined;
}

export interface ReadDocumentOptions {
  /** Form of tables: Markdown, or one JSON object for each row. @default 'markdown' */
  readonly tables?: 'markdown' | 'json' | undefined;
  /** Whether images in Word and PowerPoint files, and image files of a folder, become sections too. @default false */
  readonly includeImages?: boolean | undefined;
  readonly limits?: ReadLimits | undefined;
  readonly signal?: AbortSignal | undefined;
}

export type SettledLimits = { readonly [Name in keyof ReadLimits]-?: number };

const MIB = 1024 ** 2;
const DEFAULTS: SettledLimits = {
  maxBytes: 64 * MIB,
  maxUnpackedBytes: 128 * MIB,
  maxRatio: 250,
  maxEntries: 5000,
  maxChars: 20_000_000,
  maxMemoryBytes: 512 * MIB,
  timeoutMs: 60_000,
};

/** All limits. @throws TroupeError for an invalid one */
export function settleLimits(given: ReadLimits = {}): SettledLimits {
  const limits: Record<string, number> = { ...DEFAULTS };
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    checkNumber(name, value, { least: 1, most: name === 'timeoutMs' ? MAX_TIMER_MS : Infinity });
    limits[name] = value;
  }
  return limits as SettledLimits;
}

/** Error for a file that goes beyond a limit. */
export function overLimit(problem: string, limit: keyof ReadLimits): TroupeError {
  return new TroupeError('limit_reached', `${problem} (the limit '${limit}').`);
}

/** Error for a broken file, or one of another type. */
export function unreadableFile(problem: string, cause?: unknown): TroupeError {
  return new TroupeError('file_failed', problem, { cause });
}
