import { getEventListeners } from 'node:events';
import { afterEach, expect, test } from 'vitest';
import { now, sleep, startTimer, timestamp, useClock, type Clock } from './clock.ts';

/** A clock that moves on command only. */
class ManualClock implements Clock {
  time = Date.UTC(2026, 0, 31, 9, 30);
  readonly timers = new Map<() => void, number>();

  now(): number {
    return this.time;
  }

  monotonic(): number {
    return this.time;
  }

  startTimer(ms: number, callback: () => void): () => void {
    this.timers.set(callback, this.time + ms);
    return () => void this.timers.delete(callback);
  }

  move(ms: number): void {
    this.time += ms;
    for (const [callback, at] of this.timers) {
      if (at > this.time) continue;
      this.timers.delete(callback);
      callback();
    }
  }
}

let restore = (): void => {};
afterEach(() => restore());

function manualClock(): ManualClock {
  const clock = new ManualClock();
  restore = useClock(clock);
  return clock;
}

test('the time comes from the clock in use', () => {
  const clock = manualClock();
  expect([now(), timestamp()]).toEqual([Date.UTC(2026, 0, 31, 9, 30), '2026-01-31T09:30:00.000Z']);
  clock.move(1);
  expect(timestamp()).toBe('2026-01-31T09:30:00.001Z');
  restore();
  const times = [Date.now(), now(), Date.now()];
  expect(times).toEqual(times.toSorted((a, b) => a - b));
});

test('a timer calls back once, unless it was cancelled', () => {
  const clock = manualClock();
  const calls: string[] = [];
  startTimer(10, () => calls.push('a'));
  const cancel = startTimer(10, () => calls.push('b'));
  cancel();
  clock.move(9);
  expect(calls).toEqual([]);
  clock.move(1);
  clock.move(100);
  expect(calls).toEqual(['a']);
});

test('sleep ends with its time, and leaves no listener behind', async () => {
  const clock = manualClock();
  const { signal } = new AbortController();
  const slept = sleep(10, signal);
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  clock.move(10);
  expect(await slept).toBe(undefined);
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
});

test('sleep rejects with the reason as soon as it is aborted, and leaves no timer behind', async () => {
  const clock = manualClock();
  const controller = new AbortController();
  const slept = sleep(10, controller.signal);
  controller.abort(new Error('enough'));
  await expect(slept).rejects.toThrow('enough');
  expect(clock.timers.size).toBe(0);
  await expect(sleep(10, controller.signal)).rejects.toThrow('enough');
  expect(clock.timers.size).toBe(0);
});

test('the system clock really waits', async () => {
  const start = now();
  await sleep(5);
  expect(now() - start).toBeGreaterThanOrEqual(4);
});
