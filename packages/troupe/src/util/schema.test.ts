import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';

import { parseJson, type JsonObject, type JsonValue } from './json.ts';
import { SchemaError, toJsonSchema, validateWith, type JsonSchema, type SchemaOutput } from './schema.ts';

type Length = StandardSchemaV1<string, number>;

/** Takes a string, gives its length: a Standard Schema in its smallest form. */
function lengthSchema(
  props: Partial<StandardSchemaV1.Props<string, number>> & Partial<StandardJSONSchemaV1.Props> = {},
): Length {
  const validate: Length['~standard']['validate'] = (value) =>
    typeof value === 'string' ? { value: value.length } : { issues: [{ message: 'must be a string' }] };
  return { '~standard': { version: 1, vendor: 'tiny', validate, ...props } };
}

function failing(issues: readonly StandardSchemaV1.Issue[]): StandardSchemaV1 {
  return { '~standard': { version: 1, vendor: 'tiny', validate: () => ({ issues }) } };
}

async function problemsOf(schema: JsonSchema, value: unknown): Promise<readonly string[]> {
  const checked = await validateWith(schema, value);
  return checked.ok ? [] : checked.problems.map(({ path, message }) => `${path} | ${message}`);
}

describe('toJsonSchema', () => {
  test('converts a schema once', () => {
    let conversions = 0;
    const input = (): JsonObject => ({ type: 'string', title: `conversion ${++conversions}` });
    const schema = lengthSchema({ jsonSchema: { input, output: input } });
    expect(toJsonSchema(schema)).toBe(toJsonSchema(schema));
    expect(conversions).toBe(1);
  });

  test('returns a JSON Schema as it is', () => {
    const schema = { type: 'string' };
    expect(toJsonSchema(schema)).toBe(schema);
  });

  test('asks a Standard Schema for the JSON Schema of its input, in the draft 2020-12', () => {
    const asked: unknown[] = [];
    const jsonSchema: StandardJSONSchemaV1.Converter = {
      input: (options) => {
        asked.push(options);
        return { type: 'string', minLength: undefined };
      },
      output: () => ({ type: 'number' }),
    };
    expect(toJsonSchema(lengthSchema({ jsonSchema }))).toStrictEqual({ type: 'string' });
    expect(asked).toEqual([{ target: 'draft-2020-12' }]);
  });

  test('asks a schema that is a function, as those of arktype are', () => {
    const jsonSchema: StandardJSONSchemaV1.Converter = {
      input: () => ({ type: 'string' }),
      output: () => ({}),
    };
    const schema = Object.assign(() => {}, lengthSchema({ jsonSchema }));
    expect(toJsonSchema(schema)).toEqual({ type: 'string' });
  });

  test('refuses what is no schema at all, such as a class or a function that makes a schema', () => {
    for (const wrong of [class City {}, () => ({ type: 'string' }), 'string', null])
      expect(() => toJsonSchema(wrong as never)).toThrow(
        new SchemaError('A schema is made by zod, valibot or arktype, or is a JSON Schema as an object.'),
      );
  });

  test('says what to do when the library can not tell', () => {
    expect(() => toJsonSchema(lengthSchema({ vendor: 'valibot' }))).toThrow(SchemaError);
    expect(() => toJsonSchema(lengthSchema({ vendor: 'valibot' }))).toThrow(
      /This valibot schema does not come with a JSON Schema\. .*toStandardJsonSchema\(\)/,
    );
  });

  test('says why a schema has no JSON Schema', () => {
    const input = (): never => {
      throw new Error('Date cannot be represented');
    };
    const schema = lengthSchema({ jsonSchema: { input, output: input } });
    expect(() => toJsonSchema(schema)).toThrow(
      'This tiny schema has no JSON Schema: Date cannot be represented.',
    );
    const odd = lengthSchema({ jsonSchema: { input: () => ({ default: new Map() }), output: () => ({}) } });
    expect(() => toJsonSchema(odd)).toThrow('the JSON Schema.default is a Map');
  });
});

