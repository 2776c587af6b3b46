import fc from 'fast-check';
import { expect, test } from 'vitest';

import type { JsonObject } from '../util/json.ts';
import { validateWith } from '../util/schema.ts';
import { isUserQuestion, QUESTION_LIMITS, toUserQuestion } from './user-question.ts';

/** Values that look like parts of a schema, so that random questions are often nearly right. */
const scrap = fc.oneof(
  { depthSize: 'small' },
  fc.constantFrom(
    'string',
    'number',
    'integer',
    'boolean',
    'array',
    'object',
    'email',
    '',
    'a',
    'b',
    '__proto__',
  ),
  fc.jsonValue({ maxDepth: 2 }),
);
const text = fc.oneof({ weight: 9, arbitrary: fc.constantFrom('a', 'b', 'Which?') }, scrap);
const texts = fc.array(text, { maxLength: 3 });
const type = fc.constantFrom('string', 'number', 'integer', 'boolean', 'array', undefined, 'object');
const titled = fc.array(fc.record({ const: text, title: text }, { requiredKeys: ['const'] }), {
  maxLength: 2,
});
const field = fc.record(
  {
    type,
    enum: texts,
    enumNames: texts,
    oneOf: titled,
    items: fc.oneof(fc.record({ enum: texts }), scrap),
    default: scrap,
    title: text,
    minLength: fc.oneof(fc.nat(5), scrap),
    pattern: fc.constant('(a+)+$'),
    format: text,
  },
  { requiredKeys: [] },
);
const schema = fc.record(
  {
    type: fc.constantFrom('object', 'object', undefined, 'array'),
    properties: fc.dictionary(fc.constantFrom('a', 'b', '__proto__', 'constructor'), field, {
      minKeys: 1,
      maxKeys: 2,
    }),
    required: texts,
  },
  { requiredKeys: ['properties'] },
);
const question = fc.oneof(
  fc.record({ message: text }),
  fc.record({ message: text, choices: texts, multiple: fc.oneof(fc.boolean(), scrap) }),
  fc.record({ message: text, schema }),
  fc.record({ message: text, url: fc.oneof(fc.webUrl(), scrap) }),
  fc.record({ message: text, schema, choices: texts }),
);

test('anything is a question or a TypeError, and a question read again is the same, with a schema that works', async () => {
  let accepted = 0;
  await fc.assert(
    fc.asyncProperty(question, async (value) => {
      let read;
      try {
        read = toUserQuestion(value, QUESTION_LIMITS);
      } catch (error) {
        expect(error).toBeInstanceOf(TypeError);
        return;
      }
      accepted++;
      expect(isUserQuestion(read)).toBe(true);
      expect(toUserQuestion(read)).toEqual(read);
      expect(Object.isFrozen(read)).toBe(true);
      if (read.schema !== undefined) await validateWith(read.schema, {}); // does not throw
    }),
    { numRuns: 1_000 },
  );
  expect(accepted).toBeGreaterThan(100);
});

test('a schema keeps what a form uses, and nothing else', () => {
  const kept: JsonObject = {
    type: 'object',
    title: 'Trip',
    properties: {
      city: { type: 'string', title: 'City', description: 'Where to', minLength: 2, maxLength: 80 },
      mail: { type: 'string', format: 'email' },
      seat: { type: 'string', oneOf: [{ const: 'a', title: 'aisle' }, { const: 'w' }], default: 'w' },
      size: { type: 'string', enum: ['s', 'm'], enumNames: ['small', 'medium'] },
      extras: {
        type: 'array',
        minItems: 1,
        items: { type: 'string', anyOf: [{ const: 'x', title: 'X' }] },
        default: [],
      },
      price: { type: 'number', minimum: 0, maximum: 9.5, default: 1 },
      isSure: { type: 'boolean', default: true },
    },
    required: ['city'],
  };
  const { properties } = kept as { properties: Record<string, JsonObject> };
  const given = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    ...kept,
    additionalProperties: false,
    patternProperties: { '(a+)+$': {} },
    properties: {
      ...properties,
      city: { ...properties['city'], pattern: '(a+)+$', format: 'regex', $ref: '#' },
    },
  };
  expect(toUserQuestion({ message: 'Where?', schema: given }).schema).toEqual(kept);
});
