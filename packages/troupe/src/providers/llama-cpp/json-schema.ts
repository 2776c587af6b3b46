import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';
import type { JsonSchema } from '../../util/schema.ts';

/** Maximum length of a chain of references. */
const MAX_REF_CHAIN = 16;

/** Resolves a reference within a schema, such as `#/$defs/a`; undefined if missing. */
export function atRef(ref: string, root: JsonSchema): JsonValue | undefined {
  if (!/^#(\/|$)/.test(ref)) return undefined;
  let value: JsonValue | undefined = root;
  for (const token of ref.split('/').slice(1)) {
    const key = fromPointer(token);
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as JsonObject)[key];
  }
  return value;
}

/** Resolves a schema that is only a reference. */
export function resolvedSchema(schema: JsonValue | undefined, root: JsonSchema): JsonObject {
  let value = schema;
  for (let i = 0; i < MAX_REF_CHAIN && isJsonObject(value) && typeof value['$ref'] === 'string'; i++) {
    value = atRef(value['$ref'], root);
  }
  return isJsonObject(value) ? value : {};
}

/** Merges two schemas; on conflict the second wins. */
export function mergedSchemas(a: JsonObject, b: JsonObject): JsonObject {
  const properties = { ...objectOf(a['properties']), ...objectOf(b['properties']) };
  const required = [...listOf(a['required']), ...listOf(b['required'])];
  return {
    ...a,
    ...b,
    ...((a['properties'] ?? b['properties']) !== undefined && { properties }),
    ...(required.length > 0 && { required }),
  };
}

/** Types that a schema allows, or `any`. */
export function typesOf(schema: JsonObject): readonly JsonValue[] {
  const { type } = schema;
  if (typeof type === 'string') return [type];
  if (Array.isArray(type)) return type as readonly JsonValue[];
  const has = (...keys: string[]): boolean => keys.some((key) => Object.hasOwn(schema, key));
  if (has('properties', 'required', 'additionalProperties')) return ['object'];
  return has('items', 'prefixItems') ? ['array'] : ['any'];
}

function fromPointer(token: string): string {
  const text = token.replaceAll('~1', '/').replaceAll('~0', '~');
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function objectOf(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [];
}
