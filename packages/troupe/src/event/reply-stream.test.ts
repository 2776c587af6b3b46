import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Msg } from '../message/msg.ts';
import type { AgentEvent } from './agent-event.ts';
import { replyStream, type RunListener } from './reply-stream.ts';

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const answer = Msg.assistant('done');
const event = (seq: number): AgentEvent => ({
  type: 'reply_start',
  name: 'Ann',
  id: `run:${seq}`,
  timestamp: '2026-01-01T00:00:00.000Z',
  runId: 'run',
  replyId: 'reply',
  agentPath: ['Ann'],
  seq,
});

/** A run of so many events, which waits when it is told to. */
async function emitAll(listener: RunListener, count: number, progress = { emitted: 0 }): Promise<Msg> {
  for (; progress.emitted < count; progress.emitted++) await listener.emit(event(progress.emitted));
  return answer;
}

async function readAll(stream: AsyncGenerator<AgentEvent, Msg, void>): Promise<{ seqs: number[]; msg: Msg }> {
  const seqs: number[] = [];
  for (;;) {
    const item = await stream.next();
    if (item.done) return { seqs, msg: item.value };
    seqs.push(item.value.seq);
  }
}

describe('a stream of events', () => {
  test('gives all events in order, and returns exactly the message of the run', async () => {
    const { seqs, msg } = await readAll(replyStream((listener) => emitAll(listener, 200)));
    expect(seqs).toEqual(Array.from({ length: 200 }, (_, i) => i));
    expect(msg).toBe(answer);
  });

  test('gives a message without any event', async () => {
    expect(await readAll(replyStream(async () => answer))).toEqual({ seqs: [], msg: answer });
  });

  test('starts the run with the first read', async () => {
    let runs = 0;
    const stream = replyStream(async () => {
      runs++;
      return answer;
    });
    await settle();
    expect(runs).toBe(0);
    await stream.next();
    expect(runs).toBe(1);
  });

  test('never starts the run if it is left before', async () => {
    let runs = 0;
    const stream = replyStream(async () => {
      runs++;
      return answer;
    });
    expect(await stream.return(answer)).toEqual({ done: true, value: answer });
    expect(await stream.next()).toEqual({ done: true, value: undefined });
    expect(runs).toBe(0);
  });

  test('tells the run whether to include nested agents', async () => {
    const seen: boolean[] = [];
    const run = async ({ nested }: RunListener): Promise<Msg> => {
      seen.push(nested);
      return answer;
    };
    await readAll(replyStream(run));
    await readAll(replyStream(run, { nested: true }));
    expect(seen).toEqual([false, true]);
  });
});

describe('a slow consumer', () => {
  test.each<[number | undefined, number]>([
    [undefined, 64],
    [1, 1],
    [10, 10],
  ])('with a capacity of %s leaves at most %i events unread', async (capacity, limit) => {
    const progress = { emitted: 0 };
    const stream = replyStream(
      (listener) => emitAll(listener, 500, progress),
      capacity === undefined ? {} : { capacity },
    );
    let read = 0;
    for await (const { seq } of stream) {
      expect(seq).toBe(read++);
      if (read % 50 !== 1) continue;
      await settle();
      await settle();
      // The event that waits for a place has not been counted yet.
      expect(progress.emitted - read).toBe(Math.min(limit, 500 - read));
    }
    expect(read).toBe(500);
  });

  test('does not delay a run that is being stopped', async () => {
    const progress = { emitted: 0 };
    let release = (): void => {};
    const stream = replyStream((listener) => {
      release = listener.release;
      return emitAll(listener, 300, progress);
    });
    await stream.next();
    await settle();
    expect(progress.emitted).toBe(65);
    release();
    await settle();
    expect(progress.emitted).toBe(300);
    const { seqs, msg } = await readAll(stream);
    expect(seqs).toEqual(Array.from({ length: 299 }, (_, i) => i + 1));
    expect(msg).toBe(answer);
  });
});

