import { afterEach, expect, test } from 'vitest';

import { monotonic, now, sleep, startTimer, timestamp } from '../util/clock.ts';
import { FakeClock } from './fake-clock.ts';

let installed: Disposable | undefined;

afterEach(() => {
  installed?.[Symbol.dispose]();
  installed = undefined;
});

function install(clock: FakeClock): FakeClock {
  installed = clock.install();
  return clock;
}

test('stands still until it is moved', async () => {
  const clock = install(new FakeClock(1_000));
  expect([now(), timestamp()]).toEqual([1_000, '1970-01-01T00:00:01.000Z']);
  await clock.advance(500);
  expect(now()).toBe(1_500);
});

test('starts at the same moment every time', () => {
  install(new FakeClock());
  expect(timestamp()).toBe('2026-01-01T00:00:00.000Z');
});

test('fires what is due in the order of time, then of start, each at its own time', async () => {
  const clock = install(new FakeClock(0));
  const fired: string[] = [];
  for (const [name, ms] of [
    ['late', 30],
    ['b', 20],
    ['early', 10],
    ['c', 20],
  ] as const) {
    startTimer(ms, () => fired.push(`${name} at ${now()}`));
  }
  await clock.advance(25);
  expect(fired).toEqual(['early at 10', 'b at 20', 'c at 20']);
  expect(clock.pendingTimers).toBe(1);
});

test('a timer does not fire one millisecond early', async () => {
  const clock = install(new FakeClock());
  let hasFired = false;
  startTimer(100, () => (hasFired = true));
  await clock.advance(99);
  expect(hasFired).toBe(false);
  await clock.advance(1);
  expect(hasFired).toBe(true);
});

test('code after a timer runs before the next timer, with any number of awaits', async () => {
  const clock = install(new FakeClock(0));
  const seen: string[] = [];
  const work = (async () => {
    await sleep(10);
    for (let i = 0; i < 1_000; i++) await undefined;
    seen.push(`worked at ${now()}`);
    await sleep(10);
    seen.push(`again at ${now()}`);
  })();
  startTimer(15, () => seen.push('other at 15'));
  await clock.advance(20);
  await work;
  expect(seen).toEqual(['worked at 10', 'other at 15', 'again at 20']);
});

test('advance(0) fires what is due now and lets promises settle', async () => {
  const clock = install(new FakeClock());
  let isSlept = false;
  void sleep(0).then(() => (isSlept = true));
  await clock.advance(0);
  expect(isSlept).toBe(true);
});

test('a cancelled timer is gone', async () => {
  const clock = install(new FakeClock());
  let hasFired = false;
  const cancel = startTimer(10, () => (hasFired = true));
  expect(clock.pendingTimers).toBe(1);
  cancel();
  await clock.advance(20);
  expect([hasFired, clock.pendingTimers]).toEqual([false, 0]);
});

test('an aborted sleep leaves no timer', async () => {
  const clock = install(new FakeClock());
  const controller = new AbortController();
  const slept = sleep(10, controller.signal);
  controller.abort(new Error('enough'));
  await expect(slept).rejects.toThrow('enough');
  expect(clock.pendingTimers).toBe(0);
});

test('advance throws the error of a timer, and the clock can continue', async () => {
  const clock = install(new FakeClock(0));
  startTimer(10, () => {
    throw new Error('broken timer');
  });
  await expect(clock.advance(20)).rejects.toThrow('broken timer');
  expect(now()).toBe(10);
  await clock.advance(10);
  expect(now()).toBe(20);
});

test('never moves backward', async () => {
  const clock = new FakeClock(0);
  await expect(clock.advance(-1)).rejects.toThrow('only moves forward');
  await expect(clock.advance(Number.NaN)).rejects.toThrow('only moves forward');
  await Promise.all([clock.advance(10), clock.advance(50)]);
  expect(clock.now()).toBe(50);
});

test('the real clock is back once the fake one is disposed of', () => {
  const fake = new FakeClock(0).install();
  expect(now()).toBe(0);
  fake[Symbol.dispose]();
  expect(now()).toBeGreaterThan(Date.UTC(2024, 0, 1));
});

test('is the clock that install returns, and is taken out again when that is disposed of', async () => {
  const before = now();
  {
    using clock = new FakeClock(1_000).install();
    expect(clock).toBeInstanceOf(FakeClock);
    await clock.advance(500);
    expect(now()).toBe(1_500);
    {
      using inner = new FakeClock(5).install();
      expect([now(), inner.now()]).toEqual([5, 5]);
    }
    {
      using again = clock.install();
      expect([again === clock, now()]).toEqual([true, 1_500]);
    }
    expect(now()).toBe(1_500);
  }
  expect(now()).toBeGreaterThanOrEqual(before);
  new FakeClock()[Symbol.dispose](); // never installed
  expect(now()).toBeGreaterThanOrEqual(before);
});

test('a time of day that is set back or forward changes no timer and no duration', async () => {
  const clock = install(new FakeClock(1_000_000));
  const startedAt = monotonic();
  let firedAt = 0;
  startTimer(100, () => (firedAt = now()));
  await clock.advance(40);
  clock.setTime(clock.now() - 90_000);
  expect({ time: now(), elapsed: monotonic() - startedAt }).toEqual({ time: 910_040, elapsed: 40 });
  await clock.advance(60);
  expect({ firedAt, elapsed: monotonic() - startedAt }).toEqual({ firedAt: 910_100, elapsed: 100 });
  clock.setTime(5_000_000);
  expect({ text: timestamp(), timers: clock.pendingTimers }).toEqual({
    text: '1970-01-01T01:23:20.000Z',
    timers: 0,
  });
});