test.each([
  [z.object({ name: z.string(), due: z.date() }), "The field 'due' of this zod schema"],
  [z.object({ task: z.object({ due: z.date() }) }), "The field 'task.due' of this zod schema"],
  [z.date(), 'This zod schema'],
])('a Date of zod has no JSON Schema: the error names the field and what to take instead', (schema, what) => {
  expect(() => toJsonSchema(schema)).toThrow(
    `${what} has no JSON Schema: Date cannot be represented in JSON Schema. Models write JSON: take a type that JSON has, and ` +
      'convert it in your code. A date is a text, such as z.iso.date() or z.iso.datetime();',
  );
});

describe('validateWith a Standard Schema', () => {
  test('gives what the schema made of the value, sync or async', async () => {
    expect(await validateWith(lengthSchema(), 'four')).toEqual({ ok: true, value: 4 });
    const late = lengthSchema({ validate: async () => ({ value: 7 }) });
    expect(await validateWith(late, 'x')).toEqual({ ok: true, value: 7 });
  });

  test('names the places of the problems', async () => {
    const schema = failing([
      { message: 'one' },
      { message: 'two', path: ['a', { key: 'b' }, 0, Symbol('c')] },
      { message: 'three', path: [1, 'a b'] },
    ]);
    expect(await validateWith(schema, {})).toEqual({
      ok: false,
      problems: [
        { path: '', message: 'one' },
        { path: 'a.b[0].Symbol(c)', message: 'two' },
        { path: '[1].a b', message: 'three' },
      ],
    });
  });

  test('reads lists of issues that are no ordinary arrays, as those of arktype are', async () => {
    class Issues extends Array<StandardSchemaV1.Issue> {
      static override get [Symbol.species](): ArrayConstructor {
        throw new Error('can not be mapped');
      }
    }
    const issues = new Issues();
    issues.push({ message: 'one', path: ['a'] });
    expect(await validateWith(failing(issues), 1)).toEqual({
      ok: false,
      problems: [{ path: 'a', message: 'one' }],
    });
  });

  test('infers the output', async () => {
    expectTypeOf<SchemaOutput<Length>>().toEqualTypeOf<number>();
    expectTypeOf<SchemaOutput<JsonSchema>>().toEqualTypeOf<JsonValue>();
    const checked = await validateWith(lengthSchema(), 'four');
    if (checked.ok) expectTypeOf(checked.value).toEqualTypeOf<number>();
    expect(checked.ok).toBe(true);
  });
});

