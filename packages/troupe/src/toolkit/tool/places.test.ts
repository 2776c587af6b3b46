import { expect, test } from 'vitest';

import { FakeClock } from '../../testing/fake-clock.ts';
import { Places, takeAll } from './places.ts';

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
const open = (): AbortSignal => new AbortController().signal;

/** What is true of a promise by now. */
async function hasCome(promise: Promise<unknown>): Promise<boolean> {
  let has = false;
  void promise.then(() => (has = true));
  await turn();
  return has;
}

test('who was told to stop keeps the place until it is given back', async () => {
  const clock = new FakeClock();
  using _ = clock.install();
  const places = new Places(1);
  const stop = new AbortController();
  const leave = await places.take(stop.signal);
  stop.abort();
  const next = places.take(open());
  await clock.advance(59_999);
  expect(await hasCome(next)).toBe(false);
  leave();
  expect(await hasCome(next)).toBe(true);
  expect(clock.pendingTimers).toBe(0);
});

test.each(['before', 'after'])('and loses it after a minute to who came %s that', async (when) => {
  const clock = new FakeClock();
  using _ = clock.install();
  const places = new Places(1);
  const stop = new AbortController();
  const leave = await places.take(stop.signal);
  let next: Promise<() => void> | undefined;
  if (when === 'before') next = places.take(open());
  stop.abort();
  await clock.advance(50_000);
  next ??= places.take(open());
  await clock.advance(9_999);
  expect(await hasCome(next)).toBe(false);
  await clock.advance(1);
  expect(await hasCome(next)).toBe(true);
  const third = places.take(open());
  leave(); // of a place that is not its own any more
  expect(await hasCome(third)).toBe(false);
  (await next)();
  expect(await hasCome(third)).toBe(true);
});

test('without anybody who waits there is no timer that could keep a program alive', async () => {
  const clock = new FakeClock();
  using _ = clock.install();
  const places = new Places(1);
  const stop = new AbortController();
  await places.take(stop.signal);
  stop.abort();
  expect(clock.pendingTimers).toBe(0);
  const impatient = new AbortController();
  const waiting = places.take(impatient.signal);
  expect(clock.pendingTimers).toBe(1);
  impatient.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
  expect([clock.pendingTimers, places.waiting]).toEqual([0, 0]);
  await clock.advance(60_000);
  await places.take(open()); // at once: the minute is over
});

test.each(['before', 'after'])(
  'who is told to stop %s it has left takes no time from others',
  async (when) => {
    const clock = new FakeClock();
    using _ = clock.install();
    const places = new Places(1);
    const stop = new AbortController();
    const leave = await places.take(stop.signal);
    if (when === 'before') stop.abort();
    leave();
    if (when === 'after') stop.abort();
    await places.take(open());
    void places.take(open());
    expect([places.waiting, clock.pendingTimers]).toEqual([1, 0]);
  },
);

test('who waits for several places and is stopped holds none', async () => {
  const [a, b] = [new Places(1), new Places(1)];
  const leave = await b.take(open());
  const stop = new AbortController();
  const both = takeAll([a, b], stop.signal);
  await turn();
  expect(await hasCome(a.take(open()))).toBe(false);
  stop.abort(new Error('stop'));
  await expect(both).rejects.toThrow('stop');
  expect(a.waiting).toBe(0);
  leave();
  await b.take(open());
});

test('who is stopped at the very moment of getting in holds none', async () => {
  const places = new Places(1);
  const stop = new AbortController();
  const taking = takeAll([places], stop.signal);
  stop.abort(new Error('stop'));
  await expect(taking).rejects.toThrow('stop');
  await places.take(open());
});