describe('leaving a stream', () => {
  /** A run that goes on until its consumer has left, and then takes a while to end. */
  function endless(log: string[]) {
    let finish = (): void => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const run = async (listener: RunListener): Promise<Msg> => {
      for (let seq = 0; !listener.left.aborted; seq++) await listener.emit(event(seq));
      log.push('told to stop');
      await finished;
      log.push('in order');
      return answer;
    };
    return { run, finish };
  }

  test('stops the run, and waits until the run has ended', async () => {
    const log: string[] = [];
    const { run, finish } = endless(log);
    const leaving = (async () => {
      for await (const { seq } of replyStream(run)) if (seq === 3) break;
      log.push('left');
    })();
    await settle();
    expect(log).toEqual(['told to stop']);
    finish();
    await leaving;
    expect(log).toEqual(['told to stop', 'in order', 'left']);
  });

  test('by an error stops the run too, and the error stays the same', async () => {
    const log: string[] = [];
    const { run, finish } = endless(log);
    finish();
    const reading = (async () => {
      for await (const _ of replyStream(run)) throw new Error('mine');
    })();
    await expect(reading).rejects.toThrow('mine');
    expect(log).toEqual(['told to stop', 'in order']);
  });

  test('while a read waits for an event stops the run at once', async () => {
    const log: string[] = [];
    const stream = replyStream(async ({ left }) => {
      await new Promise((resolve) => left.addEventListener('abort', resolve, { once: true }));
      log.push('told to stop');
      return answer;
    });
    const waiting = stream.next();
    await settle();
    expect(log).toEqual([]);
    expect(await stream.return(answer)).toEqual({ done: true, value: answer });
    expect(await waiting).toEqual({ done: true, value: answer });
    expect(log).toEqual(['told to stop']);
  });

  test('hides the error of the run', async () => {
    const stream = replyStream(async (listener) => {
      for (let seq = 0; !listener.left.aborted; seq++) await listener.emit(event(seq));
      throw new Error('interrupted');
    });
    for await (const _ of stream) break;
    expect(await stream.next()).toEqual({ done: true, value: undefined });
  });

  test('drops the remaining events without waiting', async () => {
    let late: void | Promise<void> = Promise.resolve();
    const stream = replyStream(async (listener) => {
      await emitAll(listener, 1);
      await new Promise((resolve) => listener.left.addEventListener('abort', resolve, { once: true }));
      for (let seq = 0; seq < 1000; seq++) late = listener.emit(event(seq));
      return answer;
    });
    for await (const _ of stream) break;
    expect(late).toBe(undefined);
  });
});

describe('a failing run', () => {
  test('fails the stream after the earlier events', async () => {
    const stream = replyStream(async (listener) => {
      await emitAll(listener, 3);
      throw new Error('broken');
    });
    const seqs: number[] = [];
    const reading = (async () => {
      for await (const { seq } of stream) seqs.push(seq);
    })();
    await expect(reading).rejects.toThrow('broken');
    expect(seqs).toEqual([0, 1, 2]);
    expect(await stream.next()).toEqual({ done: true, value: undefined });
  });

  test('causes no unhandled rejection without a further read', async () => {
    const stream = replyStream(async (listener) => {
      await emitAll(listener, 3);
      throw new Error('broken'); // vitest fails the run if nobody handles it
    });
    await stream.next();
    await settle();
    await settle();
    expect((await stream.next()).value).toEqual(event(1));
  });

  test('before its first event fails the first read', async () => {
    const stream = replyStream(() => {
      throw new Error('broken');
    });
    await expect(stream.next()).rejects.toThrow('broken');
  });
});

test('two streams are independent', async () => {
  const progress = [{ emitted: 0 }, { emitted: 0 }] as const;
  const first = replyStream((listener) => emitAll(listener, 100, progress[0]));
  const second = replyStream((listener) => emitAll(listener, 100, progress[1]));
  await first.next();
  const whole = await readAll(second);
  expect(whole.seqs).toHaveLength(100);
  expect([progress[0].emitted, progress[1].emitted]).toEqual([65, 100]);
  await first.return(answer);
  expect(whole.msg).toBe(answer);
});

test('is in order and within its capacity, for every interleaving', async () => {
  let seen = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.integer({ min: 1, max: 4 }),
      fc.nat(20),
      fc.nat(25),
      async (scheduler, capacity, count, leaveAt) => {
        let emitted = 0;
        let read = 0;
        let ended = false;
        const stream = replyStream(
          async (listener) => {
            while (emitted < count && !listener.left.aborted) {
              await scheduler.schedule(Promise.resolve(), 'run');
              await listener.emit(event(emitted));
              emitted++;
              if (!listener.left.aborted) expect(emitted - read).toBeLessThanOrEqual(capacity + 1);
            }
            ended = true;
            return answer;
          },
          { capacity },
        );
        const reading = (async () => {
          for await (const { seq } of stream) {
            expect(seq).toBe(read++);
            if (read === leaveAt) break;
            await scheduler.schedule(Promise.resolve(), 'read');
          }
        })();
        await scheduler.waitFor(reading);
        expect(ended).toBe(true);
        expect(read).toBe(leaveAt === 0 ? count : Math.min(count, leaveAt));
        seen += read;
      },
    ),
    { numRuns: 100 },
  );
  expect(seen).toBeGreaterThan(200);
});
