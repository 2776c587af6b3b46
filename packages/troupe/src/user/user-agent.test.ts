import { beforeEach, describe, expect, expectTypeOf, test, vi } from 'vitest';

import { timeUntilSettled } from '../../test/time-until-settled.ts';
import { InputEndedError } from '../errors.ts';
import type { AgentEvent } from '../event/agent-event.ts';
import type { Step, StepRunner } from '../event/step.ts';
import { Msg } from '../message/msg.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { BoundedQueue } from '../util/async/bounded-queue.ts';
import type { Terminal } from '../util/platform/platform.ts';
import { ConsoleView } from '../agent/printing/console-view.ts';
import { UserAgent, type UserAgentOptions } from './user-agent.ts';
import {
  ProgrammaticUserInput,
  TerminalUserInput,
  UserInputBase,
  type UserInputData,
  type UserInputRequest,
} from './user-input.ts';

const terminal = vi.hoisted(() => ({ lines: [] as string[], prompts: [] as string[] }));

vi.mock('#platform', async (importOriginal) => ({
  ...(await importOriginal<object>()),
  async openTerminal(): Promise<Terminal> {
    const ask = async (prompt: string): Promise<string | undefined> => {
      terminal.prompts.push(prompt);
      return terminal.lines.shift();
    };
    return { ask, say: () => {}, close: () => {} };
  },
}));

beforeEach(() => {
  for (const list of Object.values(terminal)) list.length = 0;
});

const decision = {
  type: 'object',
  properties: { thinking: { type: 'string' }, decision: { type: 'string' } },
  required: ['thinking', 'decision'],
};

/** Answers on command, and ignores the signal. */
class SlowInput extends UserInputBase {
  readonly questions = new BoundedQueue<{ request: UserInputRequest; answer: (content: string) => void }>(10);

  ask(request: UserInputRequest): Promise<UserInputData> {
    return new Promise((resolve) => {
      void this.questions.put({ request, answer: (content) => resolve({ content }) });
    });
  }

  async nextQuestion(): Promise<{ request: UserInputRequest; answer: (content: string) => void }> {
    return (await this.questions.take())!;
  }
}

function quietAgent(options: Partial<UserAgentOptions> = {}): UserAgent {
  const agent = new UserAgent({ name: 'Ada', ...options });
  agent.setConsoleOutputEnabled(false);
  return agent;
}

const answering = (...answers: readonly string[]): ProgrammaticUserInput =>
  new ProgrammaticUserInput(answers);

describe('a user agent', () => {
  test('asks on the terminal for text and then for each field of the structured model', async () => {
    terminal.lines.push('Hi!', 'sth', 'apple');
    const msg = await quietAgent().call(undefined, { structuredModel: decision });
    expect(msg.toJSON()).toEqual({
      id: msg.id,
      name: 'Ada',
      role: 'user',
      content: 'Hi!',
      metadata: { thinking: 'sth', decision: 'apple' },
      timestamp: msg.timestamp,
    });
    expect(terminal.prompts).toEqual(['User Input: ', '  thinking (string): ', '  decision (string): ']);
  });

  test('passes agent, structured model and signal to the input method', async () => {
    const input = new SlowInput();
    const agent = quietAgent({ input });
    const call = agent.call(undefined, { structuredModel: decision });
    const { request, answer } = await input.nextQuestion();
    expect(agent.isWaitingForInput).toBe(true);
    const { signal, ...rest } = request;
    expect(rest).toEqual({ agentId: agent.id, agentName: 'Ada', structuredModel: decision });
    expect(signal.aborted).toBe(false);
    answer('x');
    expect((await call).metadata).toEqual({});
    expect(agent.isWaitingForInput).toBe(false);
  });

  test('replaces a single text block by its text, and keeps other blocks', async () => {
    const text = { type: 'text' as const, text: 'a' };
    const image = { type: 'image' as const, source: { type: 'url' as const, url: 'https://x.org/a.png' } };
    const agent = quietAgent({ input: new ProgrammaticUserInput([[text], [text, text], [image], []]) });
    const contents = [];
    for (let i = 0; i < 4; i++) contents.push((await agent.call()).content);
    expect(contents).toEqual(['a', [text, text], [image], []]);
  });

  test('observes nothing', async () => {
    const agent = quietAgent();
    await expect(agent.observe(Msg.user('hi'))).resolves.toBeUndefined();
    expect(agent.stateDict()).toEqual({});
    expect(terminal.prompts).toEqual([]);
  });

  test('asks in a step, so that a durable run can record the answer', async () => {
    const steps: Step[] = [];
    const runStep: StepRunner = (step, body) => {
      steps.push(step);
      return body();
    };
    await quietAgent({ input: answering('a') }).call(undefined, { runStep });
    expect(steps).toEqual([{ kind: 'input', name: 'user input', key: 'input:user input#1' }]);
  });

  test('rejects with the error of its input method, and can be called again', async () => {
    const agent = quietAgent({ input: answering() });
    await expect(agent.call()).rejects.toThrow(InputEndedError);
    expect(agent.isWaitingForInput).toBe(false);
    await expect(agent.call()).rejects.toThrow(InputEndedError);
  });

  test('refuses an invalid answer', async () => {
    class Broken extends UserInputBase {
      async ask(): Promise<UserInputData> {
        return undefined as never;
      }
    }
    await expect(quietAgent({ input: new Broken() }).call()).rejects.toThrow(
      'ask() of Broken must return { content, structured? }, not undefined.',
    );
    const odd = new ProgrammaticUserInput([{ content: 5 as never }]);
    await expect(quietAgent({ input: odd }).call()).rejects.toThrow(
      'content must be a string or a list of blocks',
    );
  });
});

