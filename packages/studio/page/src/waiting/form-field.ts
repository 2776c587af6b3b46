import type { JsonObject, JsonValue } from 'troupe';

/** One field of a form, made from a JSON Schema. */
export type FormField = {
  readonly title: string | undefined;
  readonly description: string | undefined;
  readonly preset: JsonValue | undefined;
} & FieldKind;

export type FieldKind =
  | {
      readonly kind: 'text';
      readonly isLong: boolean;
      readonly format: TextFormat;
    }
  | { readonly kind: 'number'; readonly isInteger: boolean; readonly min?: number; readonly max?: number }
  | { readonly kind: 'boolean' }
  | { readonly kind: 'choice'; readonly options: readonly JsonValue[] }
  | { readonly kind: 'constant'; readonly value: JsonValue }
  | { readonly kind: 'list'; readonly item: FormField }
  | { readonly kind: 'object'; readonly fields: readonly ObjectField[] }
  | { readonly kind: 'union'; readonly variants: readonly FormField[] }
  /** Anything else: JSON by hand. */
  | { readonly kind: 'json' };

/** Types of the control for text. */
export type TextFormat = 'text' | 'date' | 'datetime-local' | 'time' | 'email' | 'url';

export interface ObjectField {
  readonly name: string;
  readonly field: FormField;
  readonly isRequired: boolean;
}

const MAX_DEPTH = 8;
const FORMATS: Readonly<Record<string, TextFormat>> = {
  date: 'date',
  'date-time': 'datetime-local',
  time: 'time',
  email: 'email',
  uri: 'url',
};

/** The form of a JSON Schema. Never fails: what it does not know is a field for JSON. */
export function fieldOf(
  schema: JsonValue | undefined,
  root: JsonValue | undefined = schema,
  depth = 0,
): FormField {
  const resolved = isObject(schema) ? resolve(schema, root, 0) : undefined;
  if (resolved === undefined || depth > MAX_DEPTH)
    return { kind: 'json', title: undefined, description: undefined, preset: undefined };
  const title = textIn(resolved, 'title');
  const description = textIn(resolved, 'description');
  const present = nullableOf(resolved);
  if (present !== undefined) {
    const inner = fieldOf(present, root, depth + 1);
    const preset = resolved['default'] ?? inner.preset ?? null;
    return { ...inner, title: title ?? inner.title, description: description ?? inner.description, preset };
  }
  return { title, description, preset: resolved['default'], ...kindOf(resolved, root, depth) };
}

/** The other variant of a union of two with null, such as an optional field of Pydantic. */
function nullableOf(schema: JsonObject): JsonValue | undefined {
  const union = schema['oneOf'] ?? schema['anyOf'];
  if (!Array.isArray(union) || union.length !== 2) return undefined;
  const others = union.filter((part: JsonValue) => !isNullSchema(part));
  return others.length === 1 ? others[0] : undefined;
}

function isNullSchema(part: JsonValue): boolean {
  return isObject(part) && (part['type'] === 'null' || part['const'] === null);
}

function kindOf(schema: JsonObject, root: JsonValue | undefined, depth: number): FieldKind {
  const inner = (part: JsonValue | undefined): FormField => fieldOf(part, root, depth + 1);
  if (schema['const'] !== undefined) return { kind: 'constant', value: schema['const'] };
  if (Array.isArray(schema['enum'])) return { kind: 'choice', options: schema['enum'] };
  const union = schema['oneOf'] ?? schema['anyOf'];
  if (Array.isArray(union)) return unionOf(union.filter((part) => !isNullSchema(part)).map(inner));
  switch (typeOf(schema)) {
    case 'string': {
      const max = schema['maxLength'];
      const format = FORMATS[textIn(schema, 'format') ?? ''] ?? 'text';
      return { kind: 'text', format, isLong: format === 'text' && typeof max === 'number' && max > 200 };
    }
    case 'integer':
    case 'number': {
      const { minimum, maximum } = schema;
      return {
        kind: 'number',
        isInteger: schema['type'] === 'integer',
        ...(typeof minimum === 'number' && { min: minimum }),
        ...(typeof maximum === 'number' && { max: maximum }),
      };
    }
    case 'boolean':
      return { kind: 'boolean' };
    case 'array':
      return isObject(schema['items']) ? { kind: 'list', item: inner(schema['items']) } : { kind: 'json' };
    case 'object': {
      const properties = schema['properties'];
      if (!isObject(properties) || schema['allOf'] !== undefined) return { kind: 'json' };
      const required = Array.isArray(schema['required']) ? schema['required'] : [];
      const fields = Object.entries(properties).map(([name, part]) => ({
        name,
        field: inner(part),
        isRequired: required.includes(name),
      }));
      return { kind: 'object', fields };
    }
    default:
      return { kind: 'json' };
  }
}

