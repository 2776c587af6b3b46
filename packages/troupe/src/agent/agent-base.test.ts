import { describe, expect, test } from 'vitest';

import { timeUntilSettled } from '../../test/time-until-settled.ts';
import { getRunConfig, setRunConfig, withRunConfig } from '../config/run-config.ts';
import { AgentBusyError, AgentClosedError, HookError, InterruptedError } from '../errors.ts';
import type { AgentEvent } from '../event/agent-event.ts';
import type { AudioBlock } from '../message/blocks.ts';
import { Msg, type MsgInput } from '../message/msg.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { sleep } from '../util/clock.ts';
import { AgentBase, type AgentOptions } from './agent-base.ts';
import type { Interrupt } from './interrupt.ts';
import { ConsoleView } from './printing/console-view.ts';
import { currentTurn } from './turn/current-turn.ts';
import type { Turn } from './turn/turn.ts';

type Reply = (msgs: readonly Msg[], turn: Turn, agent: TestAgent) => Promise<Msg>;

/** Replies by a function, and records observed messages and interrupts. */
class TestAgent extends AgentBase {
  readonly observed: string[] = [];
  readonly interrupts: Interrupt[] = [];
  onInterrupt: (() => Promise<void>) | undefined;
  readonly #reply: Reply;

  constructor(reply: Reply, options: Partial<AgentOptions> = {}) {
    super({ name: 'tester', ...options });
    this.#reply = reply;
    this.setConsoleOutputEnabled(false);
  }

  override async reply(msgs: readonly Msg[], turn: Turn): Promise<Msg> {
    return this.#reply(msgs, turn, this);
  }

  override async observe(msgs: readonly Msg[]): Promise<void> {
    this.observed.push(...msgs.map((msg) => msg.text));
  }

  override async handleInterrupt(msgs: readonly Msg[], interrupt: Interrupt): Promise<Msg> {
    this.interrupts.push(interrupt);
    await this.onInterrupt?.();
    return super.handleInterrupt(msgs, interrupt);
  }
}

const echo: Reply = async (msgs, _turn, agent) => {
  const answer = Msg.assistant(`You said: ${msgs.map((msg) => msg.text).join(' ')}`, { name: agent.name });
  await agent.print(answer);
  return answer;
};
const hang: Reply = (_msgs, turn) =>
  turn.step({ kind: 'other', name: 'hang' }, () => new Promise<never>(() => {}));
const ignoreSignal: Reply = () => new Promise<never>(() => {});
const isInterrupted = (msg: Msg): boolean => msg.metadata['_is_interrupted'] === true;

async function collect(stream: AsyncIterable<AgentEvent>): Promise<AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of stream) events.push(event);
  return events;
}

async function ticks(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await undefined;
}

describe('call', () => {
  test.each<[string, MsgInput, string]>([
    ['a string', 'hi', 'hi'],
    ['a message', Msg.user('hi'), 'hi'],
    ['several messages', [Msg.user('hi'), Msg.user('there')], 'hi there'],
    ['nothing', undefined, ''],
  ])('takes %s', async (_name, input, text) => {
    expect((await new TestAgent(echo).call(input)).text).toBe(`You said: ${text}`);
  });

  test('refuses input and replies that are not messages', async () => {
    await expect(new TestAgent(echo).call(42 as never)).rejects.toThrow(
      'Expected a Msg, a list of Msg, a string or nothing, not a number.',
    );
    const wrong = new TestAgent(async () => 'text' as never);
    await expect(wrong.call('hi')).rejects.toThrow('reply() of TestAgent must return a Msg, not a string.');
    expect(wrong.isRunning).toBe(false);
  });

  test('needs a name', () => {
    expect(() => new TestAgent(echo, { name: '' })).toThrow(
      "An agent needs a name: new ReActAgent({ name: 'assistant', … }), or super({ name: 'assistant' }) in a class of your own.",
    );
  });

  test('gives each reply an id of its own', async () => {
    const ids: string[] = [];
    const agent = new TestAgent(async (_msgs, turn) => {
      ids.push(turn.replyId);
      return Msg.assistant('ok');
    });
    await agent.call();
    await agent.call();
    expect(new Set(ids).size).toBe(2);
  });

  test('passes the structured model on to the reply', async () => {
    const schema = { type: 'object' };
    let seen: unknown;
    const agent = new TestAgent(async (_msgs, turn) => {
      seen = turn.structuredModel;
      return Msg.assistant('ok');
    });
    await agent.call('hi', { structuredModel: schema });
    expect(seen).toBe(schema);
  });

  test('a failing reply rejects the call, runs the error hooks, and frees the agent', async () => {
    let failing = true;
    const agent = new TestAgent(async () => {
      if (failing) throw new RangeError('broken');
      return Msg.assistant('ok');
    });
    const seen: unknown[] = [];
    agent.registerInstanceHook('error', 'bad', () => {
      throw new Error('the hook fails too');
    });
    agent.registerInstanceHook(
      'error',
      'note',
      (_agent, { error, msgs }) => void seen.push(error, msgs[0]?.text),
    );
    const events = collect(agent.stream('hi'));
    await expect(events).rejects.toThrow(RangeError);
    expect(seen).toEqual([new RangeError('broken'), 'hi']);
    failing = false;
    expect((await agent.call()).text).toBe('ok');
  });

  test('has a run configuration of its own', async () => {
    const agent = new TestAgent(async () => {
      setRunConfig({ project: 'inner' });
      await undefined;
      return Msg.assistant(getRunConfig().project);
    });
    await withRunConfig({ project: 'outer' }, async () => {
      expect((await agent.call()).text).toBe('inner');
      expect(getRunConfig().project).toBe('outer');
    });
  });
});

