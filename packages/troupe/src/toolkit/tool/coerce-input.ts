import { isJsonObject, parseJson, setOwn, type JsonObject, type JsonValue } from '../../util/json.ts';
import type { JsonSchema } from '../../util/schema.ts';

/** Number in JSON notation. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
/** Limits of the search: a schema may come from an untrusted server. */
const MAX_VARIANTS = 64;
const MAX_HOPS = 16;

/**
 * Converts strings that a model sent instead of numbers, booleans, null, objects or arrays, but only where
 * the schema allows no string and the text has one meaning. Removes null for optional arguments that may not
 * be null. Returns the same object if nothing changes.
 */
export function coerceInput(schema: JsonSchema, input: JsonObject): JsonObject {
  return fit(input, schema, schema) as JsonObject;
}

function fit(value: JsonValue, schema: JsonValue | undefined, root: JsonSchema): JsonValue {
  const variants = variantsOf(schema, root);
  const fitted = typeof value === 'string' ? fromText(value, typesOf(variants)) : value;
  if (typeof fitted !== 'object' || fitted === null) return fitted;
  const kind = isJsonObject(fitted) ? 'object' : 'array';
  const [variant, ...others] = variants.filter((one) => typesOf([one])?.has(kind) ?? true);
  if (variant === undefined || others.length > 0) return fitted; // the matching alternative is ambiguous
  return isJsonObject(fitted) ? fitObject(fitted, variant, root) : fitArray(fitted, variant, root);
}

function fitObject(object: JsonObject, schema: JsonObject, root: JsonSchema): JsonObject {
  const { properties, additionalProperties, required } = schema;
  const fitted: { [key: string]: JsonValue } = {};
  let hasChanged = false;
  for (const [key, value] of Object.entries(object)) {
    const isKnown = isJsonObject(properties) && Object.hasOwn(properties, key);
    const wanted = isKnown ? properties[key] : additionalProperties;
    const isRequired = Array.isArray(required) && required.includes(key);
    const isLeftOut = value === null && isKnown && !isRequired && !takesNull(wanted, root);
    const item = isLeftOut ? value : fit(value, wanted, root);
    hasChanged ||= isLeftOut || item !== value;
    if (!isLeftOut) setOwn(fitted, key, item);
  }
  return hasChanged ? fitted : object;
}

function fitArray(array: readonly JsonValue[], schema: JsonObject, root: JsonSchema): readonly JsonValue[] {
  const { items, prefixItems } = schema;
  const first: readonly JsonValue[] = Array.isArray(prefixItems) ? prefixItems : [];
  const fitted = array.map((item, i) => fit(item, i < first.length ? first[i] : items, root));
  return fitted.some((item, i) => item !== array[i]) ? fitted : array;
}

/** @param types types that the schema allows; undefined if unknown */
function fromText(text: string, types: ReadonlySet<string> | undefined): JsonValue {
  if (types === undefined || types.has('string')) return text;
  const written = text.trim();
  if (NUMBER.test(written) && (types.has('number') || types.has('integer'))) {
    const number = Number(written);
    const isExact = Number.isFinite(number) && (!Number.isInteger(number) || Number.isSafeInteger(number));
    return isExact ? number : text;
  }
  if (/^(?:true|false)$/i.test(written) && types.has('boolean')) return written.toLowerCase() === 'true';
  if (written === 'null' && types.has('null')) return null;
  const isTree =
    (written.startsWith('{') && types.has('object')) || (written.startsWith('[') && types.has('array'));
  return isTree ? (treeOf(written) ?? text) : text;
}

function treeOf(text: string): JsonValue | undefined {
  try {
    return parseJson(text);
  } catch {
    return undefined; // the text only starts like JSON
  }
}

function takesNull(schema: JsonValue | undefined, root: JsonSchema): boolean {
  return typesOf(variantsOf(schema, root))?.has('null') ?? true;
}

/** Types that the schemas allow; undefined if a schema does not name its types. */
function typesOf(schemas: readonly JsonObject[]): ReadonlySet<string> | undefined {
  const types = new Set<string>();
  for (const { type, const: only, enum: several } of schemas) {
    const named: readonly JsonValue[] = Array.isArray(type) ? type : type === undefined ? [] : [type];
    const values: readonly JsonValue[] = only !== undefined ? [only] : Array.isArray(several) ? several : [];
    const found = named.length > 0 ? named : values.map(typeOf);
    if (found.length === 0) return undefined;
    for (const one of found) if (typeof one === 'string') types.add(one);
  }
  return types.size > 0 ? types : undefined;
}

function typeOf(value: JsonValue): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

/** Alternatives of a schema: itself, the target of its `$ref`, or the members of `anyOf` and `oneOf`. */
function variantsOf(schema: JsonValue | undefined, root: JsonSchema): readonly JsonObject[] {
  const found: JsonObject[] = [];
  const add = (one: JsonValue | undefined, hops: number): void => {
    if (found.length >= MAX_VARIANTS) return;
    if (!isJsonObject(one) || hops > MAX_HOPS) return void found.push({}); // any value is allowed
    const { type, $ref, anyOf, oneOf, allOf } = one;
    const alternatives = anyOf ?? oneOf ?? (Array.isArray(allOf) && allOf.length === 1 ? allOf : undefined);
    if (typeof $ref === 'string') add(lookUp($ref, root), hops + 1);
    else if (type === undefined && Array.isArray(alternatives)) {
      for (const alternative of alternatives as readonly JsonValue[]) add(alternative, hops + 1);
    } else found.push(one);
  };
  add(schema, 0);
  return found;
}

/** Resolves a reference within the schema; undefined for unknown and external references. */
function lookUp(reference: string, root: JsonSchema): JsonValue | undefined {
  if (reference !== '#' && !reference.startsWith('#/')) return undefined;
  let found: JsonValue | undefined = root;
  for (const token of reference.split('/').slice(1)) {
    const key = token.replaceAll('~1', '/').replaceAll('~0', '~');
    found = isJsonObject(found) && Object.hasOwn(found, key) ? found[key] : undefined;
  }
  return found;
}
