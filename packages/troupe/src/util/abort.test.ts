import { getEventListeners } from 'node:events';
import { afterEach, describe, expect, test } from 'vitest';
import { yieldToEventLoop } from '#platform';
import { abortable, abortableItems, whenAborted } from './abort.ts';
import { withGrace } from './async/grace.ts';
import { useClock } from './clock.ts';

const never = new Promise<never>(() => {});
const reason = new Error('stopped');

/** Lets everything run that is ready to. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function outcome(promise: Promise<unknown>): Promise<unknown> {
  const pending = Symbol('pending');
  try {
    return await Promise.race([promise, settle().then(() => pending)]).then((value) =>
      value === pending ? 'pending' : { value },
    );
  } catch (error) {
    return { error };
  }
}

let restoreClock = (): void => {};
afterEach(() => restoreClock());

describe('abortable', () => {
  test('settles with the promise', async () => {
    const { signal } = new AbortController();
    expect(await abortable(Promise.resolve(7), signal)).toBe(7);
    await expect(abortable(Promise.reject(new Error('own')), signal)).rejects.toThrow('own');
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  test('rejects with the reason when aborted, before or during', async () => {
    const controller = new AbortController();
    const during = abortable(never, controller.signal);
    expect(await outcome(during)).toBe('pending');
    controller.abort(reason);
    expect(await outcome(during)).toEqual({ error: reason });
    expect(await outcome(abortable(never, controller.signal))).toEqual({ error: reason });
  });

  test('a promise that fails after the abort is no unhandled rejection', async () => {
    const controller = new AbortController();
    let fail = (_: Error): void => {};
    const late = new Promise<never>((_, reject) => {
      fail = reject;
    });
    const waiting = abortable(late, controller.signal);
    controller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    fail(new Error('late')); // vitest fails the run if nobody handles it
    await settle();
  });
});

describe('abortableItems', () => {
  /** A source that gives numbers, then does `then`; records calls of its methods. */
  function source(count: number, then: () => Promise<unknown> = async () => {}) {
    const log: string[] = [];
    async function* items(): AsyncGenerator<number> {
      try {
        for (let i = 1; i <= count; i++) yield i;
        await then();
        log.push('ended');
      } finally {
        log.push('closed');
      }
    }
    return { items: items(), log };
  }

  async function drain(items: AsyncIterable<number>, into: number[]): Promise<void> {
    for await (const item of items) into.push(item);
  }

  test('gives all items, then ends, and leaves no listener behind', async () => {
    const { signal } = new AbortController();
    const { items, log } = source(3);
    const seen: number[] = [];
    await drain(abortableItems(items, signal), seen);
    expect(seen).toEqual([1, 2, 3]);
    expect(log).toEqual(['ended', 'closed']);
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  test('a source that hangs is left as soon as the signal is aborted', async () => {
    const controller = new AbortController();
    const { items, log } = source(2, () => never);
    const seen: number[] = [];
    const drained = drain(abortableItems(items, controller.signal), seen);
    expect(await outcome(drained)).toBe('pending');
    controller.abort(reason);
    expect(await outcome(drained)).toEqual({ error: reason });
    expect(seen).toEqual([1, 2]);
    expect(log).toEqual([]);
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0);
  });

  test('a source that throws passes its error on, and is not told to stop', async () => {
    const { signal } = new AbortController();
    let returns = 0;
    const failing: AsyncIterableIterator<number> = {
      next: async () => {
        throw new Error('own');
      },
      return: async () => ({ done: true, value: ++returns }),
      [Symbol.asyncIterator]: () => failing,
    };
    await expect(drain(abortableItems(failing, signal), [])).rejects.toThrow('own');
    expect(returns).toBe(0);
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  test('a source that throws at once counts too', async () => {
    const failing: AsyncIterable<number> = {
      [Symbol.asyncIterator]: () => ({
        next() {
          throw new Error('own');
        },
      }),
    };
    await expect(drain(abortableItems(failing, new AbortController().signal), [])).rejects.toThrow('own');
  });

  test('leaving early closes the source, and waits until it is closed', async () => {
    const { signal } = new AbortController();
    let unwind = (): void => {};
    const log: string[] = [];
    async function* items(): AsyncGenerator<number> {
      try {
        yield 1;
        yield 2;
      } finally {
        await new Promise<void>((resolve) => {
          unwind = resolve;
        });
        log.push('closed');
      }
    }
    const leaving = (async () => {
      for await (const item of abortableItems(items(), signal)) {
        log.push(`item ${item}`);
        break;
      }
      log.push('left');
    })();
    expect(await outcome(leaving)).toBe('pending');
    unwind();
    await leaving;
    expect(log).toEqual(['item 1', 'closed', 'left']);
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  test('leaving early waits no longer for a source that does not close, once the signal is aborted', async () => {
    const controller = new AbortController();
    async function* items(): AsyncGenerator<number> {
      try {
        yield 1;
      } finally {
        await never;
      }
    }
    const leaving = (async () => {
      for await (const _ of abortableItems(items(), controller.signal)) break;
      return 'left';
    })();
    expect(await outcome(leaving)).toBe('pending');
    controller.abort(reason);
    expect(await outcome(leaving)).toEqual({ value: 'left' });
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0);
  });

  test('an abort between two items is seen at the next one, and the source is closed', async () => {
    const controller = new AbortController();
    const { items, log } = source(3);
    const seen: number[] = [];
    const drained = (async () => {
      for await (const item of abortableItems(items, controller.signal)) {
        seen.push(item);
        if (item === 2) controller.abort(reason);
      }
    })();
    expect(await outcome(drained)).toEqual({ error: reason });
    expect(seen).toEqual([1, 2]);
    expect(log).toEqual(['closed']);
  });

  test('an aborted signal takes nothing from the source', async () => {
    const controller = new AbortController();
    controller.abort(reason);
    const { items, log } = source(3);
    const seen: number[] = [];
    expect(await outcome(drain(abortableItems(items, controller.signal), seen))).toEqual({ error: reason });
    expect({ seen, log }).toEqual({ seen: [], log: [] });
    expect(await items.next()).toEqual({ done: true, value: undefined }); // the source got the call of `return`
  });

  const refuse = (): never => {
    throw new Error('close');
  };
  test.each([
    ['throws', refuse],
    ['rejects', async () => refuse()],
  ])('a source whose closing %s does not hide the reason', async (_, close) => {
    const controller = new AbortController();
    const stubborn: AsyncIterable<number> = {
      [Symbol.asyncIterator]: () => ({ next: () => never, return: close }),
    };
    const drained = drain(abortableItems(stubborn, controller.signal), []);
    await settle();
    controller.abort(reason);
    expect(await outcome(drained)).toEqual({ error: reason });
  });
});

describe('withGrace', () => {
  /** Timers that fire when the test says so. */
  function manualTimers() {
    const timers: { ms: number; fire: () => void; isCancelled: boolean }[] = [];
    restoreClock = useClock({
      now: () => 0,
      monotonic: () => 0,
      startTimer(ms, fire) {
        const timer = { ms, fire, isCancelled: false };
        timers.push(timer);
        return () => {
          timer.isCancelled = true;
        };
      },
    });
    return timers;
  }

  test('settles with the work, and starts no timer', async () => {
    const timers = manualTimers();
    const { signal } = new AbortController();
    let abandoned = 0;
    expect(await withGrace(Promise.resolve('done'), signal, () => abandoned++)).toBe('done');
    await expect(withGrace(Promise.reject(new Error('own')), signal, () => abandoned++)).rejects.toThrow(
      'own',
    );
    expect({ abandoned, timers }).toEqual({ abandoned: 0, timers: [] });
  });

  test('work that unwinds in time has the last word', async () => {
    const timers = manualTimers();
    const controller = new AbortController();
    let abandoned = 0;
    let unwind = (_: string): void => {};
    let fail = (_: Error): void => {};
    const fine = new Promise<string>((resolve) => {
      unwind = resolve;
    });
    const failing = new Promise<string>((_, reject) => {
      fail = reject;
    });
    const first = withGrace(fine, controller.signal, () => abandoned++);
    const second = withGrace(failing, controller.signal, () => abandoned++);
    controller.abort(reason);
    expect([await outcome(first), await outcome(second)]).toEqual(['pending', 'pending']);
    unwind('partial');
    fail(new Error('unwound'));
    expect(await first).toBe('partial');
    await expect(second).rejects.toThrow('unwound');
    expect(timers.map(({ ms, isCancelled }) => ({ ms, isCancelled }))).toEqual([
      { ms: 25, isCancelled: true },
      { ms: 25, isCancelled: true },
    ]);
    expect(abandoned).toBe(0);
  });

  test('finished work waits for its started promises, at most for the grace period', async () => {
    const timers = manualTimers();
    const controller = new AbortController();
    let abandoned = 0;
    let end = (): void => {};
    const child = new Promise<void>((resolve) => {
      end = resolve;
    });
    const start = (...started: Promise<unknown>[]): Promise<string> => {
      const work = new Promise<string>((resolve) => {
        controller.signal.addEventListener('abort', () => resolve('done'), { once: true });
      });
      return withGrace(work, controller.signal, () => abandoned++, { started: () => started });
    };
    const first = start(child, Promise.reject(new Error('a child that fails')));
    const second = start(never);
    controller.abort(reason);
    expect([await outcome(first), await outcome(second)]).toEqual(['pending', 'pending']);
    end();
    expect([await outcome(first), await outcome(second)]).toEqual([{ value: 'done' }, 'pending']);
    timers.forEach((timer) => timer.fire());
    for (let i = 0; i < 12; i++) await yieldToEventLoop(); // a busy machine gets a few turns more
    expect(await outcome(second)).toEqual({ value: 'done' });
    expect({ abandoned, timers: timers.length }).toEqual({ abandoned: 0, timers: 2 });
  });

  test('work that ignores the signal is left behind', async () => {
    const timers = manualTimers();
    const controller = new AbortController();
    let abandoned = 0;
    const waiting = withGrace(never, controller.signal, () => abandoned++);
    controller.abort(reason);
    expect(await outcome(waiting)).toBe('pending');
    timers.forEach((timer) => timer.fire());
    for (let i = 0; i < 12; i++) await yieldToEventLoop(); // a busy machine gets a few turns more
    expect(await outcome(waiting)).toEqual({ error: reason });
    expect({ abandoned, timers: timers.length }).toEqual({ abandoned: 1, timers: 1 });
  });
});

describe('whenAborted', () => {
  test('calls back with the reason, at once or later', () => {
    const reasons: unknown[] = [];
    const controller = new AbortController();
    whenAborted(controller.signal, (given) => reasons.push(given));
    expect(reasons).toEqual([]);
    controller.abort(reason);
    whenAborted(controller.signal, (given) => reasons.push(given));
    expect(reasons).toEqual([reason, reason]);
  });

  test('ends with the returned function, and takes no signal too', () => {
    let calls = 0;
    const controller = new AbortController();
    const callOff = whenAborted(controller.signal, () => calls++);
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1);
    callOff();
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0);
    controller.abort(reason);
    whenAborted(undefined, () => calls++)();
    expect(calls).toBe(0);
  });
});