describe('a printed answer', () => {
  /** Runs one call and gives all that came out of the agent. */
  async function outputOf(
    agent: UserAgent,
  ): Promise<{ console: string; events: string[]; queue: unknown[]; hooks: number }> {
    let written = '';
    let hooks = 0;
    agent.setConsoleOutputEnabled(true, new ConsoleView((text) => (written += text)));
    agent.setMsgQueueEnabled(true);
    agent.registerInstanceHook('postPrint', 'count', () => void hooks++);
    const events: AgentEvent[] = [];
    for await (const event of agent.stream()) events.push(event);
    const queue = [];
    while (agent.msgQueue !== undefined && agent.msgQueue.size > 0) queue.push(await agent.msgQueue.take());
    const texts = events.flatMap((event) => (event.type === 'text_delta' ? [event.text] : [event.type]));
    return { console: written, events: texts, queue, hooks };
  }

  const events = ['reply_start', 'block_start', 'Hi!', 'block_end', 'reply_end', 'run_end'];
  const queue = [{ msg: expect.objectContaining({ name: 'Ada', content: 'Hi!' }) as Msg, last: true }];

  test('goes to console and queue if it was not typed on the console', async () => {
    const agent = new UserAgent({ name: 'Ada', input: answering('Hi!') });
    expect(await outputOf(agent)).toEqual({ console: 'Ada: Hi!\n', events, queue, hooks: 1 });
  });

  test('is not repeated on the console if it was typed on the console', async () => {
    terminal.lines.push('Hi!');
    expect(await outputOf(new UserAgent({ name: 'Ada' }))).toEqual({ console: '', events, queue, hooks: 1 });
  });

  test('does not keep later messages from the console', async () => {
    terminal.lines.push('Hi!');
    const agent = new UserAgent({ name: 'Ada' });
    await outputOf(agent);
    let written = '';
    agent.setConsoleOutputEnabled(true, new ConsoleView((text) => (written += text)));
    await agent.print(Msg.user('more', { name: 'Ada' }));
    expect(written).toBe('Ada: more\n');
  });

  test('waits for space in a full queue, until an interrupt', async () => {
    terminal.lines.push('Hi!');
    const agent = quietAgent();
    agent.setMsgQueueEnabled(true);
    for (let i = 0; i < 100; i++) await agent.msgQueue?.put({ msg: Msg.user('old'), last: true });
    const printing = new Promise<void>((resolve) => {
      agent.registerInstanceHook('prePrint', 'tell', () => resolve());
    });
    const call = agent.call();
    await printing;
    await agent.interrupt();
    expect((await call).metadata).toEqual({ _is_interrupted: true });
    expect(agent.abandonedReplies).toBe(0);
  });
});

