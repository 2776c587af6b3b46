import { describe, expect, test } from 'vitest';
import { z } from 'zod';

import { nested } from '../../../test/arbitraries.ts';
import { parseJson, type JsonObject } from '../../util/json.ts';
import { toJsonSchema, type AnySchema } from '../../util/schema.ts';
import { readArguments, type ArgumentRules, type ArgumentSchema } from './read-arguments.ts';

function part(schema: AnySchema): ArgumentSchema {
  return { schema, jsonSchema: toJsonSchema(schema) };
}

async function read(
  schema: AnySchema | undefined,
  input: unknown,
  more: Partial<ArgumentRules> = {},
): Promise<unknown> {
  const own = schema === undefined ? undefined : part(schema);
  return readArguments({ own, extension: undefined, preset: undefined, coerce: true, ...more }, input);
}

const city = z.object({ city: z.string(), days: z.number().default(3) });

test('the tool gets what its schema made of the arguments', async () => {
  expect(await read(city, { city: 'Köln' })).toEqual({ ok: true, value: { city: 'Köln', days: 3 } });
});

test('a tool without a schema gets nothing, whatever is sent', async () => {
  expect(await read(undefined, { a: 1 })).toEqual({ ok: true, value: {} });
});

test('text is coerced, but only if the arguments do not fit as they are', async () => {
  expect(await read(city, { city: 'Köln', days: '5', other: null })).toEqual({
    ok: true,
    value: { city: 'Köln', days: 5 },
  });
  const picky = z.object({ n: z.union([z.literal('1'), z.number()]) });
  expect(await read(picky, { n: '1' })).toEqual({ ok: true, value: { n: '1' } });
  expect(await read(city, { city: 'Köln', days: null })).toEqual({
    ok: true,
    value: { city: 'Köln', days: 3 },
  });
});

test('remaining problems are reported with their path, coerced ones are not', async () => {
  expect(await read(city, { city: 1, days: '5' })).toEqual({
    ok: false,
    problems: [{ path: 'city', message: 'Invalid input: expected string, received number' }],
  });
});

test('without coercion text stays text', async () => {
  expect(await read(city, { city: 'x', days: '5' }, { coerce: false })).toMatchObject({
    ok: false,
    problems: [{ path: 'days' }],
  });
});

describe('presets', () => {
  const secret = {
    type: 'object',
    properties: { q: { type: 'string' }, key: { type: 'string' } },
    required: ['key'],
  };

  test('win over arguments of the model', async () => {
    expect(await read(secret, { q: 'x', key: 'guess' }, { preset: { key: 's3cret' } })).toEqual({
      ok: true,
      value: { q: 'x', key: 's3cret' },
    });
  });

  test('are not shown, not even when they are wrong', async () => {
    const preset = { limits: { day: 99, 'a b': [7] }, key: 5 };
    const schema = {
      type: 'object',
      properties: {
        q: { type: 'string' },
        key: { type: 'string' },
        limits: { type: 'object', properties: { day: { maximum: 10 } }, additionalProperties: false },
      },
    };
    const checked = await read(schema, { q: 1 }, { preset });
    expect(checked).toEqual({
      ok: false,
      problems: [
        { path: 'q', message: 'Instance type "number" is invalid. Expected "string".' },
        ...Array.from({ length: 3 }, () => ({
          path: '',
          message: 'An argument that the program has set does not fit. It is not yours to change.',
        })),
      ],
    });
    expect(JSON.stringify(checked)).not.toContain('99');
  });
});

describe('an extension', () => {
  const extension = part(z.object({ answer: z.number(), why: z.string() }));

  test("checks its own arguments, and the tool's schema checks the others", async () => {
    const strict = z.strictObject({ city: z.string() });
    expect(await read(strict, { city: 'x', answer: '42', why: 'so' }, { extension })).toEqual({
      ok: true,
      value: { city: 'x', answer: 42, why: 'so' },
    });
  });

  test('adds its problems to the others', async () => {
    expect(await read(city, { days: 1, answer: 'x' }, { extension })).toMatchObject({
      ok: false,
      problems: [{ path: 'city' }, { path: 'answer' }, { path: 'why' }],
    });
  });

  test('may be the only schema', async () => {
    expect(await read(undefined, { answer: 1, why: 'x', more: 2 }, { extension })).toEqual({
      ok: true,
      value: { answer: 1, why: 'x' },
    });
  });
});

describe('arguments that are not a JSON object', () => {
  test.each([
    ['null', null, '', 'is null, not an object'],
    ['a list', [1], '', 'is an array, not an object'],
    ['text', 'x', '', 'is a string, not an object'],
    ['a function inside', { a: [() => 1] }, 'a[0]', "is a function, which JSON can't hold"],
  ])('%s', async (_, input, path, message) => {
    expect(await read(city, input)).toEqual({ ok: false, problems: [{ path, message }] });
  });

  test('nested deeper than anything', async () => {
    const checked = await read({ type: 'object' }, { deep: nested(100_000) });
    expect(checked).toMatchObject({
      ok: false,
      problems: [{ message: 'is nested deeper than 128 levels, or refers to itself' }],
    });
  });
});

test('a key named __proto__ changes nothing but the arguments', async () => {
  const input = parseJson('{"city": "x", "__proto__": {"days": 9}, "constructor": 1}') as JsonObject;
  expect(await read(city, input)).toEqual({ ok: true, value: { city: 'x', days: 3 } });
  const checked = (await read({ type: 'object' }, input, { preset: { city: 'y' } })) as { value: object };
  expect(Object.keys(checked.value)).toEqual(['city', '__proto__', 'constructor']);
  expect('days' in {}).toBe(false);
});
