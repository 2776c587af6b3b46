import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { anyJsonObject, canonical } from '../../../test/arbitraries.ts';
import { parseJson, type JsonObject, type JsonValue } from '../../util/json.ts';
import { validateWith, type JsonSchema } from '../../util/schema.ts';
import { coerceInput } from './coerce-input.ts';

/** Coerced value of the property `a`. */
function coerced(schema: JsonValue, value: JsonValue, more: JsonObject = {}): JsonValue | undefined {
  return coerceInput({ type: 'object', properties: { a: schema }, ...more }, { a: value })['a'];
}

describe('text where the schema takes none', () => {
  test.each([
    ['number', '1.5', 1.5],
    ['number', ' -3e2 ', -300],
    ['integer', '42', 42],
    ['integer', '42.0', 42],
    ['boolean', 'true', true],
    ['boolean', 'False', false],
    ['null', 'null', null],
    ['object', '{"b": [1]}', { b: [1] }],
    ['array', ' ["x"] ', ['x']],
  ])('%s: %j is %j', (type, text, value) => {
    expect(coerced({ type }, text)).toEqual(value);
  });

  test.each([
    ['number', ''],
    ['number', '0x10'],
    ['number', '1_000'],
    ['number', '1,5'],
    ['number', 'Infinity'],
    ['number', '1e999'],
    ['number', '007'],
    ['integer', '12345678901234567890'],
    ['boolean', 'yes'],
    ['boolean', '1'],
    ['null', ''],
    ['object', '{"b": '],
    ['object', '[1]'],
    ['array', '1, 2'],
    ['number', 'true'],
  ])('%s: %j stays, as it may mean anything', (type, text) => {
    expect(coerced({ type }, text)).toBe(text);
  });

  test('stays where a string is allowed, or everything', () => {
    for (const schema of [
      { type: 'string' },
      { type: ['string', 'number'] },
      { anyOf: [{ type: 'number' }, { type: 'string' }] },
      { anyOf: [{ type: 'number' }, {}] },
      { enum: ['1', 2] },
      {},
      true,
    ]) {
      expect(coerced(schema, '1')).toBe('1');
    }
  });

  test('other values stay', () => {
    expect(coerced({ type: 'string' }, 5)).toBe(5);
    expect(coerced({ type: 'number' }, true)).toBe(true);
    expect(coerced({ type: 'boolean' }, 1)).toBe(1);
  });

  test('is found through references, alternatives, enums and lists of types', () => {
    const $defs = { n: { $ref: '#/$defs/m' }, m: { type: 'integer' }, 'a/b': { type: 'boolean' } };
    expect(coerced({ $ref: '#/$defs/n' }, '1', { $defs })).toBe(1);
    expect(coerced({ $ref: '#/$defs/a~1b' }, 'true', { $defs })).toBe(true);
    expect(coerced({ anyOf: [{ type: 'number' }, { type: 'null' }] }, '1')).toBe(1);
    expect(coerced({ anyOf: [{ type: 'number' }, { type: 'null' }] }, 'null')).toBe(null);
    expect(coerced({ oneOf: [{ $ref: '#/$defs/n' }, { type: 'boolean' }] }, 'true', { $defs })).toBe(true);
    expect(coerced({ allOf: [{ $ref: '#/$defs/m' }] }, '1', { $defs })).toBe(1);
    expect(coerced({ type: ['integer', 'null'] }, '1')).toBe(1);
    expect(coerced({ enum: [1, 2] }, '1')).toBe(1);
    expect(coerced({ const: true }, 'true')).toBe(true);
  });

  test('is found at any depth', () => {
    const schema = {
      type: 'object',
      properties: {
        rows: { type: 'array', items: { type: 'object', properties: { n: { type: 'integer' } } } },
        pair: { type: 'array', prefixItems: [{ type: 'boolean' }], items: { type: 'number' } },
        map: { type: 'object', additionalProperties: { type: 'number' } },
        either: { anyOf: [{ type: 'object', properties: { n: { type: 'number' } } }, { type: 'null' }] },
      },
    };
    const input = {
      rows: '[{"n": "1"}, {"n": 2}]',
      pair: ['true', '2', 'x'],
      map: { a: '1', b: 'x' },
      either: { n: '3' },
      other: '1',
    };
    expect(coerceInput(schema, input)).toEqual({
      rows: [{ n: 1 }, { n: 2 }],
      pair: [true, 2, 'x'],
      map: { a: 1, b: 'x' },
      either: { n: 3 },
      other: '1',
    });
  });

  test('stays inside of alternatives that can not be told apart', () => {
    const variant = (type: string): JsonObject => ({ type: 'object', properties: { n: { type } } });
    expect(coerced({ anyOf: [variant('number'), variant('string')] }, { n: '1' })).toEqual({ n: '1' });
  });
});

