import { expect, test } from 'vitest';

import { validateWith, type JsonSchema } from '../util/schema.ts';
import { fieldProblems } from './field-problems.ts';

test('a missing field, at any depth, is a problem of that field', async () => {
  const schema: JsonSchema = {
    type: 'object',
    required: ['day', 'guests'],
    properties: {
      day: { enum: ['Friday'] },
      guests: {
        type: 'array',
        items: { type: 'object', required: ['the "name"'], properties: { age: { type: 'integer' } } },
      },
    },
  };
  const checked = await validateWith(schema, { guests: [{ 'the "name"': 'Ann', age: 'x' }, {}] });
  expect(checked.ok ? [] : fieldProblems(checked.problems)).toEqual([
    { path: ['day'], message: 'A value is missing.' },
    { path: ['guests', 0, 'age'], message: 'Instance type "string" is invalid. Expected "integer".' },
    { path: ['guests', 1, 'the "name"'], message: 'A value is missing.' },
  ]);
});
