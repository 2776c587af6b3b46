import { expect, test } from 'vitest';

import { withReadyItems } from './ready-items.ts';

/** Generator of a list, with the number of its reads. */
function counted(items: number[]): {
  generator: AsyncGenerator<number, string, void>;
  entered: () => number;
} {
  let reads = 0;
  async function* all(): AsyncGenerator<number, string, void> {
    while (items.length > 0) {
      reads++;
      yield items.shift() ?? 0;
    }
    return 'over';
  }
  return { generator: all(), entered: () => reads };
}

test('ready items are read without the generator, which gives the rest and the result', async () => {
  const ready = [1, 2];
  const { generator, entered } = counted([3, 4]);
  const items = withReadyItems(generator, () => ready.shift());
  const seen = [await items.next(), await items.next(), await items.next()];
  expect(entered()).toBe(1);
  expect([...seen, await items.next(), await items.next()]).toEqual([
    { done: false, value: 1 },
    { done: false, value: 2 },
    { done: false, value: 3 },
    { done: false, value: 4 },
    { done: true, value: 'over' },
  ]);
});

test('reads that wait keep their order: a later read takes no ready item before them', async () => {
  const ready: number[] = [];
  const { generator } = counted([1, 2]);
  const items = withReadyItems(generator, () => ready.shift());
  const first = items.next();
  ready.push(9);
  const second = items.next();
  expect([(await first).value, (await second).value, (await items.next()).value]).toEqual([1, 2, 9]);
});

test('leaving goes to the generator', async () => {
  const { generator } = counted([1, 2]);
  const items = withReadyItems(generator, () => undefined);
  for await (const _ of items) break;
  expect(await generator.next()).toEqual({ done: true, value: undefined });
});