describe('hooks around a call', () => {
  test('run in the stated order and pass changes on', async () => {
    const order: string[] = [];
    const agent = new TestAgent(async (msgs, turn, self) => {
      order.push(`reply ${msgs.map((msg) => msg.text).join()}`);
      return echo(msgs, turn, self);
    });
    const add =
      (text: string) =>
      (_agent: AgentBase, { msgs }: { msgs: readonly Msg[] }) => {
        order.push(text);
        return { msgs: [...msgs, Msg.user(text)] };
      };
    agent.registerInstanceHook('preReply', 'a', add('preReply'));
    agent.registerInstanceHook('preCall', 'a', add('preCall'));
    agent.registerInstanceHook('prePrint', 'a', (_agent, { msg }) => {
      order.push('prePrint');
      return { msg: msg.with({ content: msg.text.toUpperCase() }) };
    });
    agent.registerInstanceHook('postReply', 'a', (_agent, _args, result) => {
      order.push('postReply');
      return result.with({ content: `${result.text}!` });
    });
    agent.registerInstanceHook('postCall', 'a', (_agent, _args, result) => {
      order.push('postCall');
      return result.with({ content: `${result.text}?` });
    });
    agent.setMsgQueueEnabled(true);
    expect((await agent.call('hi')).text).toBe('You said: hi preCall preReply!?');
    expect(order).toEqual([
      'preCall',
      'preReply',
      'reply hi,preCall,preReply',
      'prePrint',
      'postReply',
      'postCall',
    ]);
    expect((await agent.msgQueue?.take())?.msg.text).toBe('YOU SAID: HI PRECALL PREREPLY');
  });

  test('a hook that throws fails the call under its own name, and the next call works', async () => {
    const agent = new TestAgent(echo);
    const remove = agent.registerInstanceHook('preReply', 'guard', () => {
      throw new Error('not today');
    });
    const error = await agent.call('hi').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(HookError);
    expect(error).toMatchObject({
      message: "The preReply hook 'guard' failed: not today",
      hookType: 'preReply',
      hookName: 'guard',
      cause: new Error('not today'),
    });
    remove();
    expect((await agent.call('hi')).text).toBe('You said: hi');
  });

  test.each(['preCall', 'preReply', 'prePrint', 'postPrint', 'postReply'] as const)(
    'an interrupt gets through a %s hook that never settles',
    async (type) => {
      using clock = new FakeClock().install();
      const agent = new TestAgent(echo);
      agent.registerInstanceHook(type, 'stuck', () => new Promise<never>(() => {}));
      const call = agent.call('hi');
      await ticks(20);
      const interrupted = agent.interrupt();
      expect(await timeUntilSettled(clock, call)).toBeLessThan(100);
      expect(await interrupted).toBe(true);
      expect(isInterrupted(await call)).toBe(true);
      expect(agent.isRunning).toBe(false);
    },
  );

  test.each(['postReply', 'postCall'] as const)(
    'a %s hook that returns no message is named',
    async (type) => {
      const agent = new TestAgent(echo);
      agent.registerInstanceHook(type, 'odd', () => 'text' as never);
      await expect(agent.call('hi')).rejects.toThrow(
        `The ${type} hook 'odd' must return nothing or a Msg, not a string.`,
      );
      agent.clearInstanceHooks();
      agent.registerInstanceHook('postPrint', 'odd', () => 'text' as never);
      await expect(agent.call('hi')).rejects.toThrow(
        "The postPrint hook 'odd' must return nothing, not a string.",
      );
    },
  );

  test('a hook may hand over messages in any form, and further arguments of a method pass', async () => {
    const agent = new TestAgent(echo);
    agent.registerInstanceHook('preReply', 'text', () => ({ msgs: 'from the hook' as never }));
    expect((await agent.call('hi')).text).toBe('You said: from the hook');

    const speeches: unknown[] = [];
    class Speaker extends TestAgent {
      override async print(msg: Msg, last?: boolean, speech?: AudioBlock, volume?: string): Promise<void> {
        speeches.push(speech, volume);
        await super.print(msg, last);
      }
    }
    const speaker = new Speaker(echo);
    const speech: AudioBlock = { type: 'audio', source: { type: 'url', url: 'https://example.com/hi.wav' } };
    await speaker.print(Msg.assistant('hi'), true, speech, 'low');
    speaker.registerInstanceHook('prePrint', 'none', () => {});
    await speaker.print(Msg.assistant('hi'), true, speech, 'high');
    expect(speeches).toEqual([speech, 'low', speech, 'high']);
  });

  test.each(['preCall', 'preReply'] as const)(
    'no reply starts when a %s hook returns after the interrupt',
    async (type) => {
      let replies = 0;
      const agent = new TestAgent(async () => {
        replies++;
        return Msg.assistant('');
      });
      let resume = (): void => {};
      agent.registerInstanceHook(type, 'slow', () => new Promise<void>((resolve) => (resume = resolve)));
      const call = agent.call('hi');
      await ticks(20);
      await agent.interrupt();
      expect(isInterrupted(await call)).toBe(true);
      resume();
      await ticks(50);
      expect(replies).toBe(0);
    },
  );

  describe.each(['postReply', 'postCall'] as const)('a stop that comes while a %s hook runs', (type) => {
    const redact = (msg: Msg): Msg => msg.with({ content: 'redacted' });
    /** An agent whose hook runs until `finish`, and an observer of it. */
    const withHook = () => {
      const { promise: hold, resolve: finish } = Promise.withResolvers<void>();
      const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
      const agent = new TestAgent(echo);
      const observer = new TestAgent(echo, { name: 'observer' });
      agent.resetSubscribers('hub', [observer]);
      const hook = async (_agent: unknown, _args: unknown, msg: Msg): Promise<Msg> => {
        reach();
        await hold;
        return redact(msg);
      };
      if (type === 'postReply') agent.registerInstanceHook(type, 'redact', hook);
      else agent.registerInstanceHook(type, 'redact', hook);
      return { agent, observer, reached, finish };
    };

    test('is an interrupt if the hook does not end: the answer without it gets nowhere', async () => {
      const { agent, observer, reached } = withHook();
      const call = agent.call('hi');
      await reached;
      expect(await agent.interrupt('stop')).toBe(true);
      expect(isInterrupted(await call)).toBe(true);
      expect(agent.interrupts).toMatchObject([{ msgs: [{ content: 'stop' }] }]);
      expect(observer.observed).toEqual([(await call).text]);
    });

    test('is too late if the hook ends at once: the answer is the one of the hook', async () => {
      const { agent, observer, reached, finish } = withHook();
      const events = collect(agent.stream('hi'));
      await reached;
      const interrupted = agent.interrupt('stop');
      finish();
      expect(await interrupted).toBe(type === 'postReply'); // before that the reply is not there
      const end = (await events).at(-1);
      expect(end).toMatchObject(
        type === 'postReply'
          ? { status: 'interrupted' }
          : { status: 'finished', msg: { content: 'redacted' } },
      );
      expect(observer.observed).not.toContain('You said: hi');
      expect(observer.observed).toHaveLength(1);
    });

    test('rejects the call if it is an abort, and nobody hears the answer', async () => {
      const { agent, observer, reached } = withHook();
      const caller = new AbortController();
      const call = agent.call('hi', { signal: caller.signal });
      await reached;
      caller.abort(new Error('enough'));
      await expect(call).rejects.toThrow('enough');
      expect(observer.observed).toEqual([]);
      expect(agent.isRunning).toBe(false);
    });

    test('is as prompt when the reader of a stream leaves', async () => {
      const { agent, observer, reached } = withHook();
      const stream = agent.stream('hi');
      await stream.next();
      const next = stream.next();
      await reached;
      await stream.return();
      await next;
      expect([agent.isRunning, observer.observed.includes('You said: hi')]).toEqual([false, false]);
    });
  });
});

