import { checkNumber } from '../../util/check-number.ts';
import { messageOf, TroupeError } from '../../errors.ts';
import { copyJson, type JsonObject, type JsonValue } from '../../util/json.ts';

/**
 * Limits of all sub-agents of a host together, nested ones included. Missing limits do not apply, except
 * `maxDepth`. Any other key is the program's own: JSON that reaches the sub-agents unchanged, in `permissions` and
 * in the delegation context.
 */
export interface SafetyLimits {
  readonly [own: string]: JsonValue | undefined;
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

type NumberLimit = 'maxTokens' | 'maxCost' | 'maxWallMs' | 'maxModelCalls' | 'maxDelegations' | 'maxDepth';

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

const KNOWN: readonly string[] = [...NUMBER_NAMES, 'forbiddenTools'];
/** Names of earlier versions and of the delegation context. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  maxiterations: 'maxModelCalls',
  maxcalls: 'maxDelegations',
};

/**
 * Validates limits and makes a frozen copy.
 * @throws TroupeError if a number is invalid, an own key is not JSON, or a key looks like a misspelt limit.
 */
export function copyLimits(limits: SafetyLimits = {}): SafetyLimits {
  if (typeof limits !== 'object' || limits === null)
    throw new TroupeError('invalid_config', 'safetyLimits must be an object.');
  for (const name of Object.keys(limits)) {
    const meant = KNOWN.includes(name) ? undefined : meantBy(name);
    if (meant !== undefined) {
      const problem = `There is no limit '${name.slice(0, 64)}'. Is it '${meant}'? A key of your own needs another name.`;
      throw new TroupeError('invalid_config', problem);
    }
  }
  return stricter(limits, {});
}

/**
 * The stricter of both limits for each key. For the program's own keys, those of `outer`.
 * @throws TroupeError if a number is invalid, or an own key is not JSON.
 */
export function stricter(outer: SafetyLimits, inner: SafetyLimits): SafetyLimits {
  const both: { -readonly [key in NumberLimit]?: number } = {};
  for (const name of NUMBER_NAMES) {
    const values = [outer[name], inner[name]].filter((value) => value !== undefined);
    for (const value of values) checkNumber(`safetyLimits.${name}`, value, { least: 0 });
    if (values.length > 0) both[name] = Math.min(...values);
  }
  const forbiddenTools = new Set([...namesIn(outer.forbiddenTools), ...namesIn(inner.forbiddenTools)]);
  return Object.freeze({
    ...both,
    ...(forbiddenTools.size > 0 && { forbiddenTools: Object.freeze([...forbiddenTools]) }),
    ...ownKeys(inner),
    ...ownKeys(outer),
  });
}

/** Limits for the delegation context. */
export function safetyFlags(limits: SafetyLimits): JsonObject {
  const flags: { [key: string]: JsonValue } = {};
  for (const name of NUMBER_NAMES) {
    const value = limits[name];
    if (value !== undefined && Number.isFinite(value)) flags[NUMBERS[name]] = value;
  }
  if (limits.forbiddenTools !== undefined) flags['forbidden_tools'] = limits.forbiddenTools;
  return { ...flags, ...ownKeys(limits) };
}

/** Copy of the program's own keys. @throws TroupeError if a value is not JSON. */
function ownKeys(limits: SafetyLimits): JsonObject {
  const own = Object.entries(limits).filter(([name, value]) => !KNOWN.includes(name) && value !== undefined);
  return Object.fromEntries(own.map(([name, value]) => [name, copyOwn(name, value)]));
}

function copyOwn(name: string, value: unknown): JsonValue {
  try {
    return copyJson(value, `safetyLimits.${name.slice(0, 64)}`);
  } catch (error) {
    throw new TroupeError('invalid_config', messageOf(error));
  }
}

/** The limit that an unknown name probably means: the same letters in another style, or one wrong letter. */
function meantBy(name: string): string | undefined {
  const plain = plainName(name);
  return (
    (Object.hasOwn(OTHER_NAMES, plain) ? OTHER_NAMES[plain] : undefined) ??
    KNOWN.find((known) => differences(plain, plainName(known)) <= 1)
  );
}

function plainName(name: string): string {
  return name.slice(0, 64).toLowerCase().replaceAll(/[_-]/g, '');
}

/** Number of letters to insert, delete or replace to turn one word into the other. */
function differences(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1];
    for (const [j, other] of [...b].entries()) {
      const replaced = (row[j] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

/** Refuses a string: its letters would be taken for names. */
function namesIn(names: readonly string[] | undefined): readonly string[] {
  if (names === undefined || Array.isArray(names)) return names ?? [];
  throw new TroupeError('invalid_config', 'safetyLimits.forbiddenTools must be a list of names.');
}
