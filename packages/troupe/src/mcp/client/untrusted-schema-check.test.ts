import fc from 'fast-check';
import { expect, test } from 'vitest';

import type { JsonObject } from '../../util/json.ts';
import { validateWith, type JsonSchema } from '../../util/schema.ts';
import { UntrustedSchemaCheck } from './untrusted-schema-check.ts';

const problems = (schema: JsonSchema, value: unknown): readonly string[] =>
  new UntrustedSchemaCheck(schema).problemsOf(value).map(({ path }) => path.join('.'));

test('types, names and numbers are checked', () => {
  const schema = {
    type: 'object',
    properties: {
      a: { type: 'number', minimum: 3 },
      pattern: { type: 'string', maxLength: 2 }, // a property named like a keyword
      b: { oneOf: [{ type: 'string' }, { type: 'null' }] },
      c: { $ref: '#/$defs/c' },
      d: { type: 'array', items: { enum: ['x', 'y'] } },
    },
    required: ['a', 'e'],
    additionalProperties: false,
    $defs: { c: { const: 1 } },
  };
  expect(problems(schema, { a: 3, pattern: 'ab', b: null, c: 1, d: ['x'], e: 0 })).toEqual(['e']); // and so not allowed
  expect(problems(schema, { a: 2, pattern: 'abc', c: 2, d: ['x', 'z'] })).toEqual([
    '',
    'a',
    'pattern',
    'c',
    'd.1',
  ]);
});

const DOUBLING: JsonObject = {
  type: 'object',
  properties: { a: { $ref: '#/$defs/d0' } },
  $defs: Object.fromEntries([
    ...Array.from({ length: 60 }, (_, i) => [
      `d${i}`,
      { allOf: [1, 2].map(() => ({ $ref: `#/$defs/d${i + 1}` })) },
    ]),
    ['d60', { minLength: 1 }],
  ]) as JsonObject,
};

// Each of these would take years, or never end.
test.each<[string, JsonSchema, unknown]>([
  ['a slow pattern', { properties: { a: { pattern: '^(a+)+$' } } }, { a: `${'a'.repeat(100)}!` }],
  ['slow names', { patternProperties: { '^(a+)+$': {} } }, { [`${'a'.repeat(100)}!`]: 1 }],
  ['a slow format', { properties: { a: { format: 'url' } } }, { a: `http://${'a'.repeat(100)}!` }],
  [
    'items that are compared',
    { properties: { a: { uniqueItems: true } } },
    { a: Array.from(Array(200_000).keys()) },
  ],
  ['twice as many steps with each reference', DOUBLING, { a: 'x' }],
  ['the same with a long text', DOUBLING, { a: 'x'.repeat(5_000_000) }],
  ['a circle', { properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: { $ref: '#/$defs/a' } } }, { a: 1 }],
  [
    'long lists',
    { properties: { a: { items: { required: Array.from(Array(50_000).keys(), String) } } } },
    { a: Array(20_000).fill({}) },
  ],
])('%s can not be used to hold up the program', (_, schema, value) => {
  expect(problems(schema, value)).toEqual([]);
});

test.each<[string, JsonSchema]>([
  ['refers to nothing', { properties: { a: { $ref: '#/nowhere' } } }],
  ['refers to somewhere else', { properties: { a: { $ref: 'http://127.0.0.1:9/x' } } }],
  ['is nonsense', { properties: { a: { type: 5, items: 'x', anyOf: 7, required: 'no' } } }],
  ['is nested too deeply', { properties: { a: deep() } }],
])('a schema that %s is for the server to judge', (_, schema) => {
  expect(problems(schema, { a: 1 })).toEqual([]);
});

function deep(): JsonObject {
  let schema: JsonObject = {};
  for (let i = 0; i < 20_000; i++) schema = { items: schema };
  return schema;
}

const value = fc.jsonValue({ maxDepth: 2 });

/** Schemas with all supported keywords. */
function schemas(depth: number): fc.Arbitrary<JsonObject> {
  const plain = {
    type: fc.constantFrom('object', 'array', 'string', 'number', 'boolean', 'null'),
    pattern: fc.constantFrom('a', '^b'),
    minLength: fc.nat(2),
    maximum: fc.nat(5),
    uniqueItems: fc.boolean(),
    enum: fc.array(value, { minLength: 1, maxLength: 2 }),
  };
  const inner = depth === 0 ? undefined : fc.oneof(schemas(depth - 1), fc.boolean());
  const list = inner && fc.array(inner, { minLength: 1, maxLength: 2 });
  const map = inner && fc.dictionary(fc.constantFrom('a', 'b', ''), inner, { maxKeys: 2 });
  const ofOne = ['items', 'contains', 'not', 'if', 'then', 'additionalProperties'].map((key) => [key, inner]);
  const ofList = ['prefixItems', 'oneOf', 'allOf', 'anyOf'].map((key) => [key, list]);
  const ofMap = ['properties', 'patternProperties'].map((key) => [key, map]);
  const nested = inner === undefined ? {} : Object.fromEntries([...ofOne, ...ofList, ...ofMap]);
  const keys: Record<string, fc.Arbitrary<unknown>> = { ...plain, ...nested };
  const pair = fc
    .constantFrom(...Object.entries(keys))
    .chain(([key, one]) => one.map((it) => [key, it] as const));
  return fc
    .array(pair, { minLength: 1, maxLength: 3 })
    .map((pairs) => Object.fromEntries(pairs) as JsonObject);
}

test('nothing is refused that the whole schema takes', async () => {
  let refused = 0;
  let taken = 0;
  await fc.assert(
    fc.asyncProperty(schemas(2), value, async (schema, json) => {
      const { ok } = await validateWith(schema, json);
      const found = problems(schema, json).length;
      if (ok) taken++;
      if (found > 0) refused++;
      expect(ok && found > 0).toBe(false);
    }),
    { numRuns: 2000, seed: 7 },
  );
  expect(Math.min(refused, taken)).toBeGreaterThan(200);
});
