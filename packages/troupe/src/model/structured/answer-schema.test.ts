import { expect, test } from 'vitest';
import { z } from 'zod';

import { validateWith, type JsonSchema } from '../../util/schema.ts';
import { AnswerSchema } from './answer-schema.ts';

test('an object is shown as it is', () => {
  const schema: JsonSchema = { type: 'object', properties: {} };
  expect(new AnswerSchema(schema).jsonSchema).toBe(schema);
});

test('anything else is shown as the property `value`', () => {
  const schema = { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'string', minLength: 1 };
  expect(new AnswerSchema(schema).jsonSchema).toEqual({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: { value: { type: 'string', minLength: 1 } },
    required: ['value'],
    additionalProperties: false,
  });
});

test('references still resolve', async () => {
  const schema: JsonSchema = {
    anyOf: [{ $ref: '#/$defs/name' }, { $ref: '#/definitions/old' }, { type: 'array', items: { $ref: '#' } }],
    not: { $ref: '#/anyOf/2/maxItems' },
    maxItems: 3,
    $defs: { name: { type: 'string' }, all: { $ref: '#' }, other: { $ref: 'https://example.com/x#/a' } },
    definitions: { old: { type: 'boolean' } },
  };
  const { jsonSchema } = new AnswerSchema(schema);
  expect(jsonSchema).toEqual({
    type: 'object',
    properties: {
      value: {
        anyOf: [
          { $ref: '#/$defs/name' },
          { $ref: '#/definitions/old' },
          { type: 'array', items: { $ref: '#/properties/value' } },
        ],
        not: { $ref: '#/properties/value/anyOf/2/maxItems' },
        maxItems: 3,
      },
    },
    required: ['value'],
    additionalProperties: false,
    $defs: {
      name: { type: 'string' },
      all: { $ref: '#/properties/value' },
      other: { $ref: 'https://example.com/x#/a' },
    },
    definitions: { old: { type: 'boolean' } },
  });
});

test('a recursive schema accepts the same values when wrapped', async () => {
  interface Tree {
    readonly [key: string]: Tree;
  }
  const Tree: z.ZodType<Tree> = z.lazy(() => z.record(z.string(), Tree));
  const Trees = z.array(Tree);
  const { jsonSchema } = new AnswerSchema(Trees);
  const good = [{ a: { b: {} } }];
  expect(await validateWith(jsonSchema, { value: good })).toEqual({ ok: true, value: { value: good } });
  expect(await validateWith(jsonSchema, { value: [{ a: { b: 1 } }] })).toMatchObject({ ok: false });
});

test('`value` has to be a property of its own', async () => {
  const answerSchema = new AnswerSchema({});
  expect(await answerSchema.check({})).toEqual({
    ok: false,
    problems: [{ path: 'value', message: 'This is missing.' }],
  });
  expect(await answerSchema.check({ value: null, more: 1 })).toEqual({ ok: true, value: null });
});