describe('one call at a time', () => {
  test('a second call is rejected and leaves the first alone', async () => {
    const agent = new TestAgent(hang);
    const first = agent.call('one');
    await expect(agent.call('two')).rejects.toThrow(AgentBusyError);
    expect(agent.isRunning).toBe(true);
    await agent.interrupt();
    expect(isInterrupted(await first)).toBe(true);
  });

  test('calls queue in order if they are told to', async () => {
    const order: string[] = [];
    const agent = new TestAgent(
      async (msgs) => {
        order.push(`start ${msgs[0]?.text}`);
        await ticks(5);
        order.push(`end ${msgs[0]?.text}`);
        return Msg.assistant(msgs[0]?.text ?? '');
      },
      { onBusy: 'queue' },
    );
    const answers = await Promise.all(['a', 'b', 'c'].map((text) => agent.call(text)));
    expect(answers.map((msg) => msg.text)).toEqual(['a', 'b', 'c']);
    expect(order).toEqual(['start a', 'end a', 'start b', 'end b', 'start c', 'end c']);
  });

  test('a queued call can be aborted while it waits, and the others go on', async () => {
    let resume = (): void => {};
    const gate = new Promise<void>((resolve) => {
      resume = resolve;
    });
    const agent = new TestAgent(
      async (msgs) => {
        await gate;
        return Msg.assistant(msgs[0]?.text ?? '');
      },
      { onBusy: 'queue' },
    );
    const caller = new AbortController();
    const first = agent.call('a');
    const second = agent.call('b', { signal: caller.signal });
    const third = agent.call('c');
    caller.abort(new Error('changed my mind'));
    await expect(second).rejects.toThrow('changed my mind');
    resume();
    expect((await first).text).toBe('a');
    expect((await third).text).toBe('c');
  });

  test("onBusy 'interrupt' stops the running call and goes before queued calls", async () => {
    const started: string[] = [];
    const agent = new TestAgent(async (msgs, turn, self) => {
      started.push(msgs[0]?.text ?? '');
      return msgs[0]?.text === 'slow' ? hang(msgs, turn, self) : echo(msgs, turn, self);
    });
    const slow = agent.call('slow');
    const queued = agent.call('queued', { onBusy: 'queue' });
    const urgent = agent.call('urgent', { onBusy: 'interrupt' });
    expect(isInterrupted(await slow)).toBe(true);
    expect(agent.interrupts.map(({ source }) => source)).toEqual(['caller']);
    expect((await urgent).text).toBe('You said: urgent');
    expect((await queued).text).toBe('You said: queued');
    expect(started).toEqual(['slow', 'urgent', 'queued']);
  });

  test('a call that is aborted already does not interrupt the running one', async () => {
    const agent = new TestAgent(hang);
    const call = agent.call('one');
    const late = agent.call('two', {
      onBusy: 'interrupt',
      signal: AbortSignal.abort(new Error('never mind')),
    });
    await expect(late).rejects.toThrow('never mind');
    expect(agent.isRunning).toBe(true);
    await agent.interrupt();
    await call;
  });

  test.each(['queue', 'interrupt'] as const)(
    'an agent that calls itself with %s is told, instead of waiting for ever',
    async (onBusy) => {
      const agent: TestAgent = new TestAgent(async () => agent.call('again', { onBusy }));
      await expect(agent.call('once')).rejects.toThrow(
        'tester is busy with another call. It can not wait for itself inside its own reply.',
      );
      expect(agent.isRunning).toBe(false);
    },
  );

  test('a state can not be loaded while a call runs', async () => {
    const agent = new TestAgent(hang);
    const call = agent.call();
    expect(() => agent.loadStateDict({})).toThrow(AgentBusyError);
    await agent.interrupt();
    await call;
    agent.loadStateDict({});
  });
});