function unionOf(variants: readonly FormField[]): FieldKind {
  const constants = variants.flatMap((variant) => (variant.kind === 'constant' ? [variant.value] : []));
  if (constants.length === variants.length) return { kind: 'choice', options: constants };
  return { kind: 'union', variants };
}

function typeOf(schema: JsonObject): string | undefined {
  const { type } = schema;
  if (typeof type === 'string') return type;
  if (Array.isArray(type)) {
    const others = type.filter((one) => one !== 'null');
    return others.length === 1 && typeof others[0] === 'string' ? others[0] : undefined;
  }
  return isObject(schema['properties']) ? 'object' : undefined;
}

/** Follows references inside of the schema, such as `#/$defs/City`. */
function resolve(schema: JsonObject, root: JsonValue | undefined, hops: number): JsonObject | undefined {
  const ref = schema['$ref'];
  if (typeof ref !== 'string') return schema;
  if (!ref.startsWith('#') || hops > MAX_DEPTH) return undefined;
  let found: JsonValue | undefined = root;
  for (const part of ref.slice(1).split('/').filter(Boolean)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    found = isObject(found) && Object.hasOwn(found, key) ? found[key] : undefined;
  }
  return isObject(found) ? resolve(found, root, hops + 1) : undefined;
}

function textIn(schema: JsonObject, key: string): string | undefined {
  const value = schema[key];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Value with which a field starts; undefined: not set. */
export function initialValue(field: FormField): JsonValue | undefined {
  if (field.preset !== undefined) return field.preset;
  if (field.kind === 'constant') return field.value;
  if (field.kind === 'union') return field.variants[0] && initialValue(field.variants[0]);
  if (field.kind !== 'object') return undefined;
  const values: Record<string, JsonValue> = {};
  for (const { name, field: inner, isRequired } of field.fields) {
    const value = isRequired || inner.preset !== undefined ? initialValue(inner) : undefined;
    if (value !== undefined) setOwn(values, name, value);
  }
  return values;
}

/** An object with one key changed, or removed by undefined. */
export function withKey(value: JsonValue | undefined, name: string, part: JsonValue | undefined): JsonObject {
  const copy: Record<string, JsonValue> = {};
  for (const [key, old] of Object.entries(isObject(value) ? value : {}))
    if (key !== name && old !== undefined) setOwn(copy, key, old);
  if (part !== undefined) setOwn(copy, name, part);
  return copy;
}

/** Sets a key that may have any name, also `__proto__`. */
function setOwn(target: Record<string, JsonValue>, key: string, value: JsonValue): void {
  Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
}

/** Whether two values are the same JSON. */
export function isSameJson(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  if (a === b) return true;
  if (Array.isArray(a) || Array.isArray(b))
    return (
      Array.isArray(a) &&
      Array.isArray(b) &&
      a.length === b.length &&
      a.every((one: JsonValue, at) => isSameJson(one, b[at] as JsonValue))
    );
  if (!isObject(a) || !isObject(b)) return false;
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...keys].every((key) => isSameJson(a[key], b[key]));
}

/** Text of a control as JSON Schema wants it: a time with seconds, a time of a day in UTC, and nothing in place of an empty format. */
export function fromControl(format: TextFormat, text: string): string | undefined {
  if (format === 'text') return text;
  if (text === '') return undefined;
  if (format === 'time') return /^\d\d:\d\d$/.test(text) ? `${text}:00` : text;
  if (format !== 'datetime-local') return text;
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? text : at.toISOString();
}

/** Text for a control, of a value of `fromControl` or of a program: a time of a day as this machine's clock shows it. */
export function toControl(format: TextFormat, text: string): string {
  const at = format === 'datetime-local' ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at)) return text;
  const local = at - new Date(at).getTimezoneOffset() * 60_000;
  return new Date(local).toISOString().slice(0, 19);
}
