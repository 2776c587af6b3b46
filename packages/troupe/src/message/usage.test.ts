import { expect, test } from 'vitest';
import { addUsage, toUsage, withCost } from './usage.ts';

test('usages add up; a field missing in both stays missing', () => {
  const a = { inputTokens: 1, outputTokens: 2, seconds: 1.5 };
  const b = { inputTokens: 10, outputTokens: 20, cachedTokens: 4, cost: 0.1 };
  expect(addUsage(a, b)).toEqual({
    inputTokens: 11,
    outputTokens: 22,
    cachedTokens: 4,
    seconds: 1.5,
    cost: 0.1,
  });
  expect(addUsage(a, undefined)).toBe(a);
  expect(addUsage(undefined, b)).toBe(b);
  expect(addUsage(undefined, undefined)).toBe(undefined);
});

test('cost depends on the kind of token', () => {
  const usage = {
    inputTokens: 1_000_000,
    outputTokens: 100_000,
    cachedTokens: 300_000,
    cacheWriteTokens: 200_000,
  };
  expect(withCost(usage, { input: 3, output: 15, cachedInput: 0.3, cacheWrite: 3.75 }).cost).toBeCloseTo(
    1.5 + 0.09 + 0.75 + 1.5,
  );
  expect(withCost(usage, { input: 3, output: 15 }).cost).toBeCloseTo(3 + 1.5);
  expect(withCost(usage, undefined)).toBe(usage);
});

test('a usage without its numbers is refused', () => {
  expect(() => toUsage({ inputTokens: 1 })).toThrow('usage.outputTokens must be a number, not undefined.');
  expect(() => toUsage({ inputTokens: 1, outputTokens: 1, cost: '1' })).toThrow(
    'usage.cost must be a number, not a string.',
  );
});