describe('interrupt', () => {
  test('without a running call does nothing, and does not reach the next one', async () => {
    const agent = new TestAgent(echo);
    expect(await agent.interrupt()).toBe(false);
    expect((await agent.call('hi')).text).toBe('You said: hi');
  });

  test('reaches handleInterrupt with its message, at once, also before the first await', async () => {
    const agent = new TestAgent(hang);
    const call = agent.call('hi');
    const stopped = agent.interrupt('wait, not that');
    expect(await stopped).toBe(true);
    expect(isInterrupted(await call)).toBe(true);
    expect(agent.interrupts).toEqual([
      {
        source: 'user',
        msgs: [expect.objectContaining({ content: 'wait, not that' })],
        unread: [],
        signal: expect.any(AbortSignal),
      },
    ]);
  });

  test('resolves when the agent is free', async () => {
    const agent = new TestAgent(hang);
    const call = agent.call();
    await agent.interrupt();
    expect(agent.isRunning).toBe(false);
    await call;
  });

  test('works from inside the reply without waiting for itself', async () => {
    const agent: TestAgent = new TestAgent(async (_msgs, turn) => {
      expect(await agent.interrupt('enough')).toBe(true);
      turn.signal.throwIfAborted();
      return Msg.assistant('not reached');
    });
    expect(isInterrupted(await agent.call())).toBe(true);
    expect(agent.abandonedReplies).toBe(0);
  });

  test('a reply that finishes in spite of the interrupt is not the answer', async () => {
    const agent = new TestAgent(async () => {
      await ticks(10);
      return Msg.assistant('too late');
    });
    const call = agent.call();
    await ticks(3);
    await agent.interrupt();
    expect(isInterrupted(await call)).toBe(true);
  });

  test('a committed answer stays, and the interrupt returns false', async () => {
    const agent = new TestAgent(async (_msgs, turn) => {
      const answer = Msg.assistant('committed');
      turn.commit(answer);
      await ticks(10); // as if it were being stored
      return answer;
    });
    const call = agent.call();
    await ticks(3);
    expect(await agent.interrupt()).toBe(false);
    expect((await call).text).toBe('committed');
    expect(agent.interrupts).toEqual([]);
  });

  test('twice is one outcome; the second ends a handleInterrupt that hangs', async () => {
    const agent = new TestAgent(hang);
    agent.onInterrupt = () => new Promise<never>(() => {});
    const call = agent.call();
    void agent.interrupt();
    await ticks(20);
    expect(agent.interrupts.length).toBe(1);
    expect(await agent.interrupt()).toBe(false);
    expect(isInterrupted(await call)).toBe(true);
    expect(agent.isRunning).toBe(false);
  });

  test('settles in under 50 ms even if the reply ignores its signal', async () => {
    const clock = new FakeClock();
    using _installed = clock.install();
    const agent = new TestAgent(ignoreSignal);
    const call = agent.call();
    const stopped = agent.interrupt();
    await clock.advance(49); // the only time that passes
    expect(await stopped).toBe(true);
    expect(agent.isRunning).toBe(false);
    expect(isInterrupted(await call)).toBe(true);
    expect(agent.abandonedReplies).toBe(1);
  });

  test('the text of the answer is an option', async () => {
    const agent = new TestAgent(hang, { interruptReply: 'Stopped.' });
    const call = agent.call();
    await agent.interrupt();
    expect((await call).text).toBe('Stopped.');
  });

  test('an answer of a handleInterrupt of the program is marked as one', async () => {
    const agent = new TestAgent(hang);
    agent.handleInterrupt = async () => Msg.assistant('Stopped.', { metadata: { own: 1 } });
    const call = agent.call();
    await agent.interrupt();
    expect(await call).toMatchObject({
      text: 'Stopped.',
      endReason: 'interrupted',
      metadata: { own: 1, _is_interrupted: true },
    });
  });

  test('leaving a stream does not wait for a hanging handleInterrupt', async () => {
    using clock = new FakeClock().install();
    const agent = new TestAgent(hang);
    agent.onInterrupt = () => new Promise<never>(() => {});
    const caller = new AbortController();
    const call = agent.call('hi', { signal: caller.signal });
    void agent.interrupt();
    await ticks(20);
    caller.abort(new Error('gone'));
    expect(await timeUntilSettled(clock, call)).toBeLessThan(100);
    expect(isInterrupted(await call)).toBe(true);
  });

  test('of another agent, from inside a reply, resolves when that one is free', async () => {
    const worker = new TestAgent(hang, { name: 'worker' });
    let wasFree: boolean | undefined;
    const boss = new TestAgent(async () => {
      const work = worker.call('go', { lifetime: 'detached' });
      await ticks(5);
      await worker.interrupt();
      wasFree = !worker.isRunning;
      return work;
    });
    await boss.call();
    expect(wasFree).toBe(true);
  });

  test('a handleInterrupt that returns no message fails the call', async () => {
    class Wrong extends TestAgent {
      override handleInterrupt(): Promise<Msg> {
        return 'text' as never;
      }
    }
    const agent = new Wrong(hang);
    const call = agent.call();
    void agent.interrupt();
    await expect(call).rejects.toThrow('handleInterrupt() of Wrong must return a Msg, not a string.');
    expect(agent.isRunning).toBe(false);
  });

  test('a failing handleInterrupt fails the call and frees the agent', async () => {
    const agent = new TestAgent(hang);
    agent.onInterrupt = async () => {
      throw new Error('no memory left');
    };
    const errors: unknown[] = [];
    agent.registerInstanceHook('error', 'note', (_agent, { error }) => void errors.push(error));
    const call = agent.call();
    void agent.interrupt();
    await expect(call).rejects.toThrow('no memory left');
    expect(errors).toEqual([new Error('no memory left')]);
    expect(agent.isRunning).toBe(false);
  });
});

