import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyJsonObject, objectOf } from '../../../../test/arbitraries.ts';
import type { JsonObject, JsonValue } from '../../../util/json.ts';
import { inlineRefs } from './inline-refs.ts';

const inline = (schema: JsonObject): JsonObject => {
  const { schema: inlined, warnings } = inlineRefs(schema, 'it');
  expect(warnings).toEqual([]);
  return inlined;
};
const PLACE = { type: 'object', properties: { city: { type: 'string' } } };

describe('references', () => {
  test('become what they stand for, wherever a schema may be', () => {
    const $ref = '#/$defs/Place';
    const inlined = inline({
      type: 'object',
      $defs: { Place: PLACE },
      properties: { home: { $ref }, all: { type: 'array', items: { $ref } } },
      patternProperties: { '^x': { $ref } },
      additionalProperties: { $ref },
      anyOf: [{ $ref }, { not: { $ref } }, { if: { $ref }, else: { prefixItems: [{ $ref }] } }],
      items: [{ $ref }, true],
    });
    expect(inlined).toEqual({
      type: 'object',
      properties: { home: PLACE, all: { type: 'array', items: PLACE } },
      patternProperties: { '^x': PLACE },
      additionalProperties: PLACE,
      anyOf: [PLACE, { not: PLACE }, { if: PLACE, else: { prefixItems: [PLACE] } }],
      items: [PLACE, true],
    });
  });

  test('are followed through others, into any place, and with the escapes of pointers', () => {
    const inlined = inline({
      $ref: '#/definitions/Start',
      definitions: {
        Start: { type: 'object', properties: { a: { $ref: '#/definitions/A~1B~0C~01' } } },
        'A/B~C~1': { $ref: '#/definitions/List/anyOf/1' },
        List: { anyOf: [{}, { $ref: '#/definitions/%E4%B8%96%20%7B%7D' }] },
        '世 {}': { type: 'integer' },
      },
    });
    expect(inlined).toEqual({ type: 'object', properties: { a: { type: 'integer' } } });
  });

  test('keep what stands beside them, which wins', () => {
    const $defs = { Place: { ...PLACE, description: 'A place' }, Any: true };
    expect(inline({ $defs, $ref: '#/$defs/Place', description: 'Home' })).toEqual({
      ...PLACE,
      description: 'Home',
    });
    expect(inline({ $defs, properties: { a: { $ref: '#/$defs/Any' } } })).toEqual({
      properties: { a: true },
    });
  });

  test.each<[string, JsonObject, JsonObject, string]>([
    [
      'to the schema itself',
      { type: 'object', properties: { child: { $ref: '#' } } },
      { type: 'object', properties: { child: { type: 'object', description: '(circular: #)' } } },
      "it contains '#' recursively",
    ],
    [
      'to one that they are part of',
      { $ref: '#/$defs/Node', $defs: { Node: { properties: { next: { $ref: '#/$defs/Node' } } } } },
      { properties: { next: { type: 'object', description: '(circular: Node)' } } },
      "it contains 'Node' recursively",
    ],
    [
      'to each other',
      {
        $ref: '#/$defs/A',
        $defs: { A: { items: { $ref: '#/$defs/B' } }, B: { not: { $ref: '#/$defs/A' } } },
      },
      { items: { not: { type: 'object', description: '(circular: A)' } } },
      "it contains 'A' recursively",
    ],
    [
      'to nothing but each other',
      { $ref: '#/$defs/A', $defs: { A: { $ref: '#/$defs/B' }, B: { $ref: '#/$defs/A' } } },
      { type: 'object', description: '(circular: A)' },
      "it contains 'A' recursively",
    ],
  ])('%s end in any object, and in a warning', (_, schema, inlined, warning) => {
    expect(inlineRefs(schema, 'it')).toEqual({ schema: inlined, warnings: [warning] });
  });

  test('used twice side by side are no circle', () => {
    const properties = { from: { $ref: '#/$defs/Place' }, to: { $ref: '#/$defs/Place' } };
    expect(inline({ properties, $defs: { Place: PLACE } })).toEqual({
      properties: { from: PLACE, to: PLACE },
    });
  });

  test.each([
    'https://example.com/schema.json',
    'other.json#/a',
    '#anchor',
    '#/$defs/Missing',
    '#/$defs/Place/type',
    '#/constructor',
    '#/$defs/__proto__',
    '#/%E0%A4%A',
    '',
  ])('to %j, which is not there, become anything, and a warning', ($ref) => {
    const schema = { properties: { a: { $ref, title: 'A' } }, $defs: { Place: PLACE } };
    expect(inlineRefs(schema, 'it')).toEqual({
      schema: { properties: { a: { title: 'A' } } },
      warnings: [`it refers to '${$ref}', which it does not contain`],
    });
  });
});

