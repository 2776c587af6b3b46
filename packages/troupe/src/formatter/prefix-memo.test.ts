import { describe, expect, test } from 'vitest';
import { PrefixMemo } from './prefix-memo.ts';

const items = Array.from({ length: 100 }, (_, n) => ({ n }));
const first = (count: number): { n: number }[] => items.slice(0, count);

describe('a memo of beginnings', () => {
  test('knows nothing at first, and nothing of an empty list', () => {
    const memo = new PrefixMemo<object, string>();
    memo.put([], 'nothing');
    expect(memo.take([])).toBe(undefined);
    expect(memo.take(items)).toBe(undefined);
  });

  test('gives the work on the longest known beginning, once', () => {
    const memo = new PrefixMemo<object, string>();
    memo.put(first(50), 'of 50');
    memo.put(first(60), 'of 60');
    expect(memo.take(first(62))).toEqual({ work: 'of 60', length: 60 });
    expect(memo.take(first(62))).toEqual({ work: 'of 50', length: 50 });
    expect(memo.take(first(62))).toBe(undefined);
  });

  test('gives the work on the very list itself', () => {
    const memo = new PrefixMemo<object, string>();
    memo.put(first(5), 'of 5');
    expect(memo.take(first(5))).toEqual({ work: 'of 5', length: 5 });
  });

  test('is not taken in by a list with another beginning, or by one that was changed later', () => {
    const memo = new PrefixMemo<object, string>();
    const list = first(5);
    memo.put(list, 'of 5');
    expect(memo.take([{ n: -1 }, ...items.slice(1, 6)])).toBe(undefined);
    expect(memo.take(items.slice(1, 6))).toBe(undefined);
    expect(memo.take(first(4))).toBe(undefined);
    list.push({ n: 7 });
    expect(memo.take(first(8))).toEqual({ work: 'of 5', length: 5 });
  });

  test('does not look back for ever', () => {
    const memo = new PrefixMemo<object, string>();
    memo.put(first(10), 'of 10');
    expect(memo.take(first(100))).toBe(undefined);
    expect(memo.take(first(70))).toEqual({ work: 'of 10', length: 10 });
  });
});
