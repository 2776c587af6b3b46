import { expect, test } from 'vitest';

import { FakeClock } from '../../testing/fake-clock.ts';
import { ConcurrencyLimit, acquireAll } from './concurrency-limit.ts';

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
const open = (): AbortSignal => new AbortController().signal;

/** Whether a promise is settled now. */
async function hasCome(promise: Promise<unknown>): Promise<boolean> {
  let has = false;
  void promise.then(() => (has = true));
  await turn();
  return has;
}

test('an aborted tool call counts until it is released', async () => {
  const clock = new FakeClock();
  using _ = clock.install();
  const limit = new ConcurrencyLimit(1);
  const stop = new AbortController();
  const release = await limit.acquire(stop.signal);
  stop.abort();
  const next = limit.acquire(open());
  await clock.advance(59_999);
  expect(await hasCome(next)).toBe(false);
  release();
  expect(await hasCome(next)).toBe(true);
  expect(clock.pendingTimers).toBe(0);
});

test.each(['before', 'after'])(
  'an aborted tool call stops counting after a minute if another one came %s the abort',
  async (when) => {
    const clock = new FakeClock();
    using _ = clock.install();
    const limit = new ConcurrencyLimit(1);
    const stop = new AbortController();
    const release = await limit.acquire(stop.signal);
    let next: Promise<() => void> | undefined;
    if (when === 'before') next = limit.acquire(open());
    stop.abort();
    await clock.advance(50_000);
    next ??= limit.acquire(open());
    await clock.advance(9_999);
    expect(await hasCome(next)).toBe(false);
    await clock.advance(1);
    expect(await hasCome(next)).toBe(true);
    const third = limit.acquire(open());
    release(); // too late: already released by the limit
    expect(await hasCome(third)).toBe(false);
    (await next)();
    expect(await hasCome(third)).toBe(true);
  },
);

test('without waiting tool calls there is no timer that could keep a program alive', async () => {
  const clock = new FakeClock();
  using _ = clock.install();
  const limit = new ConcurrencyLimit(1);
  const stop = new AbortController();
  await limit.acquire(stop.signal);
  stop.abort();
  expect(clock.pendingTimers).toBe(0);
  const impatient = new AbortController();
  const waiting = limit.acquire(impatient.signal);
  expect(clock.pendingTimers).toBe(1);
  impatient.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
  expect([clock.pendingTimers, limit.waiting]).toEqual([0, 0]);
  await clock.advance(60_000);
  await limit.acquire(open()); // at once: the minute has passed
});

test.each(['before', 'after'])('an abort %s the release has no effect on others', async (when) => {
  const clock = new FakeClock();
  using _ = clock.install();
  const limit = new ConcurrencyLimit(1);
  const stop = new AbortController();
  const release = await limit.acquire(stop.signal);
  if (when === 'before') stop.abort();
  release();
  if (when === 'after') stop.abort();
  await limit.acquire(open());
  void limit.acquire(open());
  expect([limit.waiting, clock.pendingTimers]).toEqual([1, 0]);
});

test('an abort while waiting for several limits releases all of them', async () => {
  const [a, b] = [new ConcurrencyLimit(1), new ConcurrencyLimit(1)];
  const release = await b.acquire(open());
  const stop = new AbortController();
  const both = acquireAll([a, b], stop.signal);
  await turn();
  expect(await hasCome(a.acquire(open()))).toBe(false);
  stop.abort(new Error('stop'));
  await expect(both).rejects.toThrow('stop');
  expect(a.waiting).toBe(0);
  release();
  await b.acquire(open());
});

test('an abort at the moment of acquiring releases the limit', async () => {
  const limit = new ConcurrencyLimit(1);
  const stop = new AbortController();
  const taking = acquireAll([limit], stop.signal);
  stop.abort(new Error('stop'));
  await expect(taking).rejects.toThrow('stop');
  await limit.acquire(open());
});

test('a time of day that is set back does not prolong the minute of an aborted tool call', async () => {
  const clock = new FakeClock();
  using _ = clock.install();
  const limit = new ConcurrencyLimit(1);
  const stop = new AbortController();
  await limit.acquire(stop.signal);
  stop.abort();
  await clock.advance(30_000);
  clock.setTime(clock.now() - 90_000);
  const next = limit.acquire(open());
  await clock.advance(29_999);
  expect(await hasCome(next)).toBe(false);
  await clock.advance(1);
  expect(await hasCome(next)).toBe(true);
});
