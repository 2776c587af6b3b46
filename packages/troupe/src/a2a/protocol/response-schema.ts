import type { Part } from '@a2a-js/sdk';

import { copyJsonObject, isJsonObject, setOwn, type JsonObject, type JsonValue } from '../../util/json.ts';
import { dataPart } from './parts.ts';

/** Limits of a schema from a client. The time of a check grows with the size of the schema times the size of the answer. */
const LIMITS = { maxDepth: 40, maxSize: 20_000 };
const INSTRUCTION = 'Answer with one data part of the type application/json that fits responseSchema.';

type Check = (value: JsonValue) => boolean;

const TYPES: ReadonlySet<JsonValue> = new Set('object array string number integer boolean null'.split(' '));
const isNumber: Check = (value) => typeof value === 'number';
const isCount: Check = (value) => Number.isInteger(value) && Number(value) >= 0;
const isText: Check = (value) => typeof value === 'string';
const isList: Check = Array.isArray;
const isTexts: Check = (value) => Array.isArray(value) && value.every(isText);
const isAnything: Check = () => true;
const isSchema: Check = (value) => isJsonObject(value) || typeof value === 'boolean';
const isSchemas: Check = (value) => Array.isArray(value) && value.length > 0 && value.every(isSchema);
const isProperties: Check = (value) => isJsonObject(value) && Object.values(value).every(isSchema);

/** Keywords that are copied unchanged: each costs a bounded time for each value. */
const PLAIN: ReadonlyMap<string, Check> = new Map([
  ['type', (value) => [value].flat().every((one) => TYPES.has(one))],
  ['enum', isList],
  ['const', isAnything],
  ['required', isTexts],
  ...'minimum maximum exclusiveMinimum exclusiveMaximum'.split(' ').map((name) => [name, isNumber] as const),
  ['multipleOf', (value) => isNumber(value) && Number(value) > 0],
  ...'minLength maxLength minItems maxItems minProperties maxProperties'
    .split(' ')
    .map((name) => [name, isCount] as const),
  ['title', isText],
  ['description', isText],
  ['default', isAnything],
  ['examples', isList],
]);
/** Keywords with a schema, or a list of schemas. */
const NESTED: ReadonlyMap<string, Check> = new Map([
  ['items', (value) => isSchema(value) || isSchemas(value)], // a list in earlier drafts
  ['additionalProperties', isSchema],
  ...'prefixItems allOf anyOf oneOf'.split(' ').map((name) => [name, isSchemas] as const),
]);

/** Data part by which a client asks for structured output. Readable for agents that do not know it. */
export function responseSchemaPart(schema: JsonObject): Part {
  return dataPart({ instruction: INSTRUCTION, responseSchema: schema });
}

/** Takes the schema for structured output out of the parts of a message; the last one counts. Schemas that can't be used stay parts. */
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
 * A schema for structured output out of foreign or saved data; undefined if it is none, can't be used, or is too large. Keywords whose check may take
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
    const check = PLAIN.get(key) ?? NESTED.get(key) ?? (key === 'properties' ? isProperties : undefined);
    if (check === undefined || (isOpen && key === 'additionalProperties')) continue;
    if (!check(value)) throw new TypeError(`${key} is not valid`);
    if (PLAIN.has(key)) kept[key] = value;
    else kept[key] = key === 'properties' && isJsonObject(value) ? boundedProperties(value) : bounded(value);
  }
  return kept;
}

function boundedProperties(properties: JsonObject): JsonObject {
  const kept: { [name: string]: JsonValue } = {};
  for (const [name, value] of Object.entries(properties)) setOwn(kept, name, bounded(value));
  return kept;
}
