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

/** Where a value that is no object is put. */
const KEY = 'value';

/**
 * A schema as a model is shown it, which is always an object: most providers take nothing else. A schema of anything
 * else becomes that of the property `value`; whoever asks for it gets the bare value.
 */
export class AnswerSchema<S extends AnySchema> {
  readonly jsonSchema: JsonSchema;
  readonly #schema: S;
  readonly #isWrapped: boolean;

  /** @throws SchemaError if the schema has no JSON Schema. */
  constructor(schema: S) {
    const jsonSchema = toJsonSchema(schema);
    this.#schema = schema;
    this.#isWrapped = jsonSchema['type'] !== 'object';
    this.jsonSchema = this.#isWrapped ? wrapped(jsonSchema) : jsonSchema;
  }

  /** What the schema makes of an answer, or what is wrong with it and where in the answer that is. */
  async check(answer: JsonObject): Promise<Validation<SchemaOutput<S>>> {
    if (!this.#isWrapped) return validateWith(this.#schema, answer);
    const value = answer[KEY];
    if (value === undefined) return { ok: false, problems: [{ path: KEY, message: 'This is missing.' }] };
    const checked = await validateWith(this.#schema, value);
    return checked.ok ? checked : { ok: false, problems: checked.problems.map(insideKey) };
  }

  /** The bare value of an answer that was checked. */
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

/** The schema with references that find what they mean from the new root. Definitions stay where they are. */
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
