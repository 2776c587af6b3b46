import { checkNumber } from '../../util/check-number.ts';
import { TroupeError } from '../../errors.ts';
import type { JsonObject } from '../../util/json.ts';

/** What sub-agents may do and spend, those of sub-agents included. What is left out is not limited, except for the depth. */
export interface SafetyLimits {
  /** Tokens, of prompts and answers. */
  readonly maxTokens?: number | undefined;
  /** In the currency of the model's `pricing`. */
  readonly maxCost?: number | undefined;
  /** Milliseconds, from the first delegation on. */
  readonly maxWallMs?: number | undefined;
  /** Model calls. */
  readonly maxModelCalls?: number | undefined;
  /** Delegations. */
  readonly maxDelegations?: number | undefined;
  /** How many levels of sub-agents there may be: with 1, a sub-agent has none of its own. @default 1 */
  readonly maxDepth?: number | undefined;
  /** Tools that no sub-agent gets, wherever they come from. */
  readonly forbiddenTools?: readonly string[] | undefined;
}

type NumberLimit = Exclude<keyof SafetyLimits, 'forbiddenTools'>;

/** The limits that are numbers, and how they are called where JSON is told. */
const NUMBERS: Readonly<Record<NumberLimit, string>> = {
  maxTokens: 'max_tokens',
  maxCost: 'max_cost',
  maxWallMs: 'max_wall_ms',
  maxModelCalls: 'max_iterations',
  maxDelegations: 'max_calls',
  maxDepth: 'max_depth',
};
const NUMBER_NAMES = Object.keys(NUMBERS) as readonly NumberLimit[];

/** A frozen copy: nobody who has the original can change it. @throws TroupeError if a number makes no sense, or a limit is none. */
export function copyLimits(limits: SafetyLimits = {}): SafetyLimits {
  const known: readonly string[] = [...NUMBER_NAMES, 'forbiddenTools'];
  const unknown = Object.keys(limits ?? {}).filter((name) => !known.includes(name));
  if (limits === null || unknown.length > 0) {
    const problem = `There is no limit '${String(unknown[0]).slice(0, 64)}'. There are: ${known.join(', ')}.`;
    throw new TroupeError('invalid_config', limits === null ? 'safetyLimits must be an object.' : problem);
  }
  return stricter(limits, {});
}

/** What both allow. @throws TroupeError if a number makes no sense. */
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

/** The limits as they are told to a sub-agent. */
export function safetyFlags(limits: SafetyLimits): JsonObject {
  const flags: { [key: string]: number | readonly string[] } = {};
  for (const name of NUMBER_NAMES) {
    const value = limits[name];
    if (value !== undefined && Number.isFinite(value)) flags[NUMBERS[name]] = value;
  }
  if (limits.forbiddenTools !== undefined) flags['forbidden_tools'] = limits.forbiddenTools;
  return flags;
}

/** A list of names that is a text by mistake would forbid letters, and nothing else. */
function namesIn(names: readonly string[] | undefined): readonly string[] {
  if (names === undefined || Array.isArray(names)) return names ?? [];
  throw new TroupeError('invalid_config', 'safetyLimits.forbiddenTools must be a list of names.');
}
