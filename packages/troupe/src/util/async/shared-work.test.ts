import { expect, test, vi } from 'vitest';

import { SharedWork } from './shared-work.ts';

/** Work that ends on command, and its outcome. */
function openWork() {
  let finish = (_value: string): void => {};
  let fail = (_error: Error): void => {};
  let signal = new AbortController().signal;
  const start = vi.fn<(stop: AbortSignal) => Promise<string>>((stop) => {
    signal = stop;
    return new Promise((resolve, reject) => {
      finish = resolve;
      fail = reject;
    });
  });
  const work = new SharedWork(start);
  return {
    work,
    start,
    isStopped: () => signal.aborted,
    finish: (value: string) => finish(value),
    fail: (error: Error) => fail(error),
  };
}

test('all callers get one result, later callers too', async () => {
  const { work, start, finish, isStopped } = openWork();
  const early = [work.wait(), work.wait(new AbortController().signal)];
  finish('done');
  expect(await Promise.all(early)).toEqual(['done', 'done']);
  expect(await work.wait()).toBe('done');
  expect({ starts: start.mock.calls.length, hasFailed: work.hasFailed, isStopped: isStopped() }).toEqual({
    starts: 1,
    hasFailed: false,
    isStopped: false,
  });
});

test('one who leaves does not disturb the others', async () => {
  const { work, finish, isStopped } = openWork();
  const leaving = new AbortController();
  const left = work.wait(leaving.signal);
  const stayed = work.wait();
  leaving.abort(new Error('enough'));
  await expect(left).rejects.toThrow('enough');
  expect(isStopped()).toBe(false);
  finish('done');
  expect(await stayed).toBe('done');
});

test('when the last one leaves, the work is stopped and lost', async () => {
  const { work, isStopped, fail } = openWork();
  const leaving = [new AbortController(), new AbortController()];
  const left = leaving.map(({ signal }) => work.wait(signal));
  for (const [i, controller] of leaving.entries()) {
    expect(isStopped()).toBe(false);
    controller.abort(new Error(`enough for ${i}`));
    await expect(left[i]).rejects.toThrow(`enough for ${i}`);
  }
  expect({ isStopped: isStopped(), hasFailed: work.hasFailed }).toEqual({ isStopped: true, hasFailed: true });
  fail(new Error('stopped')); // nobody is left to hear it
});

test('a failure reaches all who wait, and is lost', async () => {
  const { work, fail, isStopped } = openWork();
  const all = [work.wait(), work.wait()];
  fail(new Error('broken'));
  for (const one of all) await expect(one).rejects.toThrow('broken');
  expect({ isStopped: isStopped(), hasFailed: work.hasFailed }).toEqual({
    isStopped: false,
    hasFailed: true,
  });
});
