import { expect, test } from 'vitest';

import { FakeClock } from '../../testing/fake-clock.ts';
import { DeadlineError, withDeadline } from './deadline.ts';

const never = new Promise<never>(() => {});

test('settles with the work, and leaves no timer and no listener', async () => {
  const clock = new FakeClock();
  using _ = clock.install();
  const { signal } = new AbortController();
  let listeners = 0;
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...args: Parameters<AbortSignal['addEventListener']>) => {
    listeners++;
    addEventListener.apply(signal, args);
  };
  signal.removeEventListener = (...args: Parameters<AbortSignal['removeEventListener']>) => {
    listeners--;
    removeEventListener.apply(signal, args);
  };
  expect(await withDeadline({ timeoutMs: 10, signal }, async () => 'done')).toBe('done');
  const failure = withDeadline({ timeoutMs: 10, signal }, () => Promise.reject(new Error('no')));
  await expect(failure).rejects.toThrow('no');
  expect({ timers: clock.pendingTimers, listeners }).toEqual({ timers: 0, listeners: 0 });
});

test('rejects when the time is up, aborts the signal of the work, and says whether that stopped', async () => {
  const clock = new FakeClock();
  using _ = clock.install();
  const abandoned: string[] = [];
  const seen: unknown[] = [];
  const stubborn = withDeadline(
    { timeoutMs: 1000, signal: undefined, onAbandoned: () => abandoned.push('stubborn') },
    (signal) => {
      signal.addEventListener('abort', () => seen.push(signal.reason));
      return never;
    },
  );
  const docile = withDeadline(
    { timeoutMs: 1000, signal: undefined, onAbandoned: () => abandoned.push('docile') },
    (signal) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
  );
  stubborn.catch(() => {});
  docile.catch(() => {});
  await clock.advance(999);
  expect(seen).toEqual([]);
  await clock.advance(1);
  await expect(stubborn).rejects.toEqual(new DeadlineError(1000));
  await expect(docile).rejects.toEqual(new DeadlineError(1000));
  await clock.advance(0);
  expect(seen).toEqual([new DeadlineError(1000)]);
  expect(abandoned).toEqual(['stubborn']);
});

test('untimed waits do not count, and all other time adds up', async () => {
  const clock = new FakeClock();
  using _ = clock.install();
  const wait = (ms: number): Promise<void> => new Promise((resolve) => void clock.startTimer(ms, resolve));
  const log: string[] = [];
  const late = withDeadline({ timeoutMs: 100, signal: undefined }, async (_signal, untimed) => {
    for (let i = 0; ; i++) {
      await wait(40);
      log.push(`worked ${i}`);
      await untimed(wait(1000));
    }
  });
  late.catch(() => {});
  await clock.advance(2 * 1040 + 19);
  expect(log).toEqual(['worked 0', 'worked 1']);
  const pending = Symbol('pending');
  expect(await Promise.race([late, Promise.resolve(pending)])).toBe(pending);
  await clock.advance(1);
  await expect(late).rejects.toEqual(new DeadlineError(100));
});

test('work that was late already when it waited is told at once: no timer has a negative time', async () => {
  const clock = new FakeClock();
  using _ = clock.install();
  const times: number[] = [];
  const start = clock.startTimer.bind(clock);
  clock.startTimer = (ms, callback) => (times.push(ms), start(ms, callback));
  const late = withDeadline({ timeoutMs: 100, signal: undefined }, async (_signal, untimed) => {
    clock.monotonic = () => 4e12; // the program was busy, and no timer could fire
    await untimed(Promise.resolve());
    return never;
  });
  late.catch(() => {});
  await clock.advance(0);
  expect(times).toEqual([100, 0]);
  await expect(late).rejects.toEqual(new DeadlineError(100));
});

test('work abandoned during an untimed wait leaves no timer', async () => {
  const clock = new FakeClock();
  using _ = clock.install();
  const controller = new AbortController();
  let go = (): void => {};
  const viewer = new Promise<void>((resolve) => {
    go = resolve;
  });
  const work = withDeadline({ timeoutMs: 100, signal: controller.signal }, async (_signal, untimed) => {
    await untimed(viewer);
  });
  controller.abort(new Error('stop'));
  await expect(work).rejects.toThrow('stop');
  go();
  await clock.advance(0);
  expect(clock.pendingTimers).toBe(0);
});

test('rejects with the reason of the caller, at once', async () => {
  const controller = new AbortController();
  const reason = new Error('stop');
  const work = withDeadline({ timeoutMs: Infinity, signal: controller.signal }, () => never);
  controller.abort(reason);
  await expect(work).rejects.toBe(reason);
});

test('does not begin what is stopped already', async () => {
  let begun = 0;
  const work = withDeadline(
    { timeoutMs: 10, signal: AbortSignal.abort(new Error('stop')) },
    async () => begun++,
  );
  await expect(work).rejects.toThrow('stop');
  expect(begun).toBe(0);
});

test('has no timer for what may take for ever', async () => {
  const clock = new FakeClock();
  using _ = clock.install();
  for (const timeoutMs of [Infinity, 2 ** 31]) {
    void withDeadline({ timeoutMs, signal: undefined }, () => never);
    expect(clock.pendingTimers).toBe(0);
  }
});

test('a time of day that is set back or forward changes no deadline', async () => {
  const clock = new FakeClock();
  using _ = clock.install();
  const limited = withDeadline({ timeoutMs: 1000, signal: undefined }, async (_signal, untimed) => {
    clock.setTime(clock.now() - 90_000);
    await untimed(Promise.resolve());
    clock.setTime(clock.now() + 180_000);
    await untimed(Promise.resolve());
    return never;
  });
  const failure = limited.catch((error: unknown) => error);
  let isOver = false;
  void failure.then(() => (isOver = true));
  await clock.advance(999);
  expect(isOver).toBe(false);
  await clock.advance(1);
  expect(await failure).toEqual(new DeadlineError(1000));
});
