import { describe, expect, test } from 'vitest';
import type { JsonSchema } from '../../util/schema.ts';
import { toStrictSchema } from './strict-schema.ts';

test('an object is closed at every level, and loses what Claude rejects', () => {
  const schema: JsonSchema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: {
      name: { type: 'string', minLength: 1, description: 'Who', pattern: '^A' },
      born: { type: 'string', format: 'date' },
      mail: { type: 'string', format: 'idn-email' },
      age: { type: ['integer', 'null'], minimum: 0 },
      tags: { type: 'array', items: { enum: ['a', 'b'] }, minItems: 1, maxItems: 3 },
      homes: { type: 'array', minItems: 2, items: { $ref: '#/$defs/home' } },
      pet: { oneOf: [{ const: 'none' }, { $ref: '#/$defs/home' }] },
      both: { allOf: [{ type: 'object', properties: {} }] },
    },
    required: ['name'],
    $defs: { home: { type: 'object', properties: { city: { type: 'string' } }, additionalProperties: true } },
  };
  const before = JSON.stringify(schema);
  expect(toStrictSchema(schema)).toEqual({
    type: 'object',
    properties: {
      name: { type: 'string', description: 'Who' },
      born: { type: 'string', format: 'date' },
      mail: { type: 'string' },
      age: { type: ['integer', 'null'] },
      tags: { type: 'array', items: { enum: ['a', 'b'] }, minItems: 1 },
      homes: { type: 'array', items: { $ref: '#/$defs/home' } },
      pet: { anyOf: [{ const: 'none' }, { $ref: '#/$defs/home' }] },
      both: { allOf: [{ type: 'object', properties: {}, additionalProperties: false }] },
    },
    required: ['name'],
    additionalProperties: false,
    $defs: {
      home: { type: 'object', properties: { city: { type: 'string' } }, additionalProperties: false },
    },
  });
  expect(JSON.stringify(schema)).toBe(before);
});

describe('no strict schema exists for', () => {
  const inside = (schema: JsonSchema): JsonSchema => ({ type: 'object', properties: { it: schema } });
  test.each<[string, JsonSchema]>([
    ['an object with any keys', inside({ type: 'object', additionalProperties: { type: 'string' } })],
    ['an object of which nothing is known', inside({ type: 'object' })],
    ['anything', inside({})],
    ['a list of anything', inside({ type: 'array' })],
    ['a tuple', inside({ type: 'array', prefixItems: [{ type: 'string' }] })],
    ['a reference to elsewhere', inside({ $ref: 'https://example.com/schema.json' })],
    ['a reference to nothing', { ...inside({ $ref: '#/$defs/toString' }), $defs: {} }],
    ['itself', inside({ $ref: '#' })],
    [
      'what refers to itself',
      {
        ...inside({ $ref: '#/$defs/tree' }),
        $defs: {
          tree: {
            type: 'object',
            properties: { kids: { type: 'array', items: { $ref: '#/$defs/tree' } } },
          },
        },
      },
    ],
  ])('%s', (_, schema) => {
    expect(toStrictSchema(schema)).toBe(undefined);
  });
});

test('an object without any keys can be said', () => {
  const schema: JsonSchema = { type: 'object', additionalProperties: false };
  expect(toStrictSchema(schema)).toEqual({ type: 'object', properties: {}, additionalProperties: false });
});

test('a schema that is nothing but a reference keeps its definitions', () => {
  const $defs = { place: { type: 'object', properties: {}, additionalProperties: false } };
  const schema: JsonSchema = { $ref: '#/$defs/place', $defs };
  expect(toStrictSchema(schema)).toEqual(schema);
});

test('definitions that share others are not looked at again for every use', () => {
  const depth = 40;
  let reads = 0;
  const definition = (n: number): JsonSchema => {
    const next = { $ref: `#/$defs/d${n + 1}` };
    const properties = n === depth ? { end: { type: 'string' } } : { a: next, b: next };
    return {
      type: 'object',
      get properties() {
        if (++reads > 1000) throw new Error('It takes too long.');
        return properties;
      },
    };
  };
  const $defs = Object.fromEntries(Array.from({ length: depth + 1 }, (_, n) => [`d${n}`, definition(n)]));
  expect(toStrictSchema({ $ref: '#/$defs/d0', $defs })).toMatchObject({ $ref: '#/$defs/d0' });
  expect(reads).toBe(2 * (depth + 1)); // in the order of definition and of first use
});
