import { TroupeError } from '../errors.ts';
import {
  copyJsonObject,
  isJsonObject,
  parseJson,
  setOwn,
  type JsonObject,
  type JsonValue,
} from '../util/json.ts';
import {
  toJsonSchema,
  validateWith,
  type AnySchema,
  type JsonSchema,
  type SchemaProblem,
} from '../util/schema.ts';
import { oneLine } from '../util/text.ts';

/** A person, or a program, that fills in a form. */
export interface Respondent {
  ask(prompt: string): Promise<string>;
  say(line: string): void;
}

interface Field {
  readonly name: string;
  readonly schema: JsonSchema;
  readonly isRequired: boolean;
  /** Schema that checks this field alone: requires no other field, and has the definitions of the whole schema. */
  readonly alone: JsonSchema;
}

type Answer = { readonly value: JsonValue | undefined } | { readonly problems: readonly string[] };

/** Examples for types entered as JSON. */
const EXAMPLES: Readonly<Record<string, string>> = {
  number: '3.14',
  integer: '42',
  boolean: 'true or false',
  array: '["red", "green"]',
  object: '{"colour": "red"}',
  null: 'null',
};

const DEFINITION = /^#\/(\$defs|definitions)\/([^/]+)$/;

/**
 * Asks for the fields of an object one after the other, until the object fits the schema. An empty line omits
 * an optional field, or takes its default.
 * @throws TroupeError if the schema does not describe an object with properties.
 */
export class UserForm {
  readonly #model: AnySchema;
  readonly #fields: readonly Field[];

  constructor(model: AnySchema) {
    this.#model = model;
    this.#fields = fieldsOf(toJsonSchema(model));
  }

