import { scheduler } from 'node:timers/promises';

import { expect, test } from 'vitest';

import { AgentBase } from '../agent/agent-base.ts';
import type { PrintedMsg } from '../agent/printing/printer.ts';
import type { Turn } from '../agent/turn/turn.ts';
import type { Logger } from '../config/logger.ts';
import { withRunConfig } from '../config/run-config.ts';
import { Msg } from '../message/msg.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { abortable } from '../util/abort.ts';
import { BoundedQueue } from '../util/async/bounded-queue.ts';
import { sequentialPipeline } from './sequential-pipeline.ts';
import { streamPrintingMessages } from './stream-printing-messages.ts';

type Reply = (agent: AgentBase, turn: Turn) => Promise<void>;

/** Runs prepared work, then prints its name. */
class Printer extends AgentBase {
  calls = 0;
  readonly #first: Reply;

  constructor(name: string, first: Reply = async () => {}) {
    super({ name });
    this.#first = first;
    this.setConsoleOutputEnabled(false);
  }

  async reply(_msgs: readonly Msg[], turn: Turn): Promise<Msg> {
    this.calls++;
    await this.#first(this, turn);
    const msg = Msg.assistant(`I am ${this.name}`, { name: this.name });
    await this.print(msg);
    return msg;
  }
}

const forever = new Promise<never>(() => {});
const trio = (): [Printer, Printer, Printer] => [new Printer('a'), new Printer('b'), new Printer('c')];

/** Prints one message, then waits for the signal. */
const stuck = (name: string): Printer =>
  new Printer(name, async (agent, { signal }) => {
    await agent.print(Msg.assistant('one moment', { name }));
    await abortable(forever, signal);
  });

/** Messages of a stream, and its result or error. */
async function readAll<T>(
  stream: AsyncGenerator<PrintedMsg, T, void>,
): Promise<{ texts: string[]; result?: T; error?: unknown }> {
  const texts: string[] = [];
  try {
    for (;;) {
      const next = await stream.next();
      if (next.done) return { texts, result: next.value };
      texts.push(next.value.msg.text);
    }
  } catch (error) {
    return { texts, error };
  }
}

test('yields the printed messages in order, and returns the result of the task', async () => {
  const agents = trio();
  const stream = streamPrintingMessages(agents, (signal) => sequentialPipeline(agents, 'go', { signal }));
  const printed: PrintedMsg[] = [];
  let next = await stream.next();
  for (; !next.done; next = await stream.next()) printed.push(next.value);
  expect(printed.map(({ msg, last }) => [msg.name, msg.text, last])).toEqual([
    ['a', 'I am a', true],
    ['b', 'I am b', true],
    ['c', 'I am c', true],
  ]);
  expect(next.value).toBe(printed[2]?.msg);
});

test('yields a message again while it grows', async () => {
  const parts = [Msg.assistant('Hel', { id: '1' }), Msg.assistant('Hello', { id: '1' })] as const;
  const agent = new Printer('a', async () => {
    await agent.print(parts[0], false);
    await agent.print(parts[1], true);
  });
  const stream = streamPrintingMessages([agent], () => agent.call());
  expect((await stream.next()).value).toEqual({ msg: parts[0], last: false });
  expect((await stream.next()).value).toEqual({ msg: parts[1], last: true });
  await stream.return(parts[0]);
});

test('an error of the task follows the messages printed before', async () => {
  const agent = new Printer('a', async () => {
    await agent.print(Msg.assistant('before the error'));
    throw new TypeError('mistaken');
  });
  const read = await readAll(streamPrintingMessages([agent], () => agent.call()));
  expect(read).toEqual({ texts: ['before the error'], error: new TypeError('mistaken') });
  expect(agent.msgQueue).toBeUndefined();
});

test('a task that throws synchronously rejects', async () => {
  const [agent] = trio();
  const task = (): never => {
    throw new Error('not today');
  };
  expect(await readAll(streamPrintingMessages([agent], task))).toEqual({
    texts: [],
    error: new Error('not today'),
  });
  expect(agent.msgQueue).toBeUndefined();
});

test('the task starts with the first read', async () => {
  const [agent] = trio();
  const stream = streamPrintingMessages([agent], () => agent.call());
  await scheduler.yield();
  expect([agent.calls, agent.msgQueue]).toEqual([0, undefined]);
  await stream.return(Msg.user(''));
  expect(await stream.next()).toEqual({ done: true, value: undefined });
  expect([agent.calls, agent.msgQueue]).toEqual([0, undefined]);
});

test('without agents there is only the result', async () => {
  expect(await readAll(streamPrintingMessages([], async () => 42))).toEqual({ texts: [], result: 42 });
});

test.each(['ends', 'fails', 'is left'])(
  'W41: agents get their queues back when the stream %s',
  async (how) => {
    const [a, b, c] = [stuck('a'), new Printer('b'), new Printer('c')];
    const earlier = new BoundedQueue<PrintedMsg>(7);
    b.setMsgQueueEnabled(true, earlier);
    const stream = streamPrintingMessages([a, b, c, c], async (signal) => {
      await b.call();
      if (how === 'fails') throw new Error('failed');
      if (how === 'is left') await a.call('', { signal });
    });
    expect((await stream.next()).value).toMatchObject({ msg: { text: 'I am b' } });
    expect([a.msgQueue === b.msgQueue, b.msgQueue === earlier]).toEqual([true, false]);
    await (how === 'is left' ? stream.return() : readAll(stream));
    expect([a.msgQueue, b.msgQueue, c.msgQueue]).toEqual([undefined, earlier, undefined]);
    expect([earlier.size, earlier.isClosed]).toEqual([0, false]);
  },
);

