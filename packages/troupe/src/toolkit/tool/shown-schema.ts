import { TroupeError } from '../../errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';
import type { JsonSchema } from '../../util/schema.ts';

const NO_ARGUMENTS: JsonSchema = Object.freeze({ type: 'object', properties: Object.freeze({}) });

/** What may lead to a schema of something else than an object. */
const OTHER_ROOTS = ['anyOf', 'oneOf', 'allOf', 'not', '$ref', 'enum', 'const'];

/**
 * The schema of a tool's arguments as every provider takes it: of type object.
 * @throws TroupeError if it is of anything else.
 */
export function parametersOf(toolName: string, schema: JsonSchema | undefined): JsonSchema {
  if (schema === undefined) return NO_ARGUMENTS;
  const { $schema: _, ...rest } = schema; // says nothing to a model
  const { type } = rest;
  if (type === 'object' || (type === undefined && !OTHER_ROOTS.some((key) => key in rest))) {
    return { ...rest, type: 'object', properties: propertiesOf(rest) };
  }
  const problem = `The arguments of the tool '${toolName}' must be an object`;
  throw new TroupeError('invalid_config', `${problem}: give a schema whose type is 'object'.`);
}

/** The schema without some of its properties. */
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
 * The schema with the properties, the required names and the definitions of another one.
 * @throws TroupeError if both have a property, or a definition that isn't the same, of one name.
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

/** The properties that a schema names. */
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

/** Whether anything refers to the schema itself, which is another one once it is merged. */
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
