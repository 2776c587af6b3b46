import type { Part } from '@a2a-js/sdk';
import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';

import { copyJsonObject, isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';
import { UntrustedSchemaCheck } from '../../util/untrusted-schema-check.ts';
import { dataPart } from './parts.ts';

/** Limits of a schema from a client. */
const LIMITS = { maxDepth: 40, maxSize: 100_000 };
const INSTRUCTION = 'Answer with one data part of the type application/json that fits responseSchema.';

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

/** A schema for structured output out of foreign or saved data; undefined if it is none. */
export function toResponseSchema(value: JsonValue | undefined): JsonObject | undefined {
  if (!isJsonObject(value) || value['type'] !== 'object') return undefined;
  try {
    return copyJsonObject(value, 'responseSchema', LIMITS);
  } catch {
    return undefined;
  }
}

/** The structured model for a schema of a client, which is checked in bounded time. */
export function untrustedModel(schema: JsonObject): StandardSchemaV1<JsonObject> & StandardJSONSchemaV1 {
  const check = new UntrustedSchemaCheck(schema);
  return {
    '~standard': {
      version: 1,
      vendor: 'troupe',
      validate: (value) => {
        const issues = check.problemsOf(value);
        if (issues.length > 0) return { issues };
        return isJsonObject(value) ? { value } : { issues: [{ message: 'It must be an object.' }] };
      },
      jsonSchema: { input: () => schema, output: () => schema },
    },
  };
}
