import type { OutputUnit, Validator } from '@cfworker/json-schema';
import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';

import { copyJson, copyJsonObject, NotJsonError, type JsonObject, type JsonValue } from './json.ts';

/** A JSON Schema, of the draft 2020-12. */
export type JsonSchema = JsonObject;

/** A schema of any library that speaks Standard Schema (zod, valibot, arktype, …), or a JSON Schema. */
export type AnySchema = StandardSchemaV1 | JsonSchema;

/** What a value is once a schema has checked it. */
export type SchemaOutput<S extends AnySchema> = S extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<S>
  : JsonValue;

/** What is wrong with a value, and where: `a.b[0]`, or the empty path for the value itself. */
export interface SchemaProblem {
  readonly path: string;
  readonly message: string;
}

export type Validation<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly problems: readonly SchemaProblem[] };

/** A schema that can't do what is asked of it. */
export class SchemaError extends TypeError {
  override readonly name = 'SchemaError';
}

const TARGET = 'draft-2020-12';
const MAX_PROBLEMS = 20;

/**
 * The JSON Schema of what a schema accepts. A JSON Schema is returned as it is.
 * @throws SchemaError if the schema's library can't say.
 */
export function toJsonSchema(schema: AnySchema): JsonSchema {
  if (!isStandardSchema(schema)) {
    const [part] = Object.entries(schema).find(([, value]) => isStandardSchema(value)) ?? [];
    if (part === undefined) return schema;
    throw new SchemaError(`'${part}' is a schema by itself: put such parts into one, as by z.object({ … }).`);
  }
  const { vendor } = schema['~standard'];
  if (!hasJsonSchema(schema)) {
    throw new SchemaError(
      `This ${vendor} schema does not come with a JSON Schema. Use zod 4.2 or arktype 2.1.28 or later, wrap a ` +
        `valibot schema in toStandardJsonSchema() of @valibot/to-json-schema, or give a JSON Schema.`,
    );
  }
  try {
    return copyJsonObject(schema['~standard'].jsonSchema.input({ target: TARGET }), 'the JSON Schema');
  } catch (error) {
    const advice = 'Keep to types that JSON has, or give a JSON Schema.';
    throw new SchemaError(`This ${vendor} schema has no JSON Schema: ${reason(error)}. ${advice}`, {
      cause: error,
    });
  }
}

/**
 * Checks a value. What comes back is what the schema made of it; for a JSON Schema that is a frozen copy.
 * @throws SchemaError if a JSON Schema can't be used.
 */
export async function validateWith<S extends AnySchema>(
  schema: S,
  value: unknown,
): Promise<Validation<SchemaOutput<S>>>;
export async function validateWith(schema: AnySchema, value: unknown): Promise<Validation<unknown>> {
  if (!isStandardSchema(schema)) return validateJson(schema, value);
  const result = await schema['~standard'].validate(value);
  if (!result.issues) return { ok: true, value: result.value };
  // Array.from, because the lists of some libraries are subclasses of Array that can't be mapped.
  return failed(
    Array.from(result.issues, ({ path, message }) => ({
      path: pathText(Array.from(path ?? [], keyOf)),
      message,
    })),
  );
}

/** JSON holds no functions, so no JSON Schema can pass for anything else. */
function isStandardSchema(value: unknown): value is StandardSchemaV1 {
  return (
    typeof (value as Partial<StandardSchemaV1> | null | undefined)?.['~standard']?.validate === 'function'
  );
}

function hasJsonSchema(schema: StandardSchemaV1): schema is StandardSchemaV1 & StandardJSONSchemaV1 {
  const standard: Partial<StandardJSONSchemaV1.Props> = schema['~standard'];
  return typeof standard.jsonSchema?.input === 'function';
}

