import { expect, test } from 'vitest';

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
