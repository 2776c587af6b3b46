import { expect, expectTypeOf, test } from 'vitest';

import { notifyOnReturn } from './stoppable.ts';

/** Yields 1 and then waits; records calls of its methods. */
function openStream(): { stream: AsyncGenerator<number, string, void>; log: string[] } {
  const log: string[] = [];
  let end = (): void => {};
  const left = new Promise<void>((resolve) => (end = resolve));
  async function* items(): AsyncGenerator<number, string, void> {
    try {
      yield 1;
      await left;
      return 'left';
    } finally {
      log.push('closed');
    }
  }
  const stream = notifyOnReturn(items(), () => {
    log.push('told');
    end();
  });
  return { stream, log };
}

const ways: Record<string, (stream: AsyncGenerator<number, string, void>) => PromiseLike<unknown>> = {
  return: (stream) => stream.return('bye'),
  throw: (stream) => stream.throw(new Error('bye')).catch(() => {}),
  dispose: (stream) => stream[Symbol.asyncDispose](),
};

test.each(Object.entries(ways))('leaving by %s ends the wait for the next item', async (_way, leave) => {
  const { stream, log } = openStream();
  expect(await stream.next()).toEqual({ done: false, value: 1 });
  const waiting = stream.next();
  await leave(stream);
  expect(await waiting).toEqual({ done: true, value: 'left' });
  expect(log).toEqual(['told', 'closed']);
});

test.each(Object.entries(ways))(
  'leaving by %s between two items closes the generator',
  async (_way, leave) => {
    const { stream, log } = openStream();
    await stream.next();
    await leave(stream);
    expect(await stream.next()).toEqual({ done: true, value: undefined });
    expect(log).toEqual(['told', 'closed']);
  },
);

test('a stream that is read to its end is not left', async () => {
  const log: string[] = [];
  async function* items(): AsyncGenerator<number, string, void> {
    yield 1;
    return 'end';
  }
  const stream = notifyOnReturn(items(), () => log.push('told'));
  for await (const item of stream) expectTypeOf(item).toEqualTypeOf<number>();
  expect(log).toEqual([]);
});
