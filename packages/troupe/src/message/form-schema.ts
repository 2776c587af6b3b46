import { isJsonObject, setOwn, type JsonObject, type JsonValue } from '../util/json.ts';

/** Maximum sizes of the parts of a form. */
interface FormLimits {
  readonly maxChoices: number;
  readonly maxChoiceChars: number;
  readonly maxFields: number;
}

const FORMATS: readonly unknown[] = ['email', 'uri', 'date', 'date-time'];

/** Keywords with numbers, by the type of the field. */
const NUMBERS: Readonly<Record<string, readonly string[]>> = {
  string: ['minLength', 'maxLength'],
  number: ['minimum', 'maximum'],
  integer: ['minimum', 'maximum'],
  boolean: [],
  array: ['minItems', 'maxItems'],
};

/**
 * Reads the JSON Schema of a form: an object whose fields are strings, numbers, booleans, or lists of given strings. The result has
 * only the keywords that a form uses.
 * @throws TypeError that names the field
 */
export function toFormSchema(value: JsonValue, limits: FormLimits): JsonObject {
  if (!isJsonObject(value)) throw new TypeError('schema must be a JSON Schema of an object');
  const { type = 'object', properties, required = [] } = value;
  if (type !== 'object' || !isJsonObject(properties) || Object.keys(properties).length === 0)
    throw new TypeError('schema must have the type object, and properties');
  assertAtMost(Object.keys(properties).length, limits.maxFields, 'schema', 'fields');
  const fields: { [name: string]: JsonObject } = {};
  for (const [name, field] of Object.entries(properties)) {
    assertAtMost(name.length, limits.maxChoiceChars, 'the name of a field', 'characters');
    setOwn(fields, name, toField(field, name, limits));
  }
  if (
    !Array.isArray(required) ||
    !required.every((name) => typeof name === 'string' && Object.hasOwn(fields, name))
  )
    throw new TypeError('required must list names of the properties');
  const texts = textsOf(value, ['title', 'description'], 'schema', limits);
  return { type: 'object', ...texts, properties: fields, ...(required.length > 0 && { required }) };
}

/** @throws TypeError unless it is a list of different, short texts */
export function toChoices(
  value: unknown,
  name: string,
  { maxChoices, maxChoiceChars }: Omit<FormLimits, 'maxFields'>,
): readonly string[] {
  if (!Array.isArray(value) || value.length === 0) throw new TypeError(`${name} must be a list of texts`);
  assertAtMost(value.length, maxChoices, name, 'entries');
  return value.map((choice: unknown, i) => {
    if (typeof choice !== 'string' || choice.trim() === '')
      throw new TypeError(`${name}[${i}] must be a text`);
    assertAtMost(choice.length, maxChoiceChars, `${name}[${i}]`, 'characters');
    if (value.indexOf(choice) < i) throw new TypeError(`${name}[${i}] is there twice`);
    return choice;
  });
}

/** @throws TypeError that tells the maximum */
export function assertAtMost(size: number, most: number, what: string, unit: string): void {
  if (size > most) throw new TypeError(`${what} has ${size} ${unit}, and may have ${most}`);
}

function toField(value: JsonValue, name: string, limits: FormLimits): JsonObject {
  const where = `schema.properties.${name.slice(0, 100)}`;
  if (!isJsonObject(value)) throw new TypeError(`${where} must be an object with a type`);
  const { type = hasChoices(value) ? 'string' : undefined, format, items } = value;
  if (typeof type !== 'string' || !Object.hasOwn(NUMBERS, type))
    throw new TypeError(
      `${where} must have a type out of ${Object.keys(NUMBERS).join(', ')}: forms are flat`,
    );
  const field: JsonObject = {
    type,
    ...textsOf(value, ['title', 'description'], where, limits),
    ...numbersOf(value, NUMBERS[type] ?? [], where),
    ...(type === 'string' && FORMATS.includes(format) && { format }),
    ...(type === 'string' && hasChoices(value) && choicesIn(value, 'oneOf', where, limits)),
    ...(type === 'array' && { items: toItems(items, where, limits) }),
  };
  if (value['default'] === undefined) return field;
  return { ...field, default: toDefault(value['default'], type, `${where}.default`, limits) };
}

/** The strings of a list field. @throws TypeError unless they are given by `enum` or `anyOf` */
function toItems(items: JsonValue | undefined, where: string, limits: FormLimits): JsonObject {
  if (!isJsonObject(items) || !hasChoices(items))
    throw new TypeError(`${where}.items must list the strings to choose from, as enum`);
  return { type: 'string', ...choicesIn(items, 'anyOf', `${where}.items`, limits) };
}

function hasChoices({ enum: plain, oneOf, anyOf }: JsonObject): boolean {
  return [plain, oneOf, anyOf].some((one) => one !== undefined);
}

/** Choices of a field: plain, with names of their own (`enumNames`), or as constants with titles. */
function choicesIn(
  { enum: plain, enumNames, oneOf, anyOf }: JsonObject,
  keyword: 'oneOf' | 'anyOf',
  where: string,
  limits: FormLimits,
): JsonObject {
  if (plain !== undefined) {
    const choices = toChoices(plain, `${where}.enum`, limits);
    if (!Array.isArray(enumNames)) return { enum: choices };
    const names = toChoices(enumNames, `${where}.enumNames`, limits);
    if (names.length !== choices.length) throw new TypeError(`${where}.enumNames must have a name for each`);
    return { enum: choices, enumNames: names };
  }
  const options = oneOf ?? anyOf;
  if (!Array.isArray(options) || !options.every(isJsonObject))
    throw new TypeError(`${where} must list its choices as { const, title }`);
  const values = toChoices(options.map((option) => option['const']), where, limits); // prettier-ignore
  const titled = options.map((option, i) => ({
    const: values[i] ?? '',
    ...textsOf(option, ['title'], where, limits),
  }));
  return { [keyword]: titled };
}

function textsOf(
  value: JsonObject,
  names: readonly string[],
  where: string,
  limits: FormLimits,
): { [name: string]: string } {
  const texts: { [name: string]: string } = {};
  for (const name of names) {
    const text = value[name];
    if (text === undefined) continue;
    if (typeof text !== 'string') throw new TypeError(`${where}.${name} must be a text`);
    assertAtMost(text.length, limits.maxChoiceChars, `${where}.${name}`, 'characters');
    texts[name] = text;
  }
  return texts;
}

function numbersOf(value: JsonObject, names: readonly string[], where: string): { [name: string]: number } {
  const numbers: { [name: string]: number } = {};
  for (const name of names) {
    const number = value[name];
    if (number === undefined) continue;
    if (typeof number !== 'number') throw new TypeError(`${where}.${name} must be a number`);
    numbers[name] = number;
  }
  return numbers;
}

/** Checks the kind of a default; whether it fits the field is checked with the answer. */
function toDefault(value: JsonValue, type: string, where: string, limits: FormLimits): JsonValue {
  if (type === 'array') return value === null ? [] : toDefaults(value, where, limits);
  const expected = type === 'integer' ? 'number' : type;
  if (typeof value !== expected) throw new TypeError(`${where} must be a ${expected}`);
  if (typeof value === 'string') assertAtMost(value.length, limits.maxChoiceChars, where, 'characters');
  return value;
}

function toDefaults(value: JsonValue, where: string, limits: FormLimits): JsonValue {
  return Array.isArray(value) && value.length === 0 ? [] : toChoices(value, where, limits);
}