describe('an interrupt of a user agent', () => {
  test('withdraws the question at once, even from an input method that ignores its signal', async () => {
    using clock = new FakeClock().install();
    const input = new SlowInput();
    const agent = quietAgent({ input });
    const call = agent.call();
    const { request } = await input.nextQuestion();
    const interrupted = agent.interrupt();
    expect(await timeUntilSettled(clock, call)).toBeLessThan(100);
    expect(await interrupted).toBe(true);
    const msg = await call;
    expect(request.signal.aborted).toBe(true);
    expect([msg.name, msg.role, msg.text, msg.metadata]).toEqual([
      'Ada',
      'user',
      'The question was withdrawn before I answered it.',
      { _is_interrupted: true },
    ]);
    expect([agent.isRunning, agent.isWaitingForInput, agent.abandonedReplies]).toEqual([false, false, 0]);
  });

  test('drops a late answer, and the next call asks again', async () => {
    const input = new SlowInput();
    const agent = quietAgent({ input });
    agent.setMsgQueueEnabled(true);
    const call = agent.call();
    const late = await input.nextQuestion();
    await agent.interrupt();
    await call;
    late.answer('late');
    const next = agent.call();
    (await input.nextQuestion()).answer('in time');
    expect((await next).content).toBe('in time');
    const printed = [await agent.msgQueue?.take(), await agent.msgQueue?.take()].map(
      (item) => item?.msg.text,
    );
    expect(printed).toEqual(['The question was withdrawn before I answered it.', 'in time']);
    expect(agent.msgQueue?.size).toBe(0);
  });

  test('uses the option interruptReply', async () => {
    const input = new SlowInput();
    const agent = quietAgent({ input, interruptReply: 'Never mind.' });
    const call = agent.call();
    await input.nextQuestion();
    await agent.interrupt();
    expect([(await call).text, (await call).role]).toEqual(['Never mind.', 'user']);
  });

  test('differs from an abort, which rejects', async () => {
    const input = new SlowInput();
    const caller = new AbortController();
    const call = quietAgent({ input }).call(undefined, { signal: caller.signal });
    await input.nextQuestion();
    caller.abort(new Error('the page was closed'));
    await expect(call).rejects.toThrow('the page was closed');
  });
});

describe('the input method', () => {
  class Visitor extends UserAgent {}
  class Guest extends Visitor {}
  class Member extends UserAgent {}

  async function ask(cls: typeof UserAgent): Promise<string> {
    const agent = new cls({ name: 'Ada' });
    agent.setConsoleOutputEnabled(false);
    terminal.lines = ['terminal'];
    return (await agent.call()).text;
  }

  test('of a class applies to its subclasses, not to siblings or base classes', async () => {
    const restore = Visitor.overrideClassInputMethod(new ProgrammaticUserInput(() => 'class'));
    expect([await ask(UserAgent), await ask(Visitor), await ask(Guest), await ask(Member)]).toEqual([
      'terminal',
      'class',
      'class',
      'terminal',
    ]);
    restore();
    expect([await ask(Visitor), await ask(Guest)]).toEqual(['terminal', 'terminal']);
  });

  test('of the nearest class counts, and each can be removed in any order', async () => {
    const first = UserAgent.overrideClassInputMethod(new ProgrammaticUserInput(() => 'first'));
    const second = UserAgent.overrideClassInputMethod(new ProgrammaticUserInput(() => 'second'));
    const guest = Guest.overrideClassInputMethod(new ProgrammaticUserInput(() => 'guest'));
    expect([await ask(Member), await ask(Guest)]).toEqual(['second', 'guest']);
    first();
    expect(await ask(Member)).toBe('second');
    second();
    second();
    expect([await ask(Member), await ask(Guest)]).toEqual(['terminal', 'guest']);
    guest();
    expect(await ask(Guest)).toBe('terminal');
  });

  test('of an instance replaces the input method of its class, and can be removed', async () => {
    const restoreClass = Visitor.overrideClassInputMethod(new ProgrammaticUserInput(() => 'class'));
    const agent = new Visitor({ name: 'Ada', input: new ProgrammaticUserInput(() => 'option') });
    agent.setConsoleOutputEnabled(false);
    const restore = agent.overrideInstanceInputMethod(new ProgrammaticUserInput(() => 'instance'));
    expect((await agent.call()).text).toBe('instance');
    restore();
    expect((await agent.call()).text).toBe('option');
    restoreClass();
    expect((await agent.call()).text).toBe('option');
  });

  test('applies to existing agents', async () => {
    const agent = new Visitor({ name: 'Ada' });
    agent.setConsoleOutputEnabled(false);
    const restore = UserAgent.overrideClassInputMethod(new ProgrammaticUserInput(() => 'class'));
    expect((await agent.call()).text).toBe('class');
    restore();
  });

  test.each([undefined, 'terminal', {}, TerminalUserInput])('can not be %o', (input) => {
    const wrong = input as never;
    const message = 'An input method must be a UserInputBase, not ';
    expect(() => UserAgent.overrideClassInputMethod(wrong)).toThrow(message);
    expect(() => quietAgent().overrideInstanceInputMethod(wrong)).toThrow(message);
    if (input !== undefined) expect(() => new UserAgent({ name: 'Ada', input: wrong })).toThrow(message);
  });

  test('has hooks typed with the agent', () => {
    const agent = new Guest({ name: 'Ada' });
    agent.registerInstanceHook('preReply', 'x', (guest) => void expectTypeOf(guest).toEqualTypeOf<Guest>());
    expect(agent.hooksOf('preReply')).toHaveLength(1);
  });
});
