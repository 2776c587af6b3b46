import type { Part } from '@a2a-js/sdk';

import { copyJsonObject, isJsonObject, setOwn, type JsonObject, type JsonValue } from '../../util/json.ts';
import { dataPart } from './parts.ts';

/** Limits of a schema from a client. The time of a check grows with the size of the schema times the size of the answer. */
const LIMITS = { maxDepth: 40, maxSize: 20_000 };
const INSTRUCTION = 'Answer with one data part of the type application/json that fits responseSchema.';

/** Keywords that are copied unchanged: each costs a bounded time for each value. */
const PLAIN: ReadonlySet<string> = new Set(
  (
    'type enum const required minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength ' +
    'minItems maxItems minProperties maxProperties title description default examples'
  ).split(' '),
);
/** Keywords with a schema, or a list of schemas. */
const NESTED: ReadonlySet<string> = new Set(
  'items prefixItems additionalProperties allOf anyOf oneOf'.split(' '),
);

/** Data part by which a client asks for structured output. Readable for agents that do not know it. */
export function responseSchemaPart(schema: JsonObject): Part {
  return dataPart({ instruction: INSTRUCTION, responseSchema: schema });
}

/** Takes the schema for structured output out of the parts of a message; the last one counts. Schemas that are too large stay parts. */
export function takeResponseSchema(parts: readonly Part[]): {
  readonly parts: readonly Part[];
  readonly schema: JsonObject | undefined;
} {
  let schema: JsonObject | undefined;
  const rest = parts.filter(({ content }) => {
    const asked = content?.$case === 'data' && isJsonObject(content.value) ? content.value : {};
    const found = toResponseSchema(asked['responseSchema']);
    schema = found ?? schema;
    return found === undefined;
  });
  return { parts: rest, schema };
}

/**
 * A schema for structured output out of foreign or saved data; undefined if it is none, or too large. Keywords whose check may take
 * forever are left out: patterns and formats, references, and those that negate or count. The client checks the answer by its own schema.
 */
export function toResponseSchema(value: JsonValue | undefined): JsonObject | undefined {
  if (!isJsonObject(value) || value['type'] !== 'object') return undefined;
  try {
    return copyJsonObject(bounded(copyJsonObject(value, 'responseSchema', LIMITS)), 'responseSchema');
  } catch {
    return undefined;
  }
}

function bounded(node: JsonValue): JsonValue {
  if (Array.isArray(node)) return node.map(bounded);
  if (!isJsonObject(node)) return node;
  const kept: { [key: string]: JsonValue } = {};
  const isOpen = node['patternProperties'] !== undefined; // then further properties are not known
  for (const [key, value] of Object.entries(node)) {
    if (PLAIN.has(key)) kept[key] = value;
    else if (NESTED.has(key) && !(isOpen && key === 'additionalProperties')) kept[key] = bounded(value);
    else if (key === 'properties' && isJsonObject(value)) kept[key] = boundedProperties(value);
  }
  return kept;
}

function boundedProperties(properties: JsonObject): JsonObject {
  const kept: { [name: string]: JsonValue } = {};
  for (const [name, value] of Object.entries(properties)) setOwn(kept, name, bounded(value));
  return kept;
}
