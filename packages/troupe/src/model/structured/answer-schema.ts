import type { JsonObject, JsonValue } from '../../util/json.ts';
import {
  toJsonSchema,
  validateWith,
  type AnySchema,
  type JsonSchema,
  type SchemaOutput,
  type SchemaProblem,
  type Validation,
} from '../../util/schema.ts';

/** Property for a value of any other type than object. */
const KEY = 'value';

/**
 * Schema for a model, always of type object, because most providers accept nothing else. Other schemas are
 * wrapped in the property `value`; callers get the bare value.
 */
export class AnswerSchema<S extends AnySchema> {
  readonly jsonSchema: JsonSchema;
  readonly #schema: S;
  readonly #isWrapped: boolean;

  /** @throws SchemaError if the schema can't be converted to JSON Schema */
  constructor(schema: S) {
    const jsonSchema = toJsonSchema(schema);
    this.#schema = schema;
    this.#isWrapped = jsonSchema['type'] !== 'object';
    this.jsonSchema = this.#isWrapped ? wrapped(jsonSchema) : jsonSchema;
  }

  /** Validates an answer. Paths of problems refer to the wrapped answer. */
  async check(answer: JsonObject): Promise<Validation<SchemaOutput<S>>> {
    if (!this.#isWrapped) return validateWith(this.#schema, answer);
    const value = answer[KEY];
    if (value === undefined) return { ok: false, problems: [{ path: KEY, message: 'This is missing.' }] };
    const checked = await validateWith(this.#schema, value);
    return checked.ok ? checked : { ok: false, problems: checked.problems.map(insideKey) };
  }

  /** Bare value of a validated answer. */
  unwrap(answer: JsonObject): JsonValue | undefined {
    return this.#isWrapped ? answer[KEY] : answer;
  }
}

function insideKey({ path, message }: SchemaProblem): SchemaProblem {
  return { path: path === '' || path.startsWith('[') ? KEY + path : `${KEY}.${path}`, message };
}

function wrapped({ $schema, $defs, definitions, ...schema }: JsonSchema): JsonSchema {
  return {
    ...($schema !== undefined && { $schema }),
    type: 'object',
    properties: { [KEY]: moved(schema) },
    required: [KEY],
    additionalProperties: false,
    ...($defs !== undefined && { $defs: moved($defs) }),
    ...(definitions !== undefined && { definitions: moved(definitions) }),
  };
}

/** Adjusts references to the new root. Definitions keep their place. */
function moved(schema: JsonValue): JsonValue {
  if (Array.isArray(schema)) return schema.map(moved);
  if (typeof schema !== 'object' || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [
      key,
      key === '$ref' && typeof value === 'string' ? movedRef(value) : moved(value),
    ]),
  );
}

function movedRef(ref: string): string {
  const isOfRoot = ref === '#' || (ref.startsWith('#/') && !/^#\/(?:\$defs|definitions)\//.test(ref));
  return isOfRoot ? `#/properties/${KEY}${ref.slice(1)}` : ref;
}
