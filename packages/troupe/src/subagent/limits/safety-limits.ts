import { checkNumber } from '../../util/check-number.ts';
import { TroupeError } from '../../errors.ts';
import type { JsonObject } from '../../util/json.ts';

/**
 * Limits of all sub-agents of a host together, nested ones included. Missing limits do not apply, except
 * `maxDepth`.
 */
export interface SafetyLimits {
  /** Maximum input and output tokens. */
  readonly maxTokens?: number | undefined;
  /** Maximum cost, in the currency of the model's `pricing`. */
  readonly maxCost?: number | undefined;
  /** Maximum milliseconds from the first delegation on, without pending approvals. */
  readonly maxWallMs?: number | undefined;
  /** Maximum model calls. */
  readonly maxModelCalls?: number | undefined;
  /** Maximum delegations. */
  readonly maxDelegations?: number | undefined;
  /** Maximum levels of sub-agents; with 1, a sub-agent has none. @default 1 */
  readonly maxDepth?: number | undefined;
  /** Tools forbidden for every sub-agent, from any source. */
  readonly forbiddenTools?: readonly string[] | undefined;
}

type NumberLimit = Exclude<keyof SafetyLimits, 'forbiddenTools'>;

/** Numeric limits, and their keys in the delegation context. */
const NUMBERS: Readonly<Record<NumberLimit, string>> = {
  maxTokens: 'max_tokens',
  maxCost: 'max_cost',
  maxWallMs: 'max_wall_ms',
  maxModelCalls: 'max_iterations',
  maxDelegations: 'max_calls',
  maxDepth: 'max_depth',
};
const NUMBER_NAMES = Object.keys(NUMBERS) as readonly NumberLimit[];

/**
 * Validates limits and makes a frozen copy.
 * @throws TroupeError if a number is invalid, or a limit is unknown.
 */
export function copyLimits(limits: SafetyLimits = {}): SafetyLimits {
  const known: readonly string[] = [...NUMBER_NAMES, 'forbiddenTools'];
  const unknown = Object.keys(limits ?? {}).filter((name) => !known.includes(name));
  if (limits === null || unknown.length > 0) {
    const problem = `There is no limit '${String(unknown[0]).slice(0, 64)}'. There are: ${known.join(', ')}.`;
    throw new TroupeError('invalid_config', limits === null ? 'safetyLimits must be an object.' : problem);
  }
  return stricter(limits, {});
}

/** The stricter of both limits for each key. @throws TroupeError if a number is invalid. */
export function stricter(a: SafetyLimits, b: SafetyLimits): SafetyLimits {
  const both: { -readonly [key in NumberLimit]?: number } = {};
  for (const name of NUMBER_NAMES) {
    const values = [a[name], b[name]].filter((value) => value !== undefined);
    for (const value of values) checkNumber(`safetyLimits.${name}`, value, { least: 0 });
    if (values.length > 0) both[name] = Math.min(...values);
  }
  const forbiddenTools = new Set([...namesIn(a.forbiddenTools), ...namesIn(b.forbiddenTools)]);
  return Object.freeze({
    ...both,
    ...(forbiddenTools.size > 0 && { forbiddenTools: Object.freeze([...forbiddenTools]) }),
  });
}

/** Limits for the delegation context. */
export function safetyFlags(limits: SafetyLimits): JsonObject {
  const flags: { [key: string]: number | readonly string[] } = {};
  for (const name of NUMBER_NAMES) {
    const value = limits[name];
    if (value !== undefined && Number.isFinite(value)) flags[NUMBERS[name]] = value;
  }
  if (limits.forbiddenTools !== undefined) flags['forbidden_tools'] = limits.forbiddenTools;
  return flags;
}

/** Refuses a string: its letters would be taken for names. */
function namesIn(names: readonly string[] | undefined): readonly string[] {
  if (names === undefined || Array.isArray(names)) return names ?? [];
  throw new TroupeError('invalid_config', 'safetyLimits.forbiddenTools must be a list of names.');
}