test('a queue set meanwhile stays, and a closed queue is not restored', async () => {
  const [a, b] = trio();
  const outer = streamPrintingMessages([a, b], () => sequentialPipeline([a, b]));
  await outer.next();
  const other = new BoundedQueue<PrintedMsg>(1);
  a.setMsgQueueEnabled(true, other);
  const inner = streamPrintingMessages([b], async () => {
    await b.call('', { onBusy: 'queue' });
  });
  await inner.next();
  await readAll(outer);
  await readAll(inner);
  expect([a.msgQueue, b.msgQueue]).toEqual([other, undefined]);
});

test.each(['break', 'throw'])('W41: leaving by %s interrupts the agent and stops the task', async (how) => {
  const agent = stuck('a');
  let reason: unknown;
  let result: unknown;
  const task = async (signal: AbortSignal): Promise<void> => {
    result = await agent.call('', { signal });
    reason = signal.reason;
    signal.throwIfAborted();
  };
  const leave = async (): Promise<void> => {
    for await (const _ of streamPrintingMessages([agent], task)) {
      if (how === 'break') break;
      throw new Error('the consumer broke');
    }
  };
  if (how === 'break') await leave();
  else await expect(leave()).rejects.toThrow('the consumer broke');
  expect(reason).toMatchObject({ code: 'interrupted', message: 'The task was interrupted.' });
  expect(result).toMatchObject({ metadata: { _is_interrupted: true } });
  expect([agent.isRunning, agent.msgQueue]).toEqual([false, undefined]);
});

test('a consumer may leave while it waits for the next message', async () => {
  const agent = stuck('a');
  const stream = streamPrintingMessages([agent], (signal) => agent.call('', { signal }));
  expect((await stream.next()).value).toMatchObject({ msg: { text: 'one moment' } });
  const [waiting] = await Promise.allSettled([stream.next(), stream[Symbol.asyncDispose]()]);
  expect(waiting).toMatchObject({ status: 'rejected', reason: { message: 'The task was interrupted.' } });
  expect([agent.isRunning, agent.msgQueue]).toEqual([false, undefined]);
  expect(await stream.next()).toEqual({ done: true, value: undefined });
});

test('leaving also stops the agents that a task calls after its signal', async () => {
  const agents = [stuck('a'), stuck('b'), stuck('c')];
  let hasEnded = false;
  const stream = streamPrintingMessages(agents, async () => {
    await sequentialPipeline(agents); // ignores the signal
    hasEnded = true;
  });
  await stream.next();
  await stream.return();
  expect(hasEnded).toBe(true);
  expect(agents.map((agent) => [agent.isRunning, agent.msgQueue])).toEqual(
    agents.map(() => [false, undefined]),
  );
});

test('leaving waits until the task has ended', async () => {
  const [agent] = trio();
  const steps: string[] = [];
  const stream = streamPrintingMessages([agent], async (signal) => {
    await agent.call();
    await abortable(forever, signal).catch(() => {});
    await scheduler.yield();
    steps.push('unwound');
  });
  await stream.next();
  await stream.return();
  expect(steps).toEqual(['unwound']);
});

test('a task that ignores its signal does not delay leaving', async () => {
  const clock = new FakeClock();
  using _ = clock.install();
  const [agent] = trio();
  const lines: string[] = [];
  const logging: Logger = { log: (level, message) => void lines.push(`${level}: ${message}`) };
  await withRunConfig({ logging }, async () => {
    const stream = streamPrintingMessages([agent], async () => {
      await agent.call();
      await forever;
    });
    await stream.next();
    await clock.advance(0); // until the agent is idle and only the task still runs
    await Promise.all([stream.return(undefined as never), clock.advance(50)]);
  });
  expect(lines).toEqual(['warn: The task was interrupted. It did not stop in time, and was abandoned.']);
  expect([agent.msgQueue, clock.pendingTimers]).toEqual([undefined, 0]);
});

test('an agent hanging in handleInterrupt does not delay leaving', async () => {
  class Hung extends Printer {
    override handleInterrupt(): Promise<Msg> {
      return forever;
    }
  }
  const agent = new Hung('a', async () => {
    await agent.print(Msg.assistant('one moment'));
    await forever;
  });
  const stream = streamPrintingMessages([agent], () => agent.call());
  await stream.next();
  await stream.return(Msg.user(''));
  expect(agent.msgQueue).toBeUndefined();
});

test('leaving after the end of the task has no effect', async () => {
  const agents = trio();
  const [a] = agents;
  const stream = streamPrintingMessages(agents, () => sequentialPipeline(agents));
  await stream.next();
  await scheduler.yield();
  const busy = a.call();
  await stream.return(Msg.user(''));
  expect((await busy).text).toBe('I am a');
});

test('agents wait for a slow consumer', async () => {
  let printed = 0;
  const agent = new Printer('a', async () => {
    for (; printed < 20; printed++) await agent.print(Msg.assistant(`${printed}`));
  });
  const stream = streamPrintingMessages([agent], () => agent.call(), { capacity: 3 });
  await stream.next();
  await scheduler.yield();
  expect(printed).toBe(4); // one read, three in the queue, one waiting for space
  const { texts } = await readAll(stream);
  expect(texts).toEqual([...Array.from({ length: 19 }, (_, i) => `${i + 1}`), 'I am a']);
});
