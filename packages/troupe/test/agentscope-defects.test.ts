/** Defects of AgentScope for Python, each shown to be absent here. */
import { describe, expect, test } from 'vitest';

import { AgentBase } from '../src/agent/agent-base.ts';
import type { Turn } from '../src/agent/turn/turn.ts';
import { AgentBusyError, StateError } from '../src/errors.ts';
import { findHistoryFaults } from '../src/message/history.ts';
import { Msg, type MsgInput } from '../src/message/msg.ts';
import { MsgHub } from '../src/pipeline/msg-hub.ts';
import { streamPrintingMessages } from '../src/pipeline/stream-printing-messages.ts';
import { StateModule } from '../src/state/state-module.ts';
import { ScriptedModel } from '../src/testing/scripted-model.ts';
import { ReferenceAgent, type Tool } from './reference-agent.ts';

const never: Tool = () => new Promise<never>(() => {});

class Speaker extends AgentBase {
  readonly heard: string[] = [];

  constructor(name: string) {
    super({ name });
    this.setConsoleOutputEnabled(false);
  }

  override async reply(msgs: readonly Msg[], _turn: Turn): Promise<Msg> {
    const msg = Msg.assistant(`${this.name} says ${msgs.at(-1)?.text ?? 'nothing'}`, { name: this.name });
    await this.print(msg);
    return msg;
  }

  override async observe(msgs: MsgInput): Promise<void> {
    this.heard.push(...Msg.list(msgs).map((msg) => msg.text));
  }
}

/** Starts an agent call and runs it up to the first wait for something outside. */
async function started(agent: AgentBase, input: string): Promise<{ call: Promise<Msg> }> {
  const call = agent.call(input);
  await new Promise((resolve) => setImmediate(resolve));
  return { call };
}

describe('interrupts', () => {
  test('tool calls behind the interrupted one get a result too', async () => {
    const toolCalls = ['a', 'b', 'c'].map((id) => ({ id, name: 'never', input: {} }));
    const agent = new ReferenceAgent({ model: new ScriptedModel([{ toolCalls }]), tools: { never } });
    const { call } = await started(agent, 'go');
    await agent.interrupt();
    await call;
    const results = agent.history.flatMap((msg) => msg.getContentBlocks('tool_result'));
    expect(results.map(({ id, status }) => [id, status])).toEqual([
      ['a', 'interrupted'],
      ['b', 'interrupted'],
      ['c', 'interrupted'],
    ]);
    expect(findHistoryFaults(agent.history)).toEqual([]);
  });

  test('a nested agent does not swallow the stop of the outer one', async () => {
    const inner = new ReferenceAgent({ name: 'inner', model: new ScriptedModel([{ stall: true }]) });
    const ask: Tool = async () => (await inner.call('go')).text;
    const model = new ScriptedModel([{ toolCalls: [{ name: 'ask', input: {} }] }, 'I go on.']);
    const outer = new ReferenceAgent({ name: 'outer', model, tools: { ask } });
    const { call } = await started(outer, 'go');
    expect(inner.isRunning).toBe(true);
    await outer.interrupt();
    expect((await call).metadata).toEqual({ _is_interrupted: true });
    expect(inner.isRunning).toBe(false);
    expect(model.requests.length).toBe(1);
  });

  test('a time-out rejects, instead of becoming a polite reply', async () => {
    const agent = new ReferenceAgent({ model: new ScriptedModel([{ stall: true }]) });
    await expect(agent.call('go', { signal: AbortSignal.timeout(5) })).rejects.toMatchObject({
      name: 'TimeoutError',
    });
  });

  test('the message of an interrupt reaches the handler and the memory', async () => {
    const agent = new ReferenceAgent({ model: new ScriptedModel([{ stall: true }]) });
    const { call } = await started(agent, 'go');
    await agent.interrupt('Not that way!');
    await call;
    expect(agent.history.map((msg) => msg.text).slice(0, 2)).toEqual(['go', 'Not that way!']);
  });

  test('the default answer to an interrupt can be replaced', async () => {
    class Curt extends Speaker {
      override async handleInterrupt(): Promise<Msg> {
        return Msg.assistant('OK.');
      }

      override async reply(_msgs: readonly Msg[], turn: Turn): Promise<Msg> {
        return turn.step({ kind: 'other', name: 'wait' }, () => new Promise<never>(() => {}));
      }
    }
    const agent = new Curt('curt');
    const { call } = await started(agent, 'go');
    await agent.interrupt();
    expect((await call).text).toBe('OK.');
  });
});

test('a stream that fails in the middle keeps its text, and leaves no call without a result', async () => {
  const error = new Error('connection lost');
  const model = new ScriptedModel([
    { text: 'Let me see.', toolCalls: [{ name: 'never', input: {} }], error },
    'Here I am again.',
  ]);
  const agent = new ReferenceAgent({ model, tools: { never } });
  await expect(agent.call('go')).rejects.toBe(error);
  expect(agent.history.map((msg) => msg.text)).toEqual(['go', 'Let me see.', '']);
  expect(findHistoryFaults(agent.history)).toEqual([]);
  expect((await agent.call('and now?')).text).toBe('Here I am again.');
});