describe('validateWith a JSON Schema', () => {
  const person: JsonSchema = {
    type: 'object',
    properties: {
      name: { type: 'string' },
      age: { $ref: '#/$defs/age' },
      'a/b~c d': { items: { anyOf: [{ type: 'string' }, { type: 'null' }] } },
    },
    required: ['name'],
    additionalProperties: false,
    $defs: { age: { type: 'integer', minimum: 0 } },
  };

  test('gives a frozen copy of a value that fits', async () => {
    const value = { name: 'Ada', age: 36 };
    const checked = await validateWith(person, value);
    expect(checked).toEqual({ ok: true, value: { name: 'Ada', age: 36 } });
    expect(checked.ok && checked.value).not.toBe(value);
    expect(checked.ok && Object.isFrozen(checked.value)).toBe(true);
  });

  test('names the place and the expectation of each problem, without the wrappers around it', async () => {
    expect(await problemsOf(person, { name: 1, age: -1, 'a/b~c d': ['x', 2], other: true })).toEqual([
      'name | Instance type "number" is invalid. Expected "string".',
      'age | -1 is less than 0.',
      'a/b~c d[1] | Instance does not match any subschemas.',
      'a/b~c d[1] | Instance type "number" is invalid. Expected "string".',
      'a/b~c d[1] | Instance type "number" is invalid. Expected "null".',
      'other | This is not allowed here.',
    ]);
    expect(await problemsOf(person, {})).toEqual([' | Instance does not have required property "name".']);
  });

  test('knows the draft 2020-12', async () => {
    const pair = { prefixItems: [{ type: 'string' }, { type: 'number' }], items: false };
    expect(await problemsOf(pair, ['a', 1])).toEqual([]);
    expect(await problemsOf(pair, ['a', 1, 2])).toEqual(['[2] | This is not allowed here.']);
    const besideReference = { $ref: '#/$defs/text', maxLength: 1, $defs: { text: { type: 'string' } } };
    expect(await problemsOf(besideReference, 'ab')).toEqual([' | String is too long (2 > 1).']);
  });

  test('refuses what is not JSON', async () => {
    expect(await problemsOf({}, undefined)).toEqual([" | is undefined, which JSON can't hold"]);
    expect(await problemsOf({}, { a: [() => 1] })).toEqual(["a[0] | is a function, which JSON can't hold"]);
  });

  test('leaves the schema alone, frozen or not', async () => {
    const schema = { $ref: '#/$defs/a', $defs: { a: { type: 'string' } } };
    const keys = JSON.stringify(Object.getOwnPropertyDescriptors(schema));
    expect(await problemsOf(schema, 'x')).toEqual([]);
    expect(JSON.stringify(Object.getOwnPropertyDescriptors(schema))).toBe(keys);
    expect(await problemsOf(Object.freeze(schema), 'x')).toEqual([]);
  });

  test('lists at most twenty problems', async () => {
    expect(await problemsOf({ items: { type: 'string' } }, Array(100).fill(1))).toHaveLength(20);
  });

  test('is not polluted or fooled by keys such as __proto__', async () => {
    const schema = parseJson(
      '{"properties": {"__proto__": {"type": "string"}, "constructor": {"type": "string"}}, "additionalProperties": false}',
    ) as JsonObject;
    expect(await problemsOf(schema, {})).toEqual([]);
    expect(await problemsOf(schema, parseJson('{"__proto__": {"polluted": true}}'))).toEqual([
      '__proto__ | Instance type "object" is invalid. Expected "string".',
    ]);
    const checked = await validateWith({}, parseJson('{"__proto__": {"polluted": true}}'));
    expect(checked.ok && Object.keys(checked.value as object)).toEqual(['__proto__']);
    expect('polluted' in {}).toBe(false);
  });

  test('is not taken for a Standard Schema because of a key', async () => {
    const schema = { '~standard': { validate: 'no function' }, type: 'string' };
    expect(toJsonSchema(schema)).toBe(schema);
    expect(await problemsOf(schema, 1)).toEqual([' | Instance type "number" is invalid. Expected "string".']);
  });

  test('gives up on a value or a schema that has no end', async () => {
    const endless = { $ref: '#' };
    expect(await problemsOf(endless, 1)).toEqual([" | can't be checked: Maximum call stack size exceeded"]);
    expect(await problemsOf({ additionalProperties: {} }, { '\ud800': 1 })).toEqual([
      " | can't be checked: URI malformed",
    ]);
    let deep: JsonObject = {};
    for (let i = 0; i < 200; i++) deep = { deep };
    expect(await problemsOf({}, deep)).toEqual([expect.stringContaining('nested deeper than 128')]);
  });

  test.each([
    ['a reference to nothing', { $ref: '#/$defs/none' }, 'Unresolved $ref "#/$defs/none"'],
    ['a broken pattern', { pattern: '(' }, 'Invalid regular expression'],
    ['a broken address', { $id: 'http://[' }, 'Invalid URL'],
    ['a schema too deep', { not: nested(200) }, 'nested deeper than 128'],
  ])('says that a schema with %s can not be used', async (_, schema, problem) => {
    const checked = validateWith(schema, 'x');
    await expect(checked).rejects.toThrow(SchemaError);
    await expect(checked).rejects.toThrow(`This JSON Schema can't be used: `);
    await expect(checked).rejects.toThrow(problem);
  });
});

function nested(depth: number): JsonSchema {
  return depth === 0 ? {} : { not: nested(depth - 1) };
}

test("a format that would take for ever to check is checked as the standard's own", async () => {
  const schema = { type: 'object', properties: { page: { type: 'string', format: 'url' } } } as const;
  expect(await validateWith(schema, { page: `http://${'a'.repeat(100)}!` })).toMatchObject({ ok: true });
  expect(await validateWith(schema, { page: 'not an address' })).toMatchObject({ ok: false });
  expect(schema.properties.page.format).toBe('url');
  const asValue = { const: { format: 'url' } };
  expect(await validateWith(asValue, { format: 'url' })).toMatchObject({ ok: true });
});
