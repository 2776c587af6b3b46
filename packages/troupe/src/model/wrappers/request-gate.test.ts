import { expect, test } from 'vitest';

import { RequestGate } from './request-gate.ts';

const { signal } = new AbortController();

test('a visit ends once, however often that is said', async () => {
  const gate = new RequestGate({ maxConcurrent: 2 });
  const visits = [await gate.enter(0, signal), await gate.enter(0, signal)];
  visits[0]?.end();
  visits[0]?.end();
  expect(gate.running).toBe(1);
});

test('who got in no longer listens to the signal', async () => {
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
  const gate = new RequestGate({ maxConcurrent: 1 });
  const visit = await gate.enter(0, signal);
  const next = gate.enter(0, signal);
  expect([listeners, gate.waiting]).toEqual([1, 1]);
  visit.end();
  await next;
  expect([listeners, gate.waiting, gate.running]).toEqual([0, 0, 1]);
});

test('a signal that is aborted already gets nobody in', async () => {
  const gate = new RequestGate({});
  const reason = new Error('too late');
  await expect(gate.enter(0, AbortSignal.abort(reason))).rejects.toBe(reason);
  expect([gate.waiting, gate.running]).toEqual([0, 0]);
});
