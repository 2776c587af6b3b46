import { describe, expect, test } from 'vitest';
import { PrefixMemo } from './prefix-memo.ts';

const items = Array.from({ length: 100 }, (_, n) => ({ n }));
const first = (count: number): { n: number }[] => items.slice(0, count);

/** A memo that sums up numbers, and tells how many it had to look at. */
function summing(
  canContinue?: (sum: number) => boolean,
): (list: readonly { n: number }[]) => { sum: number; steps: number } {
  const memo = new PrefixMemo<{ n: number }, number>();
  return (list) => {
    let steps = 0;
    const step = (sum: number, { n }: { n: number }): number => {
      steps++;
      return sum + n;
    };
    return { sum: memo.workOn(list, () => 0, step, canContinue), steps };
  };
}

describe('a memo of beginnings', () => {
  test('continues from the known prefix', () => {
    const sum = summing();
    expect(sum([])).toEqual({ sum: 0, steps: 0 });
    expect(sum(first(4))).toEqual({ sum: 6, steps: 4 });
    expect(sum(first(6))).toEqual({ sum: 15, steps: 2 });
    expect(sum(first(6))).toEqual({ sum: 15, steps: 0 });
  });

  test('gives work away once: who branches off begins anew, and both are right', () => {
    const sum = summing();
    sum(first(4));
    expect(sum([...first(4), { n: 100 }])).toEqual({ sum: 106, steps: 1 });
    expect(sum([...first(4), { n: 1000 }])).toEqual({ sum: 1006, steps: 5 });
    expect(sum(first(4))).toEqual({ sum: 6, steps: 4 });
  });

  test('is not taken in by a list with another beginning, or by one that was changed later', () => {
    const sum = summing();
    const list = first(5);
    sum(list);
    list[0] = { n: 50 };
    expect(sum(list)).toEqual({ sum: 60, steps: 5 });
    expect(sum(items.slice(1, 6))).toEqual({ sum: 15, steps: 5 });
    list.push({ n: 7 });
    expect(sum(list).sum).toBe(67);
  });

  test('keeps nothing that can not be gone on with', () => {
    const sum = summing((total) => total > 5);
    expect(sum(first(3)).steps).toBe(3);
    expect(sum(first(4)).steps).toBe(4);
    expect(sum(first(5)).steps).toBe(1);
  });

  test('does not look back for ever', () => {
    const sum = summing();
    sum(first(10));
    expect(sum(first(100)).steps).toBe(100);
    expect(summing()(first(70)).steps).toBe(70);
  });
});
