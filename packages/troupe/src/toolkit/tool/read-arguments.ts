import { copyJsonObject, NotJsonError, type JsonObject } from '../../util/json.ts';
import {
  validateWith,
  type AnySchema,
  type JsonSchema,
  type SchemaProblem,
  type Validation,
} from '../../util/schema.ts';
import { coerceInput } from './coerce-input.ts';
import { propertiesOf } from './shown-schema.ts';

/** A schema that checks some of the arguments, or all of them. */
export interface ArgumentSchema {
  readonly schema: AnySchema;
  /** The same, as the model is told it. */
  readonly jsonSchema: JsonSchema;
}

export interface ArgumentRules {
  /** @default the tool has no arguments, whatever is sent */
  readonly own: ArgumentSchema | undefined;
  /** A further schema, for the arguments that it names. */
  readonly extension: ArgumentSchema | undefined;
  readonly preset: JsonObject | undefined;
  readonly coerce: boolean;
}

/** What a tool without arguments gets. */
const NONE: Validation<object> = { ok: true, value: Object.freeze({}) };

/** The arguments of a call once they are checked, or what is wrong with them. */
export async function readArguments(rules: ArgumentRules, input: unknown): Promise<Validation<unknown>> {
  let given: JsonObject;
  try {
    given = copyJsonObject(input, '');
  } catch (error) {
    if (!(error instanceof NotJsonError)) throw error;
    return { ok: false, problems: [{ path: error.path.replace(/^\./, ''), message: error.problem }] };
  }
  const { extension } = rules;
  if (extension === undefined) return checkOwn(rules, given);
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

async function checkOwn(
  { own, preset, coerce }: ArgumentRules,
  input: JsonObject,
): Promise<Validation<unknown>> {
  if (own === undefined) return NONE;
  if (preset === undefined) return check(own, input, coerce);
  const checked = await check(own, { ...input, ...preset }, coerce);
  if (checked.ok) return checked;
  // A preset may be a secret, and what is wrong with it is no business of the model.
  const problems = checked.problems.map((problem) => (isAbout(problem, preset) ? PRESET_PROBLEM : problem));
  return { ok: false, problems };
}

/** What is fine as it is stays as it is; only what doesn't fit is looked at more kindly. */
async function check(
  { schema, jsonSchema }: ArgumentSchema,
  input: JsonObject,
  coerce: boolean,
): Promise<Validation<unknown>> {
  const checked = await validateWith(schema, input);
  if (checked.ok || !coerce) return checked;
  const coerced = coerceInput(jsonSchema, input);
  return coerced === input ? checked : validateWith(schema, coerced);
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