async function validateJson(schema: JsonSchema, value: unknown): Promise<Validation<JsonValue>> {
  const validator = await compile(schema);
  try {
    const json = copyJson(value, '');
    const { valid, errors } = validator.validate(json);
    if (valid) return { ok: true, value: json };
    return failed(failuresOf(errors).map(({ path, message }) => ({ path: pathText(path), message })));
  } catch (error) {
    if (error instanceof NotJsonError)
      return failed([{ path: error.path.replace(/^\./, ''), message: error.problem }]);
    // A key that is no Unicode, or more nesting or failures than the stack holds.
    if (error instanceof URIError || error instanceof RangeError) {
      return failed([{ path: '', message: `can't be checked: ${reason(error)}` }]);
    }
    throw unusable(error);
  }
}

/** What was compiled of frozen copies of schemas: those never change. */
const validators = new WeakMap<JsonSchema, Validator>();

/** The validator of a schema. One that is frozen by `copyJson` is compiled only once. */
async function compile(schema: JsonSchema): Promise<Validator> {
  try {
    const frozen = copyJsonObject(schema, 'it');
    let validator = validators.get(frozen);
    if (validator === undefined) {
      const { Validator } = await import('@cfworker/json-schema'); // not before it is needed: it takes its time to load
      validator = new Validator(prepared(frozen), '2020-12', false);
      validators.set(frozen, validator);
    }
    return validator;
  } catch (error) {
    throw unusable(error);
  }
}

/** A copy of a schema for the validator, which writes notes into it. Its check of the format `url`, which JSON Schema doesn't have, can take for ever. */
function prepared(schema: JsonSchema): JsonObject {
  const copy = structuredClone(schema);
  const nodes: unknown[] = [copy];
  for (let node = nodes.pop(); node !== undefined; node = nodes.pop()) {
    if (typeof node !== 'object' || node === null) continue;
    const own = node as { format?: unknown };
    if (own.format === 'url') own.format = 'uri';
    for (const [key, value] of Object.entries(node)) if (key !== 'const' && key !== 'enum') nodes.push(value);
  }
  return copy;
}

function unusable(error: unknown): SchemaError {
  return new SchemaError(`This JSON Schema can't be used: ${reason(error)}`, { cause: error });
}

export interface SchemaFailure {
  /** The keys that lead there. */
  readonly path: readonly string[];
  readonly message: string;
}

/** What is wrong, without what only says that something inside of it failed. */
export function failuresOf(errors: readonly OutputUnit[]): readonly SchemaFailure[] {
  const leaves = errors.filter(({ keyword, keywordLocation }, i) => {
    const next = errors[i + 1];
    if (next === undefined || keyword === 'anyOf' || keyword === 'oneOf') return true;
    return !next.keywordLocation.startsWith(`${keywordLocation}/`) && !isForbidden(next);
  });
  return leaves.map((unit) => ({
    path: unit.instanceLocation.split('/').slice(1).map(fromPointer),
    message: isForbidden(unit) ? 'This is not allowed here.' : unit.error,
  }));
}

/** Whether the schema at that place was `false`, as in `additionalProperties: false`. */
function isForbidden(unit: OutputUnit): boolean {
  return unit.keyword === 'false';
}

function fromPointer(token: string): string {
  return decodeURIComponent(token).replaceAll('~1', '/').replaceAll('~0', '~');
}

function keyOf(segment: PropertyKey | StandardSchemaV1.PathSegment): PropertyKey {
  return typeof segment === 'object' ? segment.key : segment;
}

function pathText(keys: readonly PropertyKey[]): string {
  const text = keys
    .map((key) => (/^\d+$/.test(String(key)) ? `[${String(key)}]` : `.${String(key)}`))
    .join('');
  return text.replace(/^\./, '');
}

function failed(problems: readonly SchemaProblem[]): Validation<never> {
  return { ok: false, problems: problems.slice(0, MAX_PROBLEMS) };
}

function reason(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.replace(/\n.*/s, '').slice(0, 300);
}