describe('hooks', () => {
  test('fire for each of several prints that overlap', async () => {
    const agent = new Speaker('a');
    const printed: string[] = [];
    agent.registerInstanceHook('prePrint', 'slow', async (_agent, { msg }) => {
      await undefined;
      printed.push(msg.text);
    });
    await Promise.all(['1', '2', '3'].map((text) => agent.print(Msg.assistant(text))));
    expect(printed).toEqual(['1', '2', '3']);
  });

  test('of one class do not reach another', async () => {
    class Other extends Speaker {}
    const seen: string[] = [];
    const remove = Other.registerClassHook('preReply', 'note', (agent) => void seen.push(agent.name));
    await new Other('other').call();
    await new Speaker('speaker').call();
    expect(seen).toEqual(['other']);
    remove();
  });

  test('see the real result of a tool', async () => {
    const model = new ScriptedModel([{ toolCalls: [{ name: 'add', input: { a: 1, b: 2 } }] }, 'Three.']);
    const agent = new ReferenceAgent({
      model,
      tools: { add: async ({ a, b }) => String(Number(a) + Number(b)) },
    });
    const outputs: unknown[] = [];
    agent.registerInstanceHook(
      'postActing',
      'note',
      (_agent, _args, result) => void outputs.push(result.output),
    );
    await agent.call('go');
    expect(outputs).toEqual(['3']);
  });

  test('get the message itself, not a copy for each of them', async () => {
    const agent = new Speaker('a');
    const seen = new Set<Msg>();
    for (const name of ['one', 'two'])
      agent.registerInstanceHook('prePrint', name, (_agent, { msg }) => void seen.add(msg));
    const msg = Msg.assistant('hi');
    await agent.print(msg);
    expect([...seen]).toEqual([msg]);
    expect(seen.has(msg)).toBe(true);
    expect(Object.isFrozen(msg)).toBe(true);
  });
});

describe('hubs', () => {
  test('a removed agent is silent, then and after the hub is closed', async () => {
    const [a, b] = [new Speaker('a'), new Speaker('b')];
    const hub = await MsgHub.open({ participants: [a, b] });
    hub.delete(a);
    await a.call('psst');
    await hub.close();
    await a.call('psst');
    expect(b.heard).toEqual([]);
  });

  test('an observer that fails does not break the speaker', async () => {
    const [speaker, good, bad] = [new Speaker('speaker'), new Speaker('good'), new Speaker('bad')];
    bad.observe = async () => {
      throw new Error('deaf');
    };
    await using _hub = await MsgHub.open({ participants: [speaker, bad, good] });
    expect((await speaker.call('hi')).text).toBe('speaker says hi');
    expect(good.heard).toEqual(['speaker says hi']);
  });
});

test('two calls on one agent do not interleave', async () => {
  const agent = new ReferenceAgent({ model: new ScriptedModel(['one', 'two']) });
  const first = agent.call('a');
  await expect(agent.call('b')).rejects.toThrow(AgentBusyError);
  await first;
  await agent.call('b');
  expect(agent.history.map((msg) => msg.text)).toEqual(['a', 'one', 'b', 'two']);
});

test('strictness reaches nested modules, and a state that does not fit changes nothing', () => {
  class Leaf extends StateModule {
    a = 1;
    b = 1;

    constructor() {
      super();
      this.registerState('a');
      this.registerState('b');
    }
  }
  class Tree extends StateModule {
    leaf = new Leaf();
    top = 1;

    constructor() {
      super();
      this.registerState('top');
    }
  }
  const tree = new Tree();
  expect(() => tree.loadStateDict({ top: 2, leaf: { a: 2 } })).toThrow(StateError);
  expect(tree.stateDict()).toEqual({ leaf: { a: 1, b: 1 }, top: 1 });
  tree.loadStateDict({ top: 2, leaf: { a: 2 } }, { strict: false });
  expect(tree.stateDict()).toEqual({ leaf: { a: 2, b: 1 }, top: 2 });
});

test('a stream of printed messages returns the result, stops its task when it is left, and gives the queue back', async () => {
  const agent = new Speaker('a');
  const stream = streamPrintingMessages([agent], () => agent.call('hi'));
  const first = await stream.next();
  expect(first.value).toMatchObject({ msg: { content: 'a says hi' }, last: true });
  expect(await stream.next()).toMatchObject({ done: true, value: { content: 'a says hi' } });
  expect(agent.msgQueue).toBeUndefined();

  const slow = new ReferenceAgent({ model: new ScriptedModel([{ text: 'Well', stall: true }]) });
  for await (const _printed of streamPrintingMessages([slow], () => slow.call('go'))) break;
  expect(slow.isRunning).toBe(false);
  expect(slow.msgQueue).toBeUndefined();
});
