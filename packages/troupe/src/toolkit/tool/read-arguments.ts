import { copyJsonObject, NotJsonError, type JsonObject } from '../../util/json.ts';
import {
  validateNowOrLater,
  type AnySchema,
  type JsonSchema,
  type SchemaProblem,
  type Validation,
} from '../../util/schema.ts';
import { coerceInput } from './coerce-input.ts';
import { propertiesOf } from './shown-schema.ts';

/** Schema for some or all of the arguments. */
export interface ArgumentSchema {
  readonly schema: AnySchema;
  /** JSON schema shown to the model. */
  readonly jsonSchema: JsonSchema;
}

export interface ArgumentRules {
  /** Schema of the tool. Without it the tool has no arguments, and all sent arguments are dropped. */
  readonly own: ArgumentSchema | undefined;
  /** Additional schema for the arguments named in it. */
  readonly extension: ArgumentSchema | undefined;
  readonly preset: JsonObject | undefined;
  readonly coerce: boolean;
}

/** Arguments of a tool without a schema. */
const NONE: Validation<object> = { ok: true, value: Object.freeze({}) };

type NowOrLater<T> = T | Promise<T>;

/** Validates and converts the arguments of a tool call. Returns the value, or the problems; a promise only where a schema does. */
export function readArguments(rules: ArgumentRules, input: unknown): NowOrLater<Validation<unknown>> {
  let given: JsonObject;
  try {
    given = copyJsonObject(input, '');
  } catch (error) {
    if (!(error instanceof NotJsonError)) throw error;
    return { ok: false, problems: [{ path: error.path.replace(/^\./, ''), message: error.problem }] };
  }
  const { extension } = rules;
  return extension === undefined ? checkOwn(rules, given) : checkParts(rules, extension, given);
}

async function checkParts(
  rules: ArgumentRules,
  extension: ArgumentSchema,
  given: JsonObject,
): Promise<Validation<unknown>> {
  const added = propertiesOf(extension.jsonSchema);
  const isAdded = ([key]: readonly [string, unknown]): boolean => Object.hasOwn(added, key);
  const entries = Object.entries(given);
  const parts = [
    await checkOwn(rules, Object.fromEntries(entries.filter((entry) => !isAdded(entry)))),
    await check(extension, Object.fromEntries(entries.filter(isAdded)), rules.coerce),
  ];
  const problems = parts.flatMap((part) => (part.ok ? [] : part.problems));
  if (problems.length > 0) return { ok: false, problems };
  const values = parts.map((part) => (part.ok ? (part.value as object) : {}));
  return { ok: true, value: { ...values[0], ...values[1] } };
}

function checkOwn(
  { own, preset, coerce }: ArgumentRules,
  input: JsonObject,
): NowOrLater<Validation<unknown>> {
  if (own === undefined) return NONE;
  return preset === undefined ? check(own, input, coerce) : checkWithPreset(own, preset, input, coerce);
}

async function checkWithPreset(
  own: ArgumentSchema,
  preset: JsonObject,
  input: JsonObject,
  coerce: boolean,
): Promise<Validation<unknown>> {
  const checked = await check(own, { ...input, ...preset }, coerce);
  if (checked.ok) return checked;
  // A preset may be a secret, so its problems are not shown to the model.
  const problems = checked.problems.map((problem) => (isAbout(problem, preset) ? PRESET_PROBLEM : problem));
  return { ok: false, problems };
}

/** Validates the input as sent; only if that fails, coerces it and validates again. */
function check(own: ArgumentSchema, input: JsonObject, coerce: boolean): NowOrLater<Validation<unknown>> {
  const coerced = (checked: Validation<unknown>): NowOrLater<Validation<unknown>> => {
    if (checked.ok || !coerce) return checked;
    const changed = coerceInput(own.jsonSchema, input);
    return changed === input ? checked : validateNowOrLater(own.schema, changed);
  };
  const checked = validateNowOrLater(own.schema, input);
  return checked instanceof Promise ? checked.then(coerced) : coerced(checked);
}

const PRESET_PROBLEM: SchemaProblem = {
  path: '',
  message: 'An argument that the program has set does not fit. It is not yours to change.',
};

function isAbout({ path }: SchemaProblem, preset: JsonObject): boolean {
  return Object.keys(preset).some((key) =>
    [`${key}.`, `${key}[`, `[${key}]`].some((start) => path === key || path.startsWith(start)),
  );
}
