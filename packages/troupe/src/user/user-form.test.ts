import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';
import { describe, expect, test } from 'vitest';

import { parseJson, type JsonObject } from '../util/json.ts';
import type { AnySchema, JsonSchema } from '../util/schema.ts';
import { UserForm, type Respondent } from './user-form.ts';

/** Enters the lines one after the other, and remembers what was on the screen. */
class TypingPerson implements Respondent {
  readonly screen: string[] = [];
  readonly #lines: string[];

  constructor(lines: readonly string[]) {
    this.#lines = [...lines];
  }

  async ask(prompt: string): Promise<string> {
    const line = this.#lines.shift();
    if (line === undefined) throw new Error(`There is no line for "${prompt}"`);
    this.screen.push(`${prompt}${line}`);
    return line;
  }

  say(line: string): void {
    this.screen.push(line);
  }

  get unused(): number {
    return this.#lines.length;
  }
}

async function fillIn(
  model: AnySchema,
  lines: readonly string[],
): Promise<{ data: JsonObject; screen: readonly string[] }> {
  const person = new TypingPerson(lines);
  const data = await new UserForm(model).fillIn(person);
  expect(person.unused).toBe(0);
  return { data, screen: person.screen };
}

/** Value of one field of a schema for a line of input. */
async function enter(field: JsonSchema, ...lines: string[]): Promise<unknown> {
  return (await fillIn({ type: 'object', properties: { it: field }, required: ['it'] }, lines)).data['it'];
}

/** A Standard Schema that accepts two equal passwords, and gives their length. */
const passwords: StandardSchemaV1 & StandardJSONSchemaV1 = {
  '~standard': {
    version: 1,
    vendor: 'tiny',
    validate(value) {
      const { one, two } = value as { one: string; two: string };
      return one === two
        ? { value: { length: one.length } }
        : { issues: [{ message: 'differs', path: ['two'] }] };
    },
    jsonSchema: {
      input: () => ({ type: 'object', properties: { one: { type: 'string' }, two: { type: 'string' } } }),
      output: () => ({}),
    },
  },
};