  async fillIn(person: Respondent): Promise<JsonObject> {
    for (;;) {
      const answers: { [name: string]: JsonValue } = {};
      for (const field of this.#fields) {
        const value = await askField(field, person);
        if (value !== undefined) setOwn(answers, field.name, value);
      }
      const checked = await validateWith(this.#model, answers);
      if (checked.ok) return copyJsonObject(checked.value, 'the structured answer');
      person.say('  These answers do not go together. Please enter them again.');
      sayAll(checked.problems.map(problemText), person);
    }
  }
}

/** A problem as one line of text. */
export function problemText({ path, message }: SchemaProblem): string {
  return path === '' ? message : `${path}: ${message}`;
}

function fieldsOf(root: JsonSchema): readonly Field[] {
  const { properties, required, $defs = {}, definitions = {} } = root;
  if (!isJsonObject(properties) || Object.keys(properties).length === 0) {
    throw new TroupeError(
      'invalid_config',
      'A structured model that a person fills in must be an object with properties.',
    );
  }
  return Object.entries(properties).map(([name, property]) => ({
    name,
    schema: resolved(property, root),
    isRequired: Array.isArray(required) && required.includes(name),
    alone: { $defs, definitions, properties },
  }));
}

/** Schema of a property, with a reference to a definition resolved. */
function resolved(property: JsonValue, root: JsonSchema): JsonSchema {
  if (!isJsonObject(property)) return {};
  const { $ref } = property;
  const [, group = '', name = ''] = (typeof $ref === 'string' && DEFINITION.exec($ref)) || [];
  const definitions = root[group];
  const definition =
    isJsonObject(definitions) && Object.hasOwn(definitions, name) ? definitions[name] : undefined;
  return isJsonObject(definition) ? { ...definition, ...property } : property;
}

async function askField(field: Field, person: Respondent): Promise<JsonValue | undefined> {
  for (;;) {
    const answer = await toAnswer(field, await person.ask(promptOf(field)));
    if ('value' in answer) return answer.value;
    sayAll(answer.problems, person);
  }
}

async function toAnswer({ name, schema, isRequired, alone }: Field, text: string): Promise<Answer> {
  if (text.trim() === '') {
    if (schema['default'] === undefined && isRequired) return { problems: ['An answer is required.'] };
    return { value: schema['default'] };
  }
  let problems: readonly string[] = [`Please enter it as JSON, for example ${exampleOf(schema)}.`];
  for (const value of readingsOf(text, schema)) {
    const checked = await validateWith(alone, { [name]: value });
    if (checked.ok) return { value };
    problems = checked.problems.map(problemText);
  }
  return { problems };
}

/** Possible values of a text: the text for a string, the parsed JSON for other types, or both. */
function readingsOf(text: string, schema: JsonSchema): readonly JsonValue[] {
  const types = typesOf(schema);
  if (types.length === 1 && types[0] === 'string') return [text];
  const asText = types.length === 0 || types.includes('string') ? [text] : otherReadings(text, schema);
  try {
    return [parseJson(text), ...asText];
  } catch {
    return asText;
  }
}

/** A list of given strings with commas between them, or yes and no. */
function otherReadings(text: string, schema: JsonSchema): readonly JsonValue[] {
  const types = typesOf(schema);
  if (types.includes('array') && choicesOf(schema) !== undefined)
    return [text.split(',').map((part) => part.trim())];
  const isSaid = (word: string): boolean => word.startsWith(text.trim().toLowerCase());
  if (!types.includes('boolean')) return [];
  return isSaid('yes') ? [true] : isSaid('no') ? [false] : [];
}

/** Values of a field that are given, or of the entries of a list. */
function choicesOf({ enum: plain, oneOf, anyOf, items }: JsonSchema): readonly JsonValue[] | undefined {
  if (Array.isArray(plain)) return plain;
  const titled = [oneOf, anyOf].find(Array.isArray);
  const values = titled?.flatMap((one: JsonValue) => (isJsonObject(one) ? (one['const'] ?? []) : []));
  if (values !== undefined && values.length === titled?.length) return values;
  return isJsonObject(items) ? choicesOf(items) : undefined;
}

function typesOf({ type }: JsonSchema): readonly string[] {
  return [type].flat().filter((name) => typeof name === 'string');
}

function exampleOf(schema: JsonSchema): string {
  const examples = typesOf(schema).filter((type) => Object.hasOwn(EXAMPLES, type));
  return examples.map((type) => EXAMPLES[type]).join(' or ') || 'null';
}

function promptOf({ name, schema, isRequired }: Field): string {
  const { default: fallback, description } = schema;
  const kind = choicesOf(schema)?.map(labelled(schema)).join(' | ') ?? typesOf(schema).join(' or ');
  const notes = [
    kind,
    typesOf(schema).includes('array') && choicesOf(schema) ? 'several with commas' : '',
    isRequired || fallback !== undefined ? '' : 'optional',
    fallback === undefined ? '' : `default ${JSON.stringify(fallback)}`,
  ].filter((note) => note !== '');
  const details = notes.length === 0 ? '' : ` (${notes.join(', ')})`;
  const about = typeof description === 'string' ? ` - ${description}` : '';
  return oneLine(`  ${name}${details}${about}: `);
}

/** Shows a choice with its title, if the schema has one for it. */
function labelled({ oneOf, anyOf, items }: JsonSchema): (choice: JsonValue) => string {
  const { anyOf: inItems } = isJsonObject(items) ? items : {};
  const titled = [oneOf, anyOf, inItems].filter(Array.isArray).flat().filter(isJsonObject);
  return (choice) => {
    const title = titled.find((one) => one['const'] === choice)?.['title'];
    return typeof title === 'string' && title !== choice ? `${shown(choice)} = ${title}` : shown(choice);
  };
}

function shown(choice: JsonValue): string {
  return typeof choice === 'string' ? choice : JSON.stringify(choice);
}

function sayAll(problems: readonly string[], person: Respondent): void {
  for (const problem of problems) person.say(oneLine(`  ! ${problem}`));
}
