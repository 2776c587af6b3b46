import { expect, test } from 'vitest';
import { mergeGeneration } from './generation.ts';

test('the options of a call win over those of the model, extras one by one', () => {
  const own = { maxTokens: 5, temperature: 1, extra: { a: 1, b: 1 } };
  expect(mergeGeneration(own, { temperature: 0, extra: { b: 2 } })).toEqual({
    maxTokens: 5,
    temperature: 0,
    extra: { a: 1, b: 2 },
  });
  expect(mergeGeneration(undefined, undefined)).toEqual({ extra: {} });
});

test("undefined options of a request keep the model's options", () => {
  expect(mergeGeneration({ maxTokens: 5 }, { maxTokens: undefined, temperature: 0 })).toEqual({
    maxTokens: 5,
    temperature: 0,
    extra: {},
  });
});
