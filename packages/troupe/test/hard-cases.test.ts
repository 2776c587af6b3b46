/** Replies, hooks and observers that hang, flood or come late, at the worst moment. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { AgentBase, type AgentOptions } from '../src/agent/agent-base.ts';
import type { Interrupt } from '../src/agent/interrupt.ts';
import type { Turn } from '../src/agent/turn/turn.ts';
import { AgentClosedError } from '../src/errors.ts';
import type { AgentEvent } from '../src/event/agent-event.ts';
import { MsgDraft } from '../src/message/msg-draft.ts';
import { Msg } from '../src/message/msg.ts';
import { interruptAtEvery } from '../src/testing/drivers.ts';
import { FakeClock } from '../src/testing/fake-clock.ts';
import { timeUntilSettled } from './time-until-settled.ts';

type Reply = (msgs: readonly Msg[], turn: Turn, agent: HardAgent) => Promise<Msg>;

class HardAgent extends AgentBase {
  onInterrupt: ((interrupt: Interrupt) => Promise<Msg | undefined>) | undefined;
  readonly #reply: Reply;

  constructor(reply: Reply, options: Partial<AgentOptions> = {}) {
    super({ name: 'hard', ...options });
    this.#reply = reply;
    this.setConsoleOutputEnabled(false);
  }

  override async reply(msgs: readonly Msg[], turn: Turn): Promise<Msg> {
    return this.#reply(msgs, turn, this);
  }

  override async handleInterrupt(msgs: readonly Msg[], interrupt: Interrupt): Promise<Msg> {
    return (await this.onInterrupt?.(interrupt)) ?? super.handleInterrupt(msgs, interrupt);
  }
}

const ok: Reply = async (msgs) => Msg.assistant(`ok ${msgs[0]?.text ?? ''}`);
const hang: Reply = (_msgs, turn) =>
  turn.step({ kind: 'other', name: 'hang' }, () => new Promise<never>(() => {}));
const never = (): Promise<never> => new Promise(() => {});
const isInterrupted = (msg: Msg): boolean => msg.metadata['_is_interrupted'] === true;
const eventLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('an interrupt from a timer reaches a reply that never waits for anything outside', () => {
  let isTested = false; // a reply that nothing stops would go on beside all further tests of this process
  beforeEach(() => void (isTested = false));
  afterEach(() => void (isTested = true));

  test.each<[string, Reply]>([
    [
      'prints a growing message on and on',
      async (_msgs, _turn, agent) => {
        const draft = new MsgDraft('hard');
        while (!isTested) {
          draft.add({ type: 'text', text: 'x' });
          await agent.print(draft.snapshot(), false);
        }
        return draft.snapshot();
      },
    ],
    [
      'emits on and on',
      async (_msgs, turn) => {
        while (!isTested) await turn.emit({ type: 'usage', usage: { inputTokens: 1, outputTokens: 1 } });
        return Msg.assistant('late');
      },
    ],
    [
      'takes steps on and on',
      async (_msgs, turn) => {
        while (!isTested) await turn.step({ kind: 'other', name: 'nothing' }, async () => {});
        return Msg.assistant('late');
      },
    ],
  ])('but %s', async (_name, reply) => {
    const agent = new HardAgent(reply);
    setTimeout(() => void agent.interrupt(), 1);
    expect(isInterrupted(await agent.call('go'))).toBe(true);

    setTimeout(() => void agent.interrupt(), 1);
    let events = 0;
    for await (const _event of agent.stream('go')) events++;
    expect(events).toBeGreaterThan(0);
  });
});

describe('a part that hangs does not hold up', () => {
  function withDeafListener(reply: Reply): HardAgent {
    const speaker = new HardAgent(reply);
    speaker.resetSubscribers('hub', [{ name: 'deaf', observe: never }]);
    return speaker;
  }

  test('an interrupted call: an observer', async () => {
    using clock = new FakeClock().install();
    const agent = withDeafListener(hang);
    const call = agent.call('go');
    void agent.interrupt();
    expect(await timeUntilSettled(clock, call)).toBeLessThan(100);
  });

  test('a call that interrupts: an observer of the one before', async () => {
    using clock = new FakeClock().install();
    const agent = withDeafListener(ok);
    const first = agent.call('one');
    await eventLoop();
    agent.resetSubscribers('hub', []);
    const second = agent.call('two', { onBusy: 'interrupt' });
    expect(await timeUntilSettled(clock, second)).toBeLessThan(100);
    expect((await first).text).toBe('ok one');
  });

  test('an interrupt, or the end of the agent: an error hook', async () => {
    const agent = new HardAgent(async () => {
      throw new Error('broken');
    });
    agent.registerInstanceHook('error', 'stuck', never);
    const call = agent.call('go');
    await eventLoop();
    expect(await agent.interrupt()).toBe(false);
    await expect(call).rejects.toThrow('broken');

    const statuses: string[] = [];
    const reading = (async () => {
      for await (const event of agent.stream('go')) if ('status' in event) statuses.push(event.status);
    })();
    await eventLoop();
    await agent.interrupt();
    await expect(reading).rejects.toThrow('broken');
    expect(statuses, 'of the reply and of the run').toEqual(['failed', 'failed']);

    const second = agent.call('go');
    await eventLoop();
    await agent[Symbol.asyncDispose]();
    await expect(second).rejects.toThrow('broken');
  });

  test('an interrupt: a print hook that throws', async () => {
    const agent = new HardAgent(hang);
    agent.registerInstanceHook('prePrint', 'bad', () => {
      throw new Error('no ink');
    });
    const call = agent.call('go');
    void agent.interrupt();
    expect(isInterrupted(await call)).toBe(true);
  });

  test('an agent: a queue that nobody reads, once it is turned off', async () => {
    const agent = new HardAgent(async (_msgs, _turn, self) => {
      for (let i = 0; i < 150; i++) await self.print(Msg.assistant(`${i}`));
      return Msg.assistant('done');
    });
    agent.setMsgQueueEnabled(true);
    const call = agent.call('go');
    await eventLoop();
    expect(agent.msgQueue?.size).toBe(100);
    agent.setMsgQueueEnabled(false);
    expect((await call).text).toBe('done');
  });
});

describe('late results have no effect', () => {
  test('a reply that waits in a slow print hook stops with the interrupt, and not in the next call', async () => {
    const log: string[] = [];
    const agent = new HardAgent(async (msgs, _turn, self) => {
      log.push(msgs[0]?.text ?? '');
      await self.print(Msg.assistant('working'));
      log.push(`late ${msgs[0]?.text}`);
      return Msg.assistant('done');
    });
    let release = (): void => {};
    agent.registerInstanceHook('prePrint', 'slow', () => new Promise<void>((resolve) => (release = resolve)));
    const call = agent.call('one');
    await eventLoop();
    await agent.interrupt();
    await call;
    agent.clearInstanceHooks();
    await agent.call('two');
    release();
    await eventLoop();
    expect(log).toEqual(['one', 'two', 'late two']);
  });

  test('a handleInterrupt that nobody waits for any longer is told', async () => {
    const agent = new HardAgent(hang);
    let signal: AbortSignal | undefined;
    agent.onInterrupt = (interrupt) => {
      signal = interrupt.signal;
      return never();
    };
    const call = agent.call('go');
    void agent.interrupt();
    await eventLoop();
    expect(signal?.aborted).toBe(false);
    await agent.interrupt();
    expect(isInterrupted(await call)).toBe(true);
    expect(signal?.aborted).toBe(true);
  });

  test('no post hook runs for a reply that was interrupted', async () => {
    let finish = (_msg: Msg): void => {};
    const agent = new HardAgent(() => new Promise((resolve) => (finish = resolve)));
    const seen: string[] = [];
    agent.registerInstanceHook('postReply', 'note', (_agent, _args, msg) => void seen.push(msg.text));
    const call = agent.call('go');
    await eventLoop();
    await agent.interrupt();
    await call;
    finish(Msg.assistant('late'));
    await eventLoop();
    expect(seen).toEqual([]);
  });

  test('nothing comes after run_end, however slow the consumer is', async () => {
    const child = new HardAgent(async (_msgs, turn) => {
      for (let i = 0; i < 5; i++) {
        await eventLoop();
        await turn.emit({ type: 'usage', usage: { inputTokens: 1, outputTokens: 1 } });
      }
      return Msg.assistant('late');
    });
    const agent = new HardAgent(async (_msgs, turn, self) => {
      void child.call('go').catch(() => {});
      setImmediate(() => void self.print(Msg.assistant('late')));
      for (let i = 0; i < 63; i++)
        await turn.emit({ type: 'usage', usage: { inputTokens: 1, outputTokens: 1 } });
      return Msg.assistant('done');
    });
    const events: AgentEvent[] = [];
    for await (const event of agent.stream('go', { nested: true, capacity: 64 })) {
      events.push(event);
      if (events.length === 1) for (let i = 0; i < 10; i++) await eventLoop();
    }
    const end = events.findIndex((event) => event.type === 'run_end' && event.agentPath.length === 1);
    expect(end).toBe(events.length - 1);
  });
});

describe('calls that wait', () => {
  test('an interrupt at the moment of admission is answered', async () => {
    let answered = 0;
    for (let tick = 0; tick < 60; tick++) {
      const agent = new HardAgent(ok, { onBusy: 'queue' });
      const calls = [agent.call('1'), agent.call('2')];
      for (let i = 0; i < tick; i++) await undefined;
      await agent.interrupt();
      for (const msg of await Promise.all(calls)) if (isInterrupted(msg)) answered++;
    }
    expect(answered).toBeGreaterThan(5);
  });

  test('are not answered by an agent that was disposed of', async () => {
    const started: string[] = [];
    const agent = new HardAgent(
      async (msgs, turn, self) => {
        started.push(msgs[0]?.text ?? '');
        return hang(msgs, turn, self);
      },
      { onBusy: 'queue' },
    );
    const first = agent.call('1');
    const second = agent.call('2');
    second.catch(() => {});
    await agent[Symbol.asyncDispose]();
    expect(isInterrupted(await first)).toBe(true);
    await expect(second).rejects.toThrow(AgentClosedError);
    expect(started).toEqual(['1']);
  });

  test('and interrupt keep their order among themselves', async () => {
    const order: string[] = [];
    const agent = new HardAgent(async (msgs) => {
      order.push(msgs[0]?.text ?? '');
      await eventLoop();
      return Msg.assistant('');
    });
    const calls = [
      agent.call('1'),
      agent.call('queued', { onBusy: 'queue' }),
      agent.call('2', { onBusy: 'interrupt' }),
      agent.call('3', { onBusy: 'interrupt' }),
    ];
    await Promise.all(calls);
    expect(order).toEqual(['1', '2', '3', 'queued']);
  });

  test('may come from code that outlived an earlier call of the same agent', async () => {
    let callLater = (): Promise<Msg> => never();
    const agent = new HardAgent(async (msgs, turn, self) => {
      if (msgs[0]?.text !== 'first') return ok(msgs, turn, self);
      const gate = new Promise<void>((resolve) => (open = resolve));
      const late = gate.then(() => [self.call('one'), self.call('two', { onBusy: 'queue' })] as const);
      callLater = async () => (await late)[1];
      return Msg.assistant('done');
    });
    let open = (): void => {};
    await agent.call('first');
    open();
    expect((await callLater()).text).toBe('ok two');
  });

  test('need a policy that exists', async () => {
    await expect(new HardAgent(ok).call('go', { onBusy: 'Queue' as never })).rejects.toThrow(
      'onBusy is one of reject, queue, interrupt.',
    );
  });
});

test('the messages of two interrupts in a row both arrive', async () => {
  const agent = new HardAgent(() => never());
  const heard: string[] = [];
  agent.onInterrupt = async (interrupt) => {
    heard.push(...interrupt.msgs.map((msg) => msg.text));
    return undefined;
  };
  const call = agent.call('go');
  const answers = [agent.interrupt('stop'), agent.interrupt('I mean it')];
  await call;
  expect(await Promise.all(answers)).toEqual([true, true]);
  expect(heard).toEqual(['stop', 'I mean it']);
});

test('handleInterrupt can take steps, call agents and print, until it is interrupted itself', async () => {
  const helper = new HardAgent(ok, { name: 'helper' });
  const agent: HardAgent = new HardAgent(hang);
  agent.onInterrupt = async () => {
    const summary = await helper.call('summary');
    const msg = Msg.assistant(`stopped, ${summary.text}`);
    await agent.print(msg);
    return msg;
  };
  const texts: string[] = [];
  const reading = (async () => {
    for await (const event of agent.stream('go')) if (event.type === 'text_delta') texts.push(event.text);
  })();
  await eventLoop();
  await agent.interrupt();
  await reading;
  expect(texts).toEqual(['stopped, ok summary']);

  const stuck = new HardAgent(hang, { name: 'stuck' });
  agent.onInterrupt = () => stuck.call('never');
  const call = agent.call('go');
  void agent.interrupt();
  await eventLoop();
  expect(stuck.isRunning).toBe(true);
  await agent.interrupt();
  expect(isInterrupted(await call)).toBe(true);
  expect(stuck.isRunning).toBe(false);
});

test('nested calls that nobody awaits any more cause no unhandled rejection', async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown): void => void unhandled.push(reason);
  process.on('unhandledRejection', note);
  const [a, b] = [new HardAgent(hang, { name: 'a' }), new HardAgent(hang, { name: 'b' })];
  const parent = new HardAgent(async () => {
    const [first, second] = [a.call('go'), b.call('go')];
    await first;
    return second;
  });
  const call = parent.call('go');
  await eventLoop();
  await parent.interrupt();
  await call;
  for (let i = 0; i < 5; i++) await eventLoop();
  process.off('unhandledRejection', note);
  expect(unhandled).toEqual([]);
});

test('a reply that is a field of the class has its hooks too', async () => {
  class Arrow extends AgentBase {
    override reply = async (): Promise<Msg> => Msg.assistant('arrow');
  }
  const agent = new Arrow({ name: 'arrow' });
  const fired: string[] = [];
  agent.registerInstanceHook('preReply', 'note', () => void fired.push('pre'));
  Arrow.registerClassHook('postReply', 'note', () => void fired.push('post'));
  expect((await agent.call('go')).text).toBe('arrow');
  expect(fired).toEqual(['pre', 'post']);
});

test('a driver says at once that a scenario waits for a timer', async () => {
  const waits: Reply = async () => {
    await new Promise((resolve) => setTimeout(resolve, 1));
    return Msg.assistant('');
  };
  const scenario = () => ({ agent: new HardAgent(waits), input: 'go', check: () => {} });
  await expect(interruptAtEvery(scenario)).rejects.toThrow('Does it wait for a timer? Use a FakeClock.');
});
