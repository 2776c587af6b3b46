import type { OutputUnit, Validator } from '@cfworker/json-schema';
import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';

import { TroupeError } from '../errors.ts';
import { copyJson, copyJsonObject, NotJsonError, type JsonObject, type JsonValue } from './json.ts';

/** JSON Schema, draft 2020-12. */
export type JsonSchema = JsonObject;

/** Schema of any Standard Schema library (zod, valibot, arktype, …), or a JSON Schema. */
export type AnySchema = StandardSchemaV1 | JsonSchema;

/** Type of a value after validation. */
export type SchemaOutput<S extends AnySchema> = S extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<S>
  : S extends { readonly type: 'object' }
    ? JsonObject
    : JsonValue;

/** Validation problem at a path such as `a.b[0]`; the path is empty for the value itself. */
export interface SchemaProblem {
  readonly path: string;
  readonly message: string;
}

export type Validation<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly problems: readonly SchemaProblem[] };

/** Schema that can't be converted or used. */
export class SchemaError extends TroupeError {
  override readonly name = 'SchemaError';

  constructor(message: string, options?: ErrorOptions) {
    super('invalid_config', message, options);
  }
}

const TARGET = 'draft-2020-12';
const MAX_PROBLEMS = 20;

/** JSON Schemas by the schema that they were made from: schemas of libraries do not change, and converting one is slow. */
const conversions = new WeakMap<StandardSchemaV1, JsonSchema>();

/**
 * Converts a schema to JSON Schema, once. A JSON Schema is returned unchanged.
 * @throws SchemaError if the schema's library can't convert it
 */
export function toJsonSchema(schema: AnySchema): JsonSchema {
  if (!isStandardSchema(schema)) {
    if (typeof schema !== 'object' || schema === null)
      throw new SchemaError('A schema is made by zod, valibot or arktype, or is a JSON Schema as an object.');
    const [part] = Object.entries(schema).find(([, value]) => isStandardSchema(value)) ?? [];
    if (part === undefined) return schema;
    throw new SchemaError(
      `'${part}' is a schema itself: combine the parts in one schema, e.g. with z.object({ … }).`,
    );
  }
  const known = conversions.get(schema);
  if (known !== undefined) return known;
  const { vendor } = schema['~standard'];
  if (!hasJsonSchema(schema)) {
    throw new SchemaError(
      `This ${vendor} schema does not come with a JSON Schema. Use zod 4.2 or arktype 2.1.28 or later, wrap a ` +
        `valibot schema in toStandardJsonSchema() of @valibot/to-json-schema, or give a JSON Schema.`,
    );
  }
  try {
    const made = copyJsonObject(schema['~standard'].jsonSchema.input({ target: TARGET }), 'the JSON Schema');
    conversions.set(schema, made);
    return made;
  } catch (error) {
    const field = unconvertibleField(schema);
    const what =
      field === undefined ? `This ${vendor} schema` : `The field '${field}' of this ${vendor} schema`;
    throw new SchemaError(`${what} has no JSON Schema: ${reason(error)}. ${NO_JSON_SCHEMA}`, {
      cause: error,
    });
  }
}

/** Types of zod whose JSON Schema can always be made. */
const SIMPLE_TYPES: ReadonlySet<unknown> = new Set(['string', 'number', 'boolean', 'enum']);
const WRAPPING_TYPES: ReadonlySet<unknown> = new Set(['optional', 'nullable']);
const MAX_SIMPLE_DEPTH = 4;

/** The part of a schema of zod that is public for other libraries. */
interface ZodDefinition {
  readonly type?: unknown;
  readonly shape?: Readonly<Record<string, unknown>>;
  readonly catchall?: unknown;
  readonly element?: unknown;
  readonly innerType?: unknown;
}

/** Whether a schema has a JSON Schema without doubt, so that making it can wait: known of objects of zod with simple fields. */
export function surelyConverts(schema: AnySchema): boolean {
  return conversions.has(schema as StandardSchemaV1) || isSimple(schema, 'object', 0);
}

function isSimple(schema: unknown, wanted: string | undefined, depth: number): boolean {
  const { def } = (schema as { _zod?: { def?: ZodDefinition } } | undefined)?._zod ?? {};
  if (def === undefined || depth > MAX_SIMPLE_DEPTH || (wanted ?? def.type) !== def.type) return false;
  if (!hasSimpleMetadata(schema)) return false;
  const { type, shape = {}, catchall, element, innerType } = def;
  if (SIMPLE_TYPES.has(type)) return true;
  if (type === 'array') return isSimple(element, undefined, depth + 1);
  if (WRAPPING_TYPES.has(type)) return isSimple(innerType, undefined, depth + 1);
  if (type !== 'object' || catchall !== undefined) return false;
  for (const key in shape) if (!isSimple(shape[key], undefined, depth + 1)) return false;
  return true;
}

