import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';
import type { JsonSchema } from '../../util/schema.ts';

export type ParamKind = 'string' | 'number' | 'integer' | 'boolean' | 'array' | 'other';

/** Parameter of a tool, as far as simple rules use parameters. */
export interface Param {
  readonly name: string;
  readonly kind: ParamKind;
  /** Kind of the items of an array. */
  readonly itemKind: ParamKind;
  readonly isRequired: boolean;
  /** Allowed values, if listed. */
  readonly choices: readonly JsonValue[] | undefined;
  readonly fallback: JsonValue | undefined;
}

const KINDS: readonly string[] = ['string', 'number', 'integer', 'boolean', 'array'] satisfies ParamKind[];

/** Parameters of a tool, in the order of its schema. Ignores other parts of the schema. */
export function paramsOf(parameters: JsonSchema): readonly Param[] {
  const schema = isJsonObject(parameters) ? parameters : {}; // untrusted: tool schemas may be wrong
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {};
  const required = Array.isArray(schema['required']) ? (schema['required'] as readonly JsonValue[]) : [];
  return Object.entries(properties).map(([name, property]) => {
    const detail = firstVariant(isJsonObject(property) ? property : {});
    return {
      name,
      kind: kindOf(detail),
      itemKind: kindOf(isJsonObject(detail['items']) ? detail['items'] : {}),
      isRequired: required.includes(name),
      choices: choicesOf(detail),
      fallback: detail['default'],
    };
  });
}

/** First usable variant of a property with several. */
function firstVariant(property: JsonObject): JsonObject {
  for (const key of ['anyOf', 'oneOf']) {
    const variants = property[key];
    if (!Array.isArray(variants)) continue;
    const variant = (variants as readonly JsonValue[]).find(
      (one) => isJsonObject(one) && one['type'] !== 'null',
    );
    if (isJsonObject(variant)) return { ...variant, ...property };
  }
  return property;
}

function kindOf(property: JsonObject): ParamKind {
  const type = property['type'];
  const types = Array.isArray(type) ? (type as readonly JsonValue[]) : [type];
  return (
    (types.find((one) => typeof one === 'string' && KINDS.includes(one)) as ParamKind | undefined) ?? 'other'
  );
}

function choicesOf(property: JsonObject): readonly JsonValue[] | undefined {
  if (property['const'] !== undefined) return [property['const']];
  return Array.isArray(property['enum']) ? (property['enum'] as readonly JsonValue[]) : undefined;
}
