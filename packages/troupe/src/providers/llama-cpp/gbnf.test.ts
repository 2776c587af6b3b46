import fc from 'fast-check';
import { expect, test } from 'vitest';

import { admits, readGrammar, sampleOf } from '../../../test/local-llm/gbnf-language.ts';
import { person, schemaExamples } from '../../../test/local-llm/schema-examples.ts';
import { parseJson } from '../../util/json.ts';
import { validateWith, type JsonSchema } from '../../util/schema.ts';
import { choice, Gbnf, literal } from './gbnf.ts';

function grammarOf(schema: JsonSchema) {
  const grammar = new Gbnf();
  return readGrammar(grammar.text(grammar.schema(schema)));
}

test.each(Object.entries(schemaExamples))('%s', (_, { schema, yes, no }) => {
  const grammar = grammarOf(schema);
  expect(yes.filter((text) => !admits(grammar, text))).toEqual([]);
  expect(no.filter((text) => admits(grammar, text))).toEqual([]);
  expect(yes.map((text) => parseJson(text))).toHaveLength(yes.length);
  expect(no.length).toBeGreaterThan(0);
});

/** Schemas whose keywords a grammar can express completely. */
const { schema: anySchema } = fc.letrec<{
  schema: JsonSchema;
  leaf: JsonSchema;
  object: JsonSchema;
  array: JsonSchema;
}>((tie) => ({
  schema: fc.oneof({ maxDepth: 3 }, tie('leaf'), tie('object'), tie('array')),
  leaf: fc.oneof(
    fc.constantFrom<JsonSchema>(
      { type: 'string' },
      { type: 'string', minLength: 1, maxLength: 4 },
      { type: 'string', format: 'uuid' },
      { type: 'number' },
      { type: 'number', minimum: 0 },
      { type: 'integer', exclusiveMinimum: 0 },
      { type: 'integer', minimum: -3, maximum: 3 },
      { type: ['boolean', 'null'] },
      { anyOf: [{ type: 'null' }, { type: 'string', maxLength: 2 }] },
      {},
    ),
    fc
      .array(fc.oneof(fc.string(), fc.integer(), fc.constant(null)), { minLength: 1, maxLength: 3 })
      .map((values) => ({
        enum: values,
      })),
  ),
  object: fc
    .record({
      properties: fc.dictionary(fc.string({ maxLength: 5 }), tie('schema'), { maxKeys: 4 }),
      needs: fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }),
    })
    .map(({ properties, needs }) => ({
      type: 'object',
      properties,
      required: Object.keys(properties).filter((_, i) => needs[i]),
      additionalProperties: false,
    })),
  array: fc
    .record({ items: tie('schema'), minItems: fc.nat(2), more: fc.nat(2) })
    .map(({ items, minItems, more }) => ({ type: 'array', items, minItems, maxItems: minItems + more })),
}));

test('every text of a grammar fits the schema', async () => {
  let checked = 0;
  await fc.assert(
    fc.asyncProperty(anySchema, fc.infiniteStream(fc.nat(1_000_000)), async (schema, numbers) => {
      const grammar = grammarOf(schema);
      const draw = (below: number): number => Number(numbers.next().value) % below;
      for (let i = 0; i < 5; i++) {
        const text = sampleOf(grammar, draw);
        expect(await validateWith(schema, parseJson(text)), text).toMatchObject({ ok: true });
        expect(admits(grammar, text), text).toBe(true);
        checked++;
      }
    }),
    { numRuns: 150 },
  );
  expect(checked).toBe(750);
});

test('equal parts become one rule', () => {
  const grammar = new Gbnf();
  const first = grammar.schema(person);
  const size = grammar.text(first).length;
  expect(grammar.schema(person)).toBe(first);
  expect(grammar.text(first)).toHaveLength(size);
});

test('a definition becomes one rule for all references', () => {
  const node = { type: 'object', properties: { left: { $ref: '#/$defs/n' }, right: { $ref: '#/$defs/n' } } };
  expect(grammarOf({ $ref: '#/$defs/n', $defs: { n: node } }).size).toBe(grammarOf({}).size + 3);
});

test('a schema that grows without end is left open where it is too much', () => {
  const fork = { allOf: [{ $ref: '#' }], title: 'x' };
  const grammar = grammarOf({ anyOf: [fork, { ...fork, title: 'y' }, { const: 'z' }] });
  expect(grammar.size).toBeLessThan(100);
  expect(admits(grammar, '"z"')).toBe(true);
  let deep: JsonSchema = { const: 1 };
  for (let i = 0; i < 5_000; i++) deep = { type: 'array', items: deep, minItems: 1 };
  expect(grammarOf(deep).size).toBeLessThan(200);
});

test('literals and choices', () => {
  expect(literal('a"b\\c')).toBe(String.raw`"a\"b\\c"`);
  expect([choice(['a', 'a']), choice(['a', 'b']), choice([])]).toEqual(['a', '(a | b)', 'value']);
});
