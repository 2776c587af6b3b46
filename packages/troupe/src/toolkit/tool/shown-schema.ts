import { TroupeError } from '../../errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';
import type { JsonSchema } from '../../util/schema.ts';

const NO_ARGUMENTS: JsonSchema = Object.freeze({ type: 'object', properties: Object.freeze({}) });

/** Keywords that allow a root of another type than object. */
const OTHER_ROOTS = ['anyOf', 'oneOf', 'allOf', 'not', '$ref', 'enum', 'const'];

/**
 * Schema of a tool's arguments in the form that every provider accepts: of type object.
 * @throws TroupeError for a schema of another type.
 */
export function parametersOf(toolName: string, schema: JsonSchema | undefined): JsonSchema {
  if (schema === undefined) return NO_ARGUMENTS;
  const { $schema: _, ...rest } = schema; // not needed by models
  const { type } = rest;
  if (type === 'object' || (type === undefined && !OTHER_ROOTS.some((key) => key in rest))) {
    return { ...rest, type: 'object', properties: propertiesOf(rest) };
  }
  const problem = `The arguments of the tool '${toolName}' must be an object`;
  throw new TroupeError('invalid_config', `${problem}: give a schema whose type is 'object'.`);
}

/** Removes properties from a schema. */
export function withoutProperties(schema: JsonSchema, names: readonly string[]): JsonSchema {
  const { required, ...rest } = schema;
  const left = stringsOf(required).filter((name) => !names.includes(name));
  const properties = Object.entries(propertiesOf(schema)).filter(([name]) => !names.includes(name));
  return {
    ...rest,
    properties: Object.fromEntries(properties),
    ...(left.length > 0 && { required: left }),
  };
}

/**
 * Merges the properties, required names and definitions of an extension into a schema.
 * @throws TroupeError if both have the same property, or different definitions of the same name.
 */
export function withExtension(toolName: string, schema: JsonSchema, extension: JsonSchema): JsonSchema {
  const refuse = (problem: string): never => {
    throw new TroupeError('invalid_config', `The tool '${toolName}' can't be extended: ${problem}.`);
  };
  const known = propertiesOf(schema);
  const added = propertiesOf(extension);
  for (const name of Object.keys(added)) {
    if (Object.hasOwn(known, name)) refuse(`both schemas have a property '${name}'`);
  }
  if (refersToRoot(added) || refersToRoot(extension['$defs']))
    refuse("the extension refers to itself by '#'");
  const required = [...stringsOf(schema['required']), ...stringsOf(extension['required'])];
  const merged: { [key: string]: JsonValue } = { ...schema, properties: { ...known, ...added } };
  if (required.length > 0) merged['required'] = required;
  for (const key of ['$defs', 'definitions']) {
    const [ours, theirs] = [objectAt(schema, key), objectAt(extension, key)];
    for (const [name, definition] of Object.entries(theirs)) {
      const isOther = Object.hasOwn(ours, name) && !isEqual(ours[name], definition);
      if (isOther) refuse(`both schemas define '${name}', and not the same`);
    }
    if (Object.keys(theirs).length > 0) merged[key] = { ...ours, ...theirs };
  }
  return merged;
}

export function propertiesOf(schema: JsonSchema): JsonObject {
  return objectAt(schema, 'properties');
}

function objectAt(schema: JsonSchema, key: string): JsonObject {
  const value = schema[key];
  return isJsonObject(value) ? value : {};
}

function stringsOf(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

/** Whether a schema refers to its own root, which merging would change. */
function refersToRoot(schema: JsonValue | undefined): boolean {
  return /"\$ref":"#(?!\/(?:\$defs|definitions)\/)/.test(JSON.stringify(schema ?? null));
}

function isEqual(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item: JsonValue, i) => isEqual(item, b[i] as JsonValue));
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && isEqual(a[key], b[key]))
  );
}
