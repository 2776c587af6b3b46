import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BoundedQueue } from './bounded-queue.ts';

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test.each([0, -1, 1.5, NaN, Infinity, '3' as never])('a capacity of %s is refused', (capacity) => {
  expect(() => new BoundedQueue(capacity)).toThrow(new RangeError('A queue needs a capacity of 1 or more.'));
});

test('items come out in the order in which they went in', async () => {
  const queue = new BoundedQueue<number>(3);
  expect([queue.put(1), queue.put(2)]).toEqual([undefined, undefined]);
  expect(queue.size).toBe(2);
  expect([await queue.take(), await queue.take(), queue.size]).toEqual([1, 2, 0]);
});

test('a writer waits while the queue is full, and goes on as soon as its item is in', async () => {
  const queue = new BoundedQueue<string>(1);
  const log: string[] = [];
  expect(queue.put('a')).toBe(undefined);
  const second = queue.put('b') as Promise<void>;
  expect(second).toBeInstanceOf(Promise);
  void second.then(() => log.push('b is in'));
  await settle();
  expect({ log, size: queue.size }).toEqual({ log: [], size: 1 });
  expect(await queue.take()).toBe('a');
  await settle();
  expect({ log, size: queue.size }).toEqual({ log: ['b is in'], size: 1 });
});

test('nobody overtakes a waiting writer', async () => {
  const queue = new BoundedQueue<string>(1);
  void queue.put('a');
  void queue.put('b');
  void queue.put('c');
  expect(await queue.take()).toBe('a');
  void queue.put('d');
  expect([await queue.take(), await queue.take(), await queue.take()]).toEqual(['b', 'c', 'd']);
});

test('writers continue only when the queue has as few items as they were told to wait for', async () => {
  const queue = new BoundedQueue<number>(4, 2);
  const log: number[] = [];
  for (let item = 0; item < 6; item++) void queue.put(item)?.then(() => log.push(item));
  await queue.take();
  await settle();
  expect({ log, size: queue.size }).toEqual({ log: [], size: 3 });
  await queue.take();
  await settle();
  expect({ log, size: queue.size }).toEqual({ log: [4, 5], size: 4 });
});

test('a reader waits for an item', async () => {
  const queue = new BoundedQueue<string>(1);
  const taken = queue.take();
  await settle();
  void queue.put('a');
  expect(await taken).toBe('a');
});

describe('closing', () => {
  test('lets what is in or waiting be read, drops what comes later, and holds nobody', async () => {
    const queue = new BoundedQueue<string>(1);
    void queue.put('a');
    const waiting = queue.put('b');
    queue.close();
    await waiting;
    expect(queue.put('c')).toBe(undefined);
    const read: string[] = [];
    for await (const item of queue) read.push(item);
    expect(read).toEqual(['a', 'b']);
    expect([queue.isClosed, queue.size, await queue.take()]).toEqual([true, 0, undefined]);
    queue.close();
    queue.liftCapacity();
    expect(queue.isClosed).toBe(true);
  });

  test('wakes a reader that waits', async () => {
    const queue = new BoundedQueue<string>(1);
    const reading = (async () => {
      const read: string[] = [];
      for await (const item of queue) read.push(item);
      return read;
    })();
    await settle();
    void queue.put('a');
    await settle();
    queue.close();
    expect(await reading).toEqual(['a']);
  });
});

test('lifting the capacity lets all writers through, and the queue stays open', async () => {
  const queue = new BoundedQueue<number>(1);
  const waiting = [queue.put(1), queue.put(2), queue.put(3)];
  queue.liftCapacity();
  await Promise.all(waiting);
  expect(queue.put(4)).toBe(undefined);
  expect({ size: queue.size, isClosed: queue.isClosed }).toEqual({ size: 4, isClosed: false });
  expect(await Promise.all([queue.take(), queue.take(), queue.take(), queue.take()])).toEqual([1, 2, 3, 4]);
});

test('a reader that leaves its loop loses nothing', async () => {
  const queue = new BoundedQueue<number>(2);
  void queue.put(1);
  void queue.put(2);
  for await (const item of queue) {
    expect(item).toBe(1);
    break;
  }
  expect(await queue.take()).toBe(2);
});

test('behaves like a list with a limit, for any operations', async () => {
  const operation = fc.oneof(
    { weight: 30, arbitrary: fc.constant('put' as const) },
    { weight: 25, arbitrary: fc.constant('take' as const) },
    { weight: 1, arbitrary: fc.constantFrom('lift' as const, 'close' as const) },
  );
  let reads = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined }),
      fc.array(operation, { maxLength: 40, size: 'max' }),
      async (capacity, refillAt, operations) => {
        const queue = new BoundedQueue<number>(capacity, refillAt);
        const model = { inside: [] as number[], waiting: [] as number[], state: 'open' };
        const admitted: number[] = [];
        let next = 0;
        for (const operation of operations) {
          if (operation === 'put') {
            const item = next++;
            const result = queue.put(item);
            if (model.state === 'closed') expect(result).toBe(undefined);
            else if (
              model.state === 'unlimited' ||
              (model.inside.length < capacity && model.waiting.length === 0)
            ) {
              expect(result).toBe(undefined);
              model.inside.push(item);
            } else {
              model.waiting.push(item);
              void (result as Promise<void>).then(() => admitted.push(item));
            }
          } else if (operation === 'take') {
            if (model.inside.length === 0 && model.state !== 'closed') continue; // a read from an empty queue would wait
            expect(await queue.take()).toBe(model.inside.shift());
            reads++;
            if (model.inside.length <= (refillAt ?? capacity - 1))
              model.inside.push(...model.waiting.splice(0, capacity - model.inside.length));
          } else {
            if (operation === 'lift') queue.liftCapacity();
            else queue.close();
            model.inside.push(...model.waiting.splice(0));
            model.state = operation === 'close' || model.state === 'closed' ? 'closed' : 'unlimited';
          }
          expect(queue.size).toBe(model.inside.length);
          if (model.state === 'open') expect(queue.size).toBeLessThanOrEqual(capacity);
          await Promise.resolve();
          expect(admitted.filter((item) => model.waiting.includes(item))).toEqual([]);
        }
      },
    ),
  );
  expect(reads).toBeGreaterThan(100);
});

test('keeps order and bounds with many writers at once', async () => {
  let written = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.integer({ min: 1, max: 3 }),
      fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 4 }),
      async (scheduler, capacity, writers) => {
        const queue = new BoundedQueue<string>(capacity);
        const put: string[] = [];
        const writing = writers.map(async (count, writer) => {
          for (let i = 0; i < count; i++) {
            await scheduler.schedule(Promise.resolve(), `writer ${writer}`);
            put.push(`${writer}.${i}`);
            await queue.put(`${writer}.${i}`);
            expect(queue.size).toBeLessThanOrEqual(capacity);
          }
        });
        const read: string[] = [];
        const reading = (async () => {
          for await (const item of queue) {
            expect(queue.size).toBeLessThanOrEqual(capacity);
            read.push(item);
            await scheduler.schedule(Promise.resolve(), 'reader');
          }
        })();
        void Promise.all(writing).then(() => queue.close());
        await scheduler.waitFor(Promise.all([...writing, reading]));
        expect(read).toEqual(put);
        written += read.length;
      },
    ),
    { numRuns: 100 },
  );
  expect(written).toBeGreaterThan(200);
});
