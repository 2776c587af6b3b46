import { expect, test } from 'vitest';

import { Msg } from '../message/msg.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { InMemoryMemory } from './in-memory-memory.ts';
import { OrderedMemory } from './ordered-memory.ts';

class SlowMemory extends InMemoryMemory {
  hold: Promise<void> = Promise.resolve();

  override async add(...args: Parameters<InMemoryMemory['add']>): Promise<void> {
    await this.hold;
    return super.add(...args);
  }
}

test('a read waits for earlier writes, and no longer than 30 s for one that hangs', async () => {
  using clock = new FakeClock().install();
  const memory = new SlowMemory();
  const ordered = new OrderedMemory(memory);
  const { promise, resolve } = Promise.withResolvers<void>();
  memory.hold = promise;
  const written = ordered.add(Msg.user('one'));
  const read = ordered.recall();
  resolve();
  await written;
  expect((await read).map(({ text }) => text)).toEqual(['one']);

  memory.hold = new Promise(() => {});
  void ordered.add(Msg.user('two'));
  const failed = ordered.recall().catch((error: unknown) => error);
  await clock.advance(30_000);
  expect(await failed).toMatchObject({
    code: 'store_failed',
    message: 'The memory has not finished an earlier write within 30 s. Check its store.',
  });
  expect(clock.pendingTimers).toBe(0);
});
