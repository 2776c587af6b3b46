import { expect, test } from 'vitest';

import { FakeClock } from '../../testing/fake-clock.ts';
import { RequestLimiter } from './request-limiter.ts';

const { signal } = new AbortController();

test('a visit ends once, however often that is said', async () => {
  const limiter = new RequestLimiter({ maxConcurrent: 2 });
  const visits = [await limiter.acquire(0, signal), await limiter.acquire(0, signal)];
  visits[0]?.end();
  visits[0]?.end();
  expect(limiter.running).toBe(1);
});

test('an admitted request no longer listens to the signal', async () => {
  const { signal } = new AbortController();
  let listeners = 0;
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
    listeners++;
    addEventListener.apply(signal, args);
  };
  signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
    listeners--;
    removeEventListener.apply(signal, args);
  };
  const limiter = new RequestLimiter({ maxConcurrent: 1 });
  const visit = await limiter.acquire(0, signal);
  const next = limiter.acquire(0, signal);
  expect([listeners, limiter.waiting]).toEqual([1, 1]);
  visit.end();
  await next;
  expect([listeners, limiter.waiting, limiter.running]).toEqual([0, 0, 1]);
});

test('a signal that is aborted already gets nobody in', async () => {
  const limiter = new RequestLimiter({});
  const reason = new Error('too late');
  await expect(limiter.acquire(0, AbortSignal.abort(reason))).rejects.toBe(reason);
  expect([limiter.waiting, limiter.running]).toEqual([0, 0]);
});

test.each([-90_000, 90_000])('a time of day that is set by %i ms changes no wait', async (change) => {
  const clock = new FakeClock();
  using _ = clock.install();
  const limiter = new RequestLimiter({ requestsPerMinute: 1, tokensPerMinute: 10 });
  (await limiter.acquire(10, signal)).end();
  clock.setTime(clock.now() + change);
  let isIn = false;
  const next = limiter.acquire(1, signal).then(() => (isIn = true));
  await clock.advance(59_999);
  expect(isIn).toBe(false);
  await clock.advance(1);
  expect(isIn).toBe(true);
  await next;
});