describe('null for an argument that may be missing', () => {
  const of = (a: JsonObject, required: string[] = []): JsonObject =>
    coerceInput({ type: 'object', properties: { a }, required }, { a: null, b: null });

  test('is left out where null is not allowed', () => {
    expect(of({ type: 'string' })).toEqual({ b: null });
    expect(of({ anyOf: [{ type: 'string' }, { type: 'number' }] })).toEqual({ b: null });
  });

  test('stays where it is allowed, required, or not known', () => {
    const kept = { a: null, b: null };
    expect(of({ type: ['string', 'null'] })).toEqual(kept);
    expect(of({ anyOf: [{ type: 'string' }, { type: 'null' }] })).toEqual(kept);
    expect(of({ enum: ['x', null] })).toEqual(kept);
    expect(of({})).toEqual(kept);
    expect(of({ type: 'string' }, ['a'])).toEqual(kept);
    const map = { type: 'object', additionalProperties: { type: 'number' } };
    expect(coerceInput(map, { a: null })).toEqual({ a: null });
  });
});

test('schemas without end or sense do no harm', () => {
  const wide: JsonObject = { anyOf: Array.from({ length: 100 }, () => ({ $ref: '#/$defs/wide' })) };
  const $defs = { self: { $ref: '#/$defs/self' }, wide, broken: 'x', deep: { $ref: '#' } };
  for (const name of ['self', 'wide', 'broken', 'none', 'deep', 'toString']) {
    expect(coerced({ $ref: `#/$defs/${name}` }, '1', { $defs })).toBe('1');
  }
  expect(coerced({ $ref: 'https://a.example/schema' }, '1')).toBe('1');
  expect(coerced({ type: 'number', anyOf: 7, enum: 'x', required: 'a' }, '1')).toBe(1);
  expect(coerceInput({ properties: 'x', required: 1 }, { a: '1' })).toEqual({ a: '1' });
  expect(coerceInput({ type: [] }, { a: '1' })).toEqual({ a: '1' });
});

test('keys such as __proto__ are ordinary keys', () => {
  const schema = parseJson('{"type":"object","properties":{"__proto__":{"type":"number"}}}') as JsonSchema;
  const fitted = coerceInput(schema, parseJson('{"__proto__":"1","toString":"2"}') as JsonObject);
  expect(Object.entries(fitted)).toEqual([
    ['__proto__', 1],
    ['toString', '2'],
  ]);
});

const anySchema: fc.Arbitrary<JsonSchema> = fc.letrec<{ schema: JsonSchema }>((tie) => ({
  schema: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom('string', 'number', 'integer', 'boolean', 'null').map((type) => ({ type })),
    fc
      .array(fc.constantFrom('string', 'number', 'null'), { minLength: 1, maxLength: 2 })
      .map((type) => ({ type })),
    fc.array(tie('schema'), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
    tie('schema').map((items) => ({ type: 'array', items })),
    fc
      .dictionary(fc.constantFrom('a', 'b', 'c'), tie('schema'))
      .map((properties) => ({ type: 'object', properties })),
  ),
})).schema;

const loose: fc.Arbitrary<JsonValue> = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom<JsonValue>('1', 'true', 'null', '{"a":"1"}', '[true]', 'x', 1, false, null),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('value')),
  ),
})).value;

describe('for all schemas and inputs', () => {
  const inputs = fc.dictionary(fc.constantFrom('a', 'b', 'c'), loose);
  const schemas = fc
    .dictionary(fc.constantFrom('a', 'b', 'c'), anySchema)
    .map((properties): JsonSchema => ({ type: 'object', properties }));

  test('never changes its input, and returns the same object if nothing needs coercion', () => {
    fc.assert(
      fc.property(fc.oneof(schemas, anyJsonObject), fc.oneof(inputs, anyJsonObject), (schema, input) => {
        const before = canonical(input);
        const fitted = coerceInput(schema, input);
        expect(canonical(input)).toBe(before);
        expect(fitted === input).toBe(canonical(fitted) === before);
        expect(canonical(coerceInput(schema, fitted))).toBe(canonical(fitted));
      }),
      { numRuns: 500 },
    );
  });

  test('valid input stays valid, and much invalid input becomes valid', async () => {
    let helped = 0;
    await fc.assert(
      fc.asyncProperty(anySchema, loose, async (a, value) => {
        const schema: JsonSchema = { type: 'object', properties: { a } };
        const input = { a: value };
        const before = await validateWith(schema, input);
        const after = await validateWith(schema, coerceInput(schema, input));
        if (before.ok) expect(after.ok).toBe(true);
        if (!before.ok && after.ok) helped++;
      }),
      { numRuns: 500 },
    );
    expect(helped).toBeGreaterThan(10);
  });
});