describe('a foreign signal', () => {
  test('rejects the call with its own reason; nobody apologises', async () => {
    const agent = new TestAgent(hang);
    const caller = new AbortController();
    const call = agent.call('hi', { signal: caller.signal });
    const reason = new Error('client went away');
    caller.abort(reason);
    await expect(call).rejects.toBe(reason);
    expect(agent.interrupts).toEqual([]);
    expect(agent.isRunning).toBe(false);
  });

  test('already aborted keeps the reply from starting', async () => {
    let replies = 0;
    const agent = new TestAgent(async () => {
      replies++;
      return Msg.assistant('');
    });
    await expect(agent.call('hi', { signal: AbortSignal.abort(new Error('never mind')) })).rejects.toThrow(
      'never mind',
    );
    expect(replies).toBe(0);
  });
});

describe('nested agent calls', () => {
  const ask =
    (worker: TestAgent): Reply =>
    async (_msgs, _turn, agent) =>
      Msg.assistant(`${agent.name} asked: ${(await worker.call('go')).text}`, { name: agent.name });

  test('an interrupted parent stops its child, and only the parent answers', async () => {
    const child = new TestAgent(hang, { name: 'child' });
    const parent = new TestAgent(ask(child), { name: 'parent' });
    const call = parent.call();
    await ticks(3);
    expect(child.isRunning).toBe(true);
    await parent.interrupt();
    expect(isInterrupted(await call)).toBe(true);
    expect(child.isRunning).toBe(false);
    expect(child.interrupts).toEqual([]);
  });

  test('an interrupted child answers its parent, which goes on', async () => {
    const child = new TestAgent(hang, { name: 'child', interruptReply: 'I was stopped.' });
    const parent = new TestAgent(ask(child), { name: 'parent' });
    const call = parent.call();
    await ticks(3);
    expect(await child.interrupt()).toBe(true);
    expect((await call).text).toBe('parent asked: I was stopped.');
  });

  test('a detached child goes on when its parent stops', async () => {
    const child = new TestAgent(hang, { name: 'child' });
    const parent = new TestAgent(async (_msgs, turn) => {
      const call = child.call('go', { lifetime: 'detached' });
      call.catch(() => {});
      return turn.step({ kind: 'other', name: 'wait' }, () => call);
    });
    const call = parent.call();
    await ticks(3);
    await parent.interrupt();
    await call;
    expect(child.isRunning).toBe(true);
    await child.interrupt();
  });

  test('a child can not be called by a parent that was stopped', async () => {
    let replies = 0;
    const child = new TestAgent(async () => {
      replies++;
      return Msg.assistant('');
    });
    let resume = (): void => {};
    let late: Promise<unknown> = Promise.resolve();
    const parent = new TestAgent(async () => {
      await new Promise<void>((resolve) => {
        resume = resolve;
      });
      late = child.call('late').catch((error: unknown) => error);
      return Msg.assistant('');
    });
    const call = parent.call();
    await parent.interrupt();
    await call;
    resume();
    await ticks(10);
    expect(await late).toBeInstanceOf(InterruptedError);
    expect(replies).toBe(0);
  });

  test('events carry the path; the stream shows nested ones only if asked', async () => {
    const child = new TestAgent(echo, { name: 'child' });
    const parent = new TestAgent(ask(child), { name: 'parent' });
    const paths = (events: AgentEvent[]): string[] =>
      events.map(({ agentPath, type }) => `${agentPath.join('/')} ${type}`);
    expect(paths(await collect(parent.stream('hi')))).toEqual([
      'parent reply_start',
      'parent reply_end',
      'parent run_end',
    ]);

    const events = await collect(parent.stream('hi', { nested: true }));
    expect(paths(events)).toEqual([
      'parent reply_start',
      'parent/child reply_start',
      'parent/child block_start',
      'parent/child text_delta',
      'parent/child block_end',
      'parent/child reply_end',
      'parent reply_end',
      'parent run_end',
    ]);
    expect(events.map(({ seq }) => seq)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(new Set(events.map(({ runId }) => runId)).size).toBe(1);
    expect(new Set(events.map(({ replyId }) => replyId)).size).toBe(2);
  });
});

describe('stream', () => {
  test('is the same call, event by event, and returns the answer', async () => {
    const agent = new TestAgent(echo);
    const stream = agent.stream('hi');
    const types: string[] = [];
    let step = await stream.next();
    for (; !step.done; step = await stream.next()) types.push(step.value.type);
    expect(types).toEqual(['reply_start', 'block_start', 'text_delta', 'block_end', 'reply_end', 'run_end']);
    expect(step.value.text).toBe('You said: hi');
  });

  test.each<[string, Reply, string]>([
    ['finished', echo, 'finished'],
    [
      'failed',
      async () => {
        throw new Error('broken');
      },
      'failed',
    ],
    ['interrupted', hang, 'interrupted'],
    ['aborted', hang, 'aborted'],
  ])('ends in exactly one run_end when it %s', async (how, reply, status) => {
    const agent = new TestAgent(reply);
    const caller = new AbortController();
    const events: AgentEvent[] = [];
    const reading = (async () => {
      for await (const event of agent.stream('hi', { signal: caller.signal })) events.push(event);
    })().catch(() => {});
    await ticks(20);
    if (how === 'interrupted') await agent.interrupt();
    if (how === 'aborted') caller.abort(new Error('gone'));
    await reading;
    expect(events.filter(({ type }) => type === 'run_end')).toEqual([events.at(-1)]);
    expect(events.at(-1)).toMatchObject({ type: 'run_end', status });
    expect(JSON.parse(JSON.stringify(events))).toHaveLength(events.length);
  });

  test('ends every block once, also of a message that an interrupt cut off', async () => {
    const agent = new TestAgent(async (msgs, turn, self) => {
      await self.print(Msg.assistant('half a sent', { id: 'half' }), false);
      return hang(msgs, turn, self);
    });
    const reading = collect(agent.stream('hi'));
    await ticks(20);
    await agent.interrupt();
    const blocks = (await reading).filter(
      (event) => event.type === 'block_start' || event.type === 'block_end',
    );
    expect(blocks.map(({ type, msgId }) => [type, msgId === 'half'])).toEqual([
      ['block_start', true],
      ['block_end', true],
      ['block_start', false],
      ['block_end', false],
    ]);
  });

  test('leaving the stream interrupts the call and waits for its end', async () => {
    const agent = new TestAgent(async (msgs, turn, self) => {
      await self.print(Msg.assistant('working'), true);
      return hang(msgs, turn, self);
    });
    for await (const event of agent.stream('hi')) if (event.type === 'text_delta') break;
    expect(agent.isRunning).toBe(false);
    expect(agent.interrupts.map(({ source }) => source)).toEqual(['consumer']);
  });

  test('a consumer that stops reading for ever does not hold up an interrupt', async () => {
    let isTested = false; // nothing else stops this reply, also beside all further tests of this process
    const agent = new TestAgent(async (_msgs, _turn, self) => {
      while (!isTested) await self.print(Msg.assistant('more'), true);
      return Msg.assistant('late');
    });
    const stream = agent.stream('hi');
    await stream.next();
    await ticks(2000);
    expect(await agent.interrupt()).toBe(true);
    expect(agent.isRunning).toBe(false);
    isTested = true;
  });

  test('a busy agent rejects the stream', async () => {
    const agent = new TestAgent(hang);
    const call = agent.call();
    await expect(collect(agent.stream('hi'))).rejects.toThrow(AgentBusyError);
    await agent.interrupt();
    await call;
  });
});

describe('steer and followUp', () => {
  test('are refused when nothing runs', () => {
    const agent = new TestAgent(echo);
    expect(agent.steer('left')).toBe(false);
    expect(agent.followUp('and then?')).toBe(false);
  });

  test('steering is read at the next step of the running reply', async () => {
    const agent = new TestAgent(async (_msgs, turn) => {
      await ticks(5);
      return Msg.assistant(
        turn
          .takeSteering()
          .map((msg) => msg.text)
          .join(),
      );
    });
    const call = agent.call('go');
    expect(agent.steer('left')).toBe(true);
    expect(agent.steer('right')).toBe(true);
    expect((await call).text).toBe('left,right');
  });

  test('a follow-up is answered after the reply, in the same run; unread steering too', async () => {
    const agent = new TestAgent(echo);
    const events: AgentEvent[] = [];
    const stream = agent.stream('one');
    events.push((await stream.next()).value as AgentEvent);
    expect(agent.followUp('two')).toBe(true);
    expect(agent.steer('left')).toBe(true);
    for await (const event of stream) events.push(event);
    const deltas = events.flatMap((event) => (event.type === 'text_delta' ? [event.text] : []));
    expect(deltas).toEqual(['You said: one', 'You said: left two']);
    expect(events.filter(({ type }) => type === 'run_end')).toEqual([events.at(-1)]);
    expect(new Set(events.map(({ replyId }) => replyId)).size).toBe(2);
  });

  test('a follow-up that comes too late to be answered is refused, not lost', async () => {
    const agent = new TestAgent(echo);
    const accepted: boolean[] = [];
    for await (const event of agent.stream('one')) {
      if (event.type === 'run_end') accepted.push(agent.followUp('two'), agent.steer('left'));
    }
    expect(accepted).toEqual([false, false]);
  });

  test('unread messages reach handleInterrupt', async () => {
    const agent = new TestAgent(hang);
    const call = agent.call();
    agent.steer('left');
    agent.followUp('and then?');
    await agent.interrupt();
    await call;
    expect(agent.interrupts[0]?.unread.map((msg) => msg.text)).toEqual(['left', 'and then?']);
  });
});

describe('broadcast', () => {
  test('reaches every subscriber once, without thinking, and never the speaker', async () => {
    const [a, b] = [new TestAgent(echo, { name: 'a' }), new TestAgent(echo, { name: 'b' })];
    const speaker: TestAgent = new TestAgent(async () =>
      Msg.assistant([
        { type: 'thinking', thinking: 'secret' },
        { type: 'text', text: 'hello' },
      ]),
    );
    speaker.resetSubscribers('hub 1', [a, b, speaker]);
    speaker.resetSubscribers('hub 2', [a]);
    const heard: Msg[] = [];
    a.registerInstanceHook('preObserve', 'note', (_agent, { msgs }) => void heard.push(...msgs));
    const answer = await speaker.call();
    expect([a.observed, b.observed, speaker.observed]).toEqual([['hello'], ['hello'], []]);
    expect(heard[0]?.id).toBe(answer.id);
    expect(heard[0]?.content).toEqual([{ type: 'text', text: 'hello' }]);
    expect(answer.hasContentBlocks('thinking')).toBe(true);
  });

  test('a failing observer is reported once and breaks nobody', async () => {
    const good = new TestAgent(echo, { name: 'good' });
    const bad = new TestAgent(echo, { name: 'bad' });
    bad.registerInstanceHook('preObserve', 'broken', () => {
      throw new Error('deaf');
    });
    const speaker = new TestAgent(echo);
    speaker.resetSubscribers('hub', [bad, good]);
    const events = await collect(speaker.stream('hi'));
    expect(good.observed).toEqual(['You said: hi']);
    expect(events.filter(({ type }) => type === 'error')).toMatchObject([
      { error: { message: "bad could not observe tester: The preObserve hook 'broken' failed: deaf" } },
    ]);
  });

  test('a hanging observer is given up on after a while, and an interrupt ends the waiting at once', async () => {
    const clock = new FakeClock();
    using _installed = clock.install();
    const slow = new TestAgent(echo, { name: 'slow' });
    slow.registerInstanceHook('preObserve', 'stuck', () => new Promise<never>(() => {}));
    const speaker = new TestAgent(echo);
    speaker.resetSubscribers('hub', [slow]);

    const call = speaker.call('hi');
    await ticks(50);
    await clock.advance(59_999);
    await ticks(50);
    expect(speaker.isRunning).toBe(true);
    await clock.advance(1);
    expect((await call).text).toBe('You said: hi');

    const second = speaker.call('again');
    await ticks(50);
    expect(await speaker.interrupt()).toBe(false);
    expect((await second).text).toBe('You said: again');
  });

  test('a caller who leaves does not wait for a hanging observer either; no timer stays behind', async () => {
    const clock = new FakeClock();
    using _installed = clock.install();
    const stuck = new TestAgent(echo, { name: 'stuck' });
    stuck.registerInstanceHook('preObserve', 'stuck', () => new Promise<never>(() => {}));
    const speaker = new TestAgent(echo);
    speaker.resetSubscribers('hub', [stuck]);
    const caller = new AbortController();
    const call = speaker.call('hi', { signal: caller.signal });
    await ticks(50);
    caller.abort(new Error('gone'));
    expect((await call).text, 'the answer was there').toBe('You said: hi');
    expect(clock.pendingTimers).toBe(0);

    const parent = new TestAgent(async () => speaker.call('hi'), { name: 'parent' });
    const outer = parent.call('go');
    await ticks(50);
    await parent.interrupt();
    expect(speaker.isRunning).toBe(false);
    expect(isInterrupted(await outer)).toBe(true);
  });

  test('interrupted replies are broadcast too', async () => {
    const listener = new TestAgent(echo);
    const speaker = new TestAgent(hang, { interruptReply: 'Stopped.' });
    speaker.resetSubscribers('hub', [listener]);
    const call = speaker.call();
    await speaker.interrupt();
    await call;
    expect(listener.observed).toEqual(['Stopped.']);
  });
});

describe('print', () => {
  async function shown(print: (agent: TestAgent) => Promise<void>): Promise<string> {
    let output = '';
    const agent = new TestAgent(echo, { name: 'bob' });
    agent.setConsoleOutputEnabled(true, new ConsoleView((text) => (output += text)));
    await print(agent);
    return output;
  }

  test('writes what is new: text, thinking, tool calls and a mention of media, under the name', async () => {
    const output = await shown(async (agent) => {
      const msg = (content: Msg['content']): Msg => Msg.assistant(content, { id: 'm', name: 'bob' });
      await agent.print(msg([{ type: 'thinking', thinking: 'Hm' }]), false);
      await agent.print(msg([{ type: 'thinking', thinking: 'Hmm.' }]), false);
      await agent.print(
        msg([
          { type: 'thinking', thinking: 'Hmm.' },
          { type: 'text', text: 'Yes' },
        ]),
        false,
      );
      await agent.print(
        msg([
          { type: 'thinking', thinking: 'Hmm.' },
          { type: 'text', text: 'Yes, sir.' },
          { type: 'tool_use', id: 'c', name: 'add', input: { a: 1 } },
          { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
        ]),
        true,
      );
    });
    expect(output).toBe('bob(thinking): Hmm.\nbob: Yes, sir.\nbob → add(a: 1)\nbob: [image, example.com]\n');
  });

  test('prints each part of a message once', async () => {
    const output = await shown(async (agent) => {
      const msg = Msg.assistant('same', { name: 'bob' });
      await agent.print(msg, false);
      await agent.print(msg, false);
      await agent.print(msg, true);
      await agent.print(msg, true);
    });
    expect(output).toBe('bob: same\n');
  });

  test('keeps control characters of a model away from the terminal', async () => {
    expect(
      await shown((agent) =>
        agent.print(Msg.assistant('a\u001b[31mred\u0007\tb\nc\u009b0m', { name: 'bob' })),
      ),
    ).toBe('bob: a[31mred\tb\nc0m\n');
  });

  test('prints the same text again in another call', async () => {
    const canned = Msg.assistant('as always', { name: 'bob' });
    const agent = new TestAgent(async (_msgs, _turn, self) => {
      await self.print(canned);
      await self.print(canned);
      return canned;
    });
    let output = '';
    agent.setConsoleOutputEnabled(true, new ConsoleView((text) => (output += text)));
    await agent.call();
    await agent.call();
    expect(output).toBe('bob: as always\nbob: as always\n');
  });

  test('agents that speak at the same time get lines of their own', async () => {
    let output = '';
    const view = new ConsoleView((text) => (output += text));
    const [a, b] = [new TestAgent(echo), new TestAgent(echo)];
    a.setConsoleOutputEnabled(true, view);
    b.setConsoleOutputEnabled(true, view);
    await a.print(Msg.assistant('one', { id: 'a', name: 'ann' }), false);
    await b.print(Msg.assistant('two', { id: 'b', name: 'ben' }), false);
    await a.print(Msg.assistant('one more', { id: 'a', name: 'ann' }), true);
    await b.print(Msg.assistant('two more', { id: 'b', name: 'ben' }), true);
    expect(output).toBe('ann: one\nben: two\nann:  more\nben:  more\n');
  });

  test('ends the line of a message that an interrupt cut off', async () => {
    let output = '';
    const agent = new TestAgent(async (msgs, turn, self) => {
      await self.print(Msg.assistant('half a sent', { name: 'bob' }), false);
      return hang(msgs, turn, self);
    });
    agent.setConsoleOutputEnabled(true, new ConsoleView((text) => (output += text)));
    const call = agent.call();
    await ticks(5);
    await agent.interrupt();
    await call;
    expect(output).toBe(
      'bob: half a sent\ntester: I noticed that you have interrupted me. What can I do for you?\n',
    );
  });

  test('fills a bounded queue and waits for its reader, but not once it is interrupted', async () => {
    const agent = new TestAgent(async (_msgs, turn, self) => {
      for (let i = 0; ; i++) {
        turn.signal.throwIfAborted();
        await self.print(Msg.assistant(`${i}`), true);
      }
    });
    agent.setMsgQueueEnabled(true);
    const call = agent.call();
    await ticks(2000);
    expect(agent.msgQueue?.capacity).toBe(100);
    expect(agent.msgQueue?.size).toBe(100);
    expect((await agent.msgQueue?.take())?.msg.text).toBe('0');
    expect(await agent.interrupt()).toBe(true);
    expect(isInterrupted(await call)).toBe(true);
    agent.setMsgQueueEnabled(false);
    expect(agent.msgQueue).toBeUndefined();
  });
});

describe('dispose', () => {
  test('interrupts what runs and takes no more calls', async () => {
    const agent = new TestAgent(hang);
    const call = agent.call();
    {
      await using scoped = agent;
      expect(scoped.isRunning).toBe(true);
    }
    expect(isInterrupted(await call)).toBe(true);
    expect(agent.interrupts.map(({ source }) => source)).toEqual(['dispose']);
    await expect(agent.call()).rejects.toThrow(AgentClosedError);
  });
});

test('currentTurn is the turn of the code that asks, through timers and awaits', async () => {
  const seen: (string | undefined)[] = [];
  const agent = (name: string): TestAgent =>
    new TestAgent(
      async (_msgs, turn) => {
        await sleep(1);
        seen.push(currentTurn()?.agentPath.join('/'));
        return Msg.assistant(turn.replyId);
      },
      { name },
    );
  await Promise.all([agent('a').call(), agent('b').call()]);
  expect(new Set(seen)).toEqual(new Set(['a', 'b']));
  expect(currentTurn()).toBeUndefined();
});

test('endless calls of other agents are stopped by the number of agent calls in a run', async () => {
  let calls = 0;
  class Asks extends AgentBase {
    override async reply(): Promise<Msg> {
      calls++;
      for (let i = 0; i < 20_000; i++) await new Says({ name: 'b' }).call();
      return Msg.assistant('never');
    }
  }
  class Says extends AgentBase {
    override async reply(): Promise<Msg> {
      calls++;
      return Msg.assistant('yes');
    }
  }
  const agent = new Asks({ name: 'a' });
  agent.setConsoleOutputEnabled(false);
  await expect(agent.call()).rejects.toMatchObject({
    code: 'too_deep',
    message: 'Agents called each other more than 10000 times: a > b > ….',
  });
  expect(calls).toBe(10_000);
});