/** Whether the metadata of a schema of zod is a description at most. Other metadata may be no JSON, or an `id` that another schema has. */
function hasSimpleMetadata(schema: unknown): boolean {
  const { meta } = schema as { readonly meta?: unknown };
  if (typeof meta !== 'function') return false; // of zod/mini: the metadata are not known
  const metadata: unknown = meta.call(schema);
  for (const key in metadata as object | undefined) if (key !== 'description') return false;
  return true;
}

const NO_JSON_SCHEMA =
  'Models write JSON: take a type that JSON has, and convert it in your code. ' +
  'A date is a text, such as z.iso.date() or z.iso.datetime(); a Map is z.record(); a bigint is z.int() or a text.';

/** Path of the first field without a JSON Schema, for libraries whose object schemas have a `shape`. */
function unconvertibleField(schema: StandardSchemaV1): string | undefined {
  const shape: unknown = Reflect.get(schema, 'shape');
  if (typeof shape !== 'object' || shape === null) return undefined;
  for (const [name, field] of Object.entries(shape)) {
    if (!isStandardSchema(field) || !hasJsonSchema(field)) continue;
    try {
      field['~standard'].jsonSchema.input({ target: TARGET });
    } catch {
      const inner = unconvertibleField(field);
      return inner === undefined ? name : `${name}.${inner}`;
    }
  }
  return undefined;
}

/**
 * Validates a value. The result is the output of the schema; for a JSON Schema, a frozen copy.
 * @throws SchemaError if a JSON Schema is unusable
 */
export async function validateWith<S extends AnySchema>(
  schema: S,
  value: unknown,
): Promise<Validation<SchemaOutput<S>>>;
export async function validateWith(schema: AnySchema, value: unknown): Promise<Validation<unknown>> {
  return validateNowOrLater(schema, value);
}

/** Like `validateWith`, but returns a promise only where the schema does, and may throw. */
export function validateNowOrLater(
  schema: AnySchema,
  value: unknown,
): Validation<unknown> | Promise<Validation<unknown>> {
  if (!isStandardSchema(schema)) return validateJson(schema, value);
  const result = schema['~standard'].validate(value);
  return 'then' in result ? Promise.resolve(result).then(toValidation) : toValidation(result);
}

function toValidation(result: StandardSchemaV1.Result<unknown>): Validation<unknown> {
  if (!result.issues) return { ok: true, value: result.value };
  // Array.from, because some libraries return subclasses of Array whose map fails.
  return failed(
    Array.from(result.issues, ({ path, message }) => ({
      path: pathText(Array.from(path ?? [], keyOf)),
      message,
    })),
  );
}

/** Tells Standard Schemas from JSON Schemas, which can't contain functions. */
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
    // A key with invalid Unicode, or nesting or errors beyond the stack.
    if (error instanceof URIError || error instanceof RangeError) {
      return failed([{ path: '', message: `can't be checked: ${reason(error)}` }]);
    }
    throw unusable(error);
  }
}

/** Validators of frozen schemas, which never change. */
const validators = new WeakMap<JsonSchema, Validator>();

/** Validator of a schema. Schemas frozen by `copyJson` are compiled only once. */
async function compile(schema: JsonSchema): Promise<Validator> {
  try {
    const frozen = copyJsonObject(schema, 'it');
    let validator = validators.get(frozen);
    if (validator === undefined) {
      const { Validator } = await import('@cfworker/json-schema'); // loaded on first use, because it is slow
      validator = new Validator(prepared(frozen), '2020-12', false);
      validators.set(frozen, validator);
    }
    return validator;
  } catch (error) {
    throw unusable(error);
  }
}

/**
 * Copy of a schema for the validator, which writes into it. Replaces the format `url`, which is not in JSON
 * Schema and whose check in the validator can hang.
 */
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
  /** Keys from the root to the failing value. */
  readonly path: readonly string[];
  readonly message: string;
}

/** Validation failures without the parents that only report a failure inside. */
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

/** Tells whether the schema at this path is `false`, as in `additionalProperties: false`. */
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