describe('a form', () => {
  test('shows name, type, choices, default, description and necessity of each field', async () => {
    const model = {
      type: 'object',
      properties: {
        name: { type: 'string', description: 'How we call you' },
        age: { type: ['integer', 'null'] },
        colour: { enum: ['red', 'green', 3], default: 'red' },
        rest: true,
      },
      required: ['name'],
    };
    const { data, screen } = await fillIn(model, ['Ada', '36', 'green', 'x']);
    expect(data).toEqual({ name: 'Ada', age: 36, colour: 'green', rest: 'x' });
    expect(screen).toEqual([
      '  name (string) - How we call you: Ada',
      '  age (integer or null, optional): 36',
      '  colour (red | green | 3, default "red"): green',
      '  rest (optional): x',
    ]);
  });

  test('shows no control characters', async () => {
    const model = {
      properties: { 'a\u001b[2J': { type: 'string', description: 'b\r\n\u009bc', pattern: '^x' } },
    };
    const { screen } = await fillIn(model, ['y', 'x']);
    expect(screen).toHaveLength(3);
    expect(screen.join('')).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
  });

  test('an empty line omits an optional field or takes its default', async () => {
    const model = {
      properties: { a: { type: 'number' }, b: { type: 'number', default: 7 }, c: { default: false } },
    };
    expect((await fillIn(model, ['', '', ' '])).data).toStrictEqual({ b: 7, c: false });
    expect((await fillIn({ ...model, required: ['b'] }, ['', '', ''])).data).toStrictEqual({
      b: 7,
      c: false,
    });
  });

  test('an empty line is refused for a required field', async () => {
    const model = { properties: { a: { type: 'string' } }, required: ['a'] };
    const { data, screen } = await fillIn(model, ['', ' x ']);
    expect(data).toEqual({ a: ' x ' });
    expect(screen).toEqual(['  a (string): ', '  ! An answer is required.', '  a (string):  x ']);
  });

  test.each<[string, JsonSchema, string, unknown]>([
    ['a string as it is', { type: 'string' }, '42', '42'],
    ['a string with quotes as it is', { type: 'string' }, '"a"', '"a"'],
    ['a number', { type: 'number' }, '-1.5e3', -1500],
    ['an integer', { type: 'integer' }, ' 42 ', 42],
    ['a boolean', { type: 'boolean' }, 'false', false],
    ['an array', { type: 'array' }, '[1, "a"]', [1, 'a']],
    ['an object', { type: 'object' }, '{"a": {"b": 1}}', { a: { b: 1 } }],
    ['null', { type: ['string', 'null'] }, 'null', null],
    ['a string or null, if it only looks like JSON', { type: ['string', 'null'] }, '5', '5'],
    ['a choice', { enum: ['a', 2] }, '2', 2],
    ['whatever fits one of several schemas', { anyOf: [{ type: 'boolean' }, { const: 'x' }] }, 'x', 'x'],
    ['something without a type', {}, '{not JSON', '{not JSON'],
  ])('reads %s', async (_, field, line, value) => {
    expect(await enter(field, line)).toEqual(value);
  });

  test.each<[string, string]>([
    ['number', '3.14'],
    ['integer', '42'],
    ['boolean', 'true or false'],
    ['array', '["red", "green"]'],
    ['object', '{"colour": "red"}'],
  ])('explains how to enter a field of the type %s', async (type, example) => {
    const right = type === 'boolean' ? 'true' : example;
    const { data, screen } = await fillIn({ properties: { it: { type } } }, ['{what', right]);
    expect(data).toEqual({ it: parseJson(right) });
    expect(screen[1]).toBe(`  ! Please enter it as JSON, for example ${example}.`);
  });

  test('checks each field at once, and asks again until the value fits', async () => {
    const model = { properties: { age: { type: 'integer', minimum: 0 }, name: { type: 'string' } } };
    const { data, screen } = await fillIn(model, ['-1', '1.5', '36', 'Ada']);
    expect(data).toEqual({ age: 36, name: 'Ada' });
    expect(screen).toEqual([
      '  age (integer, optional): -1',
      '  ! age: -1 is less than 0.',
      '  age (integer, optional): 1.5',
      '  ! age: Instance type "number" is invalid. Expected "integer".',
      '  age (integer, optional): 36',
      '  name (string, optional): Ada',
    ]);
  });

  test('follows references to definitions', async () => {
    const model = {
      properties: {
        age: { $ref: '#/$defs/age', description: 'In years' },
        pet: { $ref: '#/definitions/pet' },
        friend: { $ref: '#' },
        weight: { $ref: '#/properties/age' },
      },
      $defs: { age: { type: 'integer', minimum: 0 } },
      definitions: { pet: { enum: ['cat', 'dog'], default: 'cat' } },
    };
    const { data, screen } = await fillIn(model, ['-1', '36', '', '{"age": 1}', '80']);
    expect(data).toEqual({ age: 36, pet: 'cat', friend: { age: 1 }, weight: 80 });
    expect(screen).toEqual([
      '  age (integer, optional) - In years: -1',
      '  ! age: -1 is less than 0.',
      '  age (integer, optional) - In years: 36',
      '  pet (cat | dog, default "cat"): ',
      '  friend (optional): {"age": 1}',
      '  weight (optional): 80',
    ]);
  });

  test('checks the whole object, asks all fields again if it does not fit, and gives the output of the schema', async () => {
    const { data, screen } = await fillIn(passwords, ['a', 'b', 'abc', 'abc']);
    expect(data).toEqual({ length: 3 });
    expect(screen.slice(2, 4)).toEqual([
      '  These answers do not go together. Please enter them again.',
      '  ! two: differs',
    ]);
  });

  test('treats a field named __proto__ as an ordinary field', async () => {
    const model = parseJson(
      '{"properties": {"__proto__": {"type": "object"}}, "required": ["__proto__"]}',
    ) as JsonObject;
    const { data } = await fillIn(model, ['{"polluted": true}']);
    expect(JSON.stringify(data)).toBe('{"__proto__":{"polluted":true}}');
    expect('polluted' in {}).toBe(false);
  });

  test.each([{ type: 'string' }, { type: 'object' }, { properties: {} }, { properties: true }])(
    'can not be made of %j',
    (model) => {
      expect(() => new UserForm(model)).toThrow('must be an object with properties');
    },
  );
});