describe('everything else', () => {
  test('is as it was, but for what Gemini does not know', () => {
    const schema = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      $id: 'x',
      $comment: 'y',
      type: ['object', 'null'],
      required: ['kind'],
      properties: { kind: { const: 'a' }, size: { type: 'number', exclusiveMinimum: 0 } },
      additionalProperties: false,
    };
    const before = structuredClone(schema);
    expect(inline(schema)).toEqual({
      type: ['object', 'null'],
      required: ['kind'],
      properties: { kind: { enum: ['a'] }, size: { type: 'number', exclusiveMinimum: 0 } },
      additionalProperties: false,
    });
    expect(schema).toEqual(before);
  });

  test('is data where it is no schema, even if it looks like a reference', () => {
    const data = { $ref: '#/$defs/Nowhere', $schema: 'x', const: 1 };
    const schema = { type: 'object', default: data, enum: [data], examples: [[data]] };
    expect(inline(schema)).toEqual(schema);
  });

  test('may be a property with the name of a keyword', () => {
    const properties = {
      $ref: { type: 'string' },
      $defs: { type: 'string' },
      definitions: { type: 'string' },
      properties: { type: 'object', properties: { items: { type: 'string' } } },
      const: { type: 'string' },
    };
    expect(inline({ properties })).toEqual({ properties });
  });

  test('is inert if it is named __proto__', () => {
    const hostile = objectOf<JsonValue>([['__proto__', { type: 'string' }]]);
    const target = objectOf<JsonValue>([
      ['type', 'object'],
      ['__proto__', { polluted: true }],
    ]);
    const schema = { properties: hostile, items: { $ref: '#/$defs/T', title: 'x' }, $defs: { T: target } };
    const { properties, items } = inline(schema) as { properties: object; items: object };
    expect(Object.keys(properties)).toEqual(['__proto__']);
    expect(Object.getPrototypeOf(properties)).toBe(Object.prototype);
    expect(Object.keys(items)).toEqual(['type', '__proto__', 'title']);
    expect(Object.getPrototypeOf(items)).toBe(Object.prototype);
  });
});

describe('a schema that is too much', () => {
  /** Each definition contains the next one twice. */
  const bomb = (levels: number, leaf: JsonObject): JsonObject => {
    const $defs: Record<string, JsonValue> = { [`D${levels}`]: leaf };
    for (let i = 0; i < levels; i++) {
      const $ref = `#/$defs/D${i + 1}`;
      $defs[`D${i}`] = { properties: { a: { $ref }, b: { $ref } } };
    }
    return { $ref: '#/$defs/D0', $defs };
  };

  test.each([
    ['doubles at every step', bomb(40, { type: 'string' })],
    ['repeats what is long', bomb(8, { enum: ['x'.repeat(10_000)] })],
  ])('%s is refused, and soon', (_, schema) => {
    expect(() => inlineRefs(schema, "the schema of 'f'")).toThrow(
      "With inlined references, the schema of 'f' is larger than 1000000 characters. Use a smaller schema.",
    );
  });

  test('is refused if it is nested too deeply', () => {
    let deep: JsonObject = {};
    for (let i = 0; i < 20_000; i++) deep = { items: deep };
    expect(() => inlineRefs(deep, 'it')).toThrow('it is nested deeper than 100 levels');
  });

  test('is not what is merely large', () => {
    const properties = Object.fromEntries(
      Array.from({ length: 5_000 }, (_, i) => [`p${i}`, { $ref: '#/$defs/P' }]),
    );
    const { schema } = inlineRefs({ properties, $defs: { P: { type: 'string', title: 'P' } } }, 'it');
    expect(Object.keys(schema['properties'] as JsonObject)).toHaveLength(5_000);
    expect((schema['properties'] as JsonObject)['p4999']).toEqual({ type: 'string', title: 'P' });
  });
});

test('no reference is left where a schema may be, for any schema', () => {
  const $ref = fc.constantFrom(
    '#',
    '#/$defs/a',
    '#/$defs/b',
    '#/properties/a',
    'https://x.test',
    '#/$defs/a/items',
  );
  const named = (schemas: fc.Arbitrary<JsonObject>): fc.Arbitrary<JsonObject> =>
    fc.dictionary(fc.constantFrom('a', 'b', '$ref'), schemas, { maxKeys: 2 });
  const leaf = fc.oneof(
    $ref.map((ref) => ({ $ref: ref })),
    anyJsonObject,
  );
  const around = (inner: fc.Arbitrary<JsonObject>): fc.Arbitrary<JsonObject> =>
    fc.oneof(
      leaf,
      fc.record({ items: inner, $ref }, { requiredKeys: ['items'] }),
      fc.record({ anyOf: fc.array(inner, { maxLength: 2 }), $defs: named(inner) }),
      fc.record({ properties: named(inner), $defs: named(inner) }),
    );
  let refs = 0;
  fc.assert(
    fc.property(around(around(around(leaf))), (given) => {
      const before = JSON.stringify(given);
      if (before.includes('"$ref":"#')) refs++;
      expectNoRef(inlineRefs(given, 'it').schema);
      expect(JSON.stringify(given)).toBe(before);
    }),
    { numRuns: 500 },
  );
  expect(refs).toBeGreaterThan(100);
});

function expectNoRef(schema: unknown): void {
  if (typeof schema !== 'object' || schema === null) return;
  const { $ref, $defs, items, anyOf, properties } = schema as Record<string, unknown>;
  expect(typeof $ref).not.toBe('string');
  expect($defs).toBe(undefined);
  for (const nested of [items, anyOf].flat()) expectNoRef(nested);
  if (typeof properties === 'object' && properties !== null) Object.values(properties).forEach(expectNoRef);
}
