import { describe, expect, test } from 'vitest';

import type { JsonObject } from '../../util/json.ts';
import { toResponseSchema } from './response-schema.ts';

const withField = (field: JsonObject): JsonObject => ({ type: 'object', properties: { a: field } });

test('a schema of a client is taken without keywords whose check may take forever', () => {
  const kept = {
    type: 'object',
    title: 'Trip',
    properties: {
      city: { type: ['string', 'null'], minLength: 1, enum: ['Rome', null] },
      legs: { type: 'array', maxItems: 3, items: { anyOf: [{ type: 'number', multipleOf: 0.5 }, true] } },
      pair: { prefixItems: [{ const: 1 }], items: [{ default: {} }] },
    },
    required: ['city'],
    additionalProperties: false,
  };
  const given = {
    ...kept,
    $schema: 'x',
    $ref: '#',
    $defs: {},
    not: {},
    if: {},
    pattern: '(a+)+$',
    uniqueItems: true,
  };
  expect(toResponseSchema(given)).toEqual(kept);
});

describe('a schema that no answer could be checked by is not taken', () => {
  test.each<[string, JsonObject]>([
    ['another type', { type: 'array' }],
    ['required that is a number', { type: 'object', required: 5 }],
    ['properties that are a list', { type: 'object', properties: [] }],
    ['a property that is a number', { type: 'object', properties: { a: 5 } }],
    ['an unknown type', withField({ type: 'text' })],
    ['a type that is a number', withField({ type: 5 })],
    ['an enum that is a text', withField({ enum: 'a' })],
    ['a negative length', withField({ minLength: -1 })],
    ['a minimum that is a text', withField({ minimum: '1' })],
    ['multiples of nothing', withField({ multipleOf: 0 })],
    ['a title that is an object', withField({ title: {} })],
    ['no alternatives', withField({ anyOf: [] })],
    ['alternatives that are texts', withField({ oneOf: ['a'] })],
    ['items that are a text', withField({ items: 'a' })],
  ])('%s', (_, schema) => {
    expect(toResponseSchema(schema)).toBeUndefined();
  });
});
