import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';
import type { JsonSchema } from '../../util/schema.ts';

/** Schema keywords to keep unchanged. Claude rejects most others, for example `minimum`. */
const PLAIN = ['type', 'enum', 'const', 'title', 'description', 'default'] as const;
const FORMATS = /^(?:date-time|time|date|duration|email|hostname|uri|ipv4|ipv6|uuid)$/;

/**
 * Rewrites a schema for Claude's strict mode; undefined if impossible, as for an object with arbitrary keys
 * or a recursive schema. Bounds and patterns are left out: the caller validates the answer anyway.
 */
export function toStrictSchema(schema: JsonSchema): JsonSchema | undefined {
  try {
    return new StrictWriter(schema).write(schema, []);
  } catch (error) {
    if (error instanceof Unsupported) return undefined;
    throw error;
  }
}

class Unsupported extends Error {}

class StrictWriter {
  readonly #root: JsonSchema;
  /** References already found expressible. Each is checked once, because shared definitions multiply. */
  readonly #supported = new Set<string>();

  constructor(root: JsonSchema) {
    this.#root = root;
  }

  /** @param refs definitions around the schema */
  write(schema: JsonValue | undefined, refs: readonly string[]): JsonObject {
    if (!isJsonObject(schema)) throw new Unsupported(); // such as `true`, which allows any value
    const strict: Record<string, JsonValue> = {};
    for (const key of ['$defs', 'definitions']) {
      if (isJsonObject(schema[key])) strict[key] = this.#each(schema[key], refs);
    }
    if (typeof schema['$ref'] === 'string') return { ...strict, ...this.#ref(schema['$ref'], refs) };
    for (const key of PLAIN) if (schema[key] !== undefined) strict[key] = schema[key];
    if (typeof schema['format'] === 'string' && FORMATS.test(schema['format']))
      strict['format'] = schema['format'];
    const choices = schema['anyOf'] ?? schema['oneOf'];
    if (Array.isArray(choices)) strict['anyOf'] = choices.map((choice) => this.write(choice, refs));
    if (Array.isArray(schema['allOf'])) {
      strict['allOf'] = schema['allOf'].map((part) => this.write(part, refs));
    }
    const types = [schema['type']].flat();
    if (types.includes('object')) Object.assign(strict, this.#object(schema, refs));
    if (types.includes('array')) Object.assign(strict, this.#array(schema, refs));
    if (!['type', 'enum', 'const', 'anyOf', 'allOf'].some((key) => key in strict)) throw new Unsupported();
    return strict;
  }

  #object({ properties, required, additionalProperties }: JsonObject, refs: readonly string[]): JsonObject {
    const isOpen = additionalProperties !== false && !isJsonObject(properties);
    if (isOpen) throw new Unsupported(); // the schema describes keys that are not known beforehand
    return {
      properties: isJsonObject(properties) ? this.#each(properties, refs) : {},
      ...(required !== undefined && { required }),
      additionalProperties: false,
    };
  }

  #array({ items, prefixItems, minItems }: JsonObject, refs: readonly string[]): JsonObject {
    if (prefixItems !== undefined) throw new Unsupported();
    return {
      items: this.write(items, refs),
      ...((minItems === 0 || minItems === 1) && { minItems }),
    };
  }

  #each(schemas: JsonObject, refs: readonly string[]): JsonObject {
    return Object.fromEntries(
      Object.entries(schemas).map(([name, schema]) => [name, this.write(schema, refs)]),
    );
  }

  #ref(ref: string, refs: readonly string[]): JsonObject {
    if (this.#supported.has(ref)) return { $ref: ref };
    const [, key = '', name = ''] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(ref) ?? [];
    const definitions = this.#root[key];
    if (!isJsonObject(definitions) || refs.includes(ref)) throw new Unsupported();
    this.write(definitions[name], [...refs, ref]); // only to check that the definition is expressible
    this.#supported.add(ref);
    return { $ref: ref };
  }
}
