// Everything that a caller or a stream is told is saved before: answers, questions for approval, ends of runs.
import { expect, test, vi } from 'vitest';

import {
  AgentBase,
  agentTool,
  InMemorySession,
  Msg,
  ReActAgent,
  SequentialPipeline,
  SessionManager,
  stopAgent,
  tool,
  withRunConfig,
  type AgentEvent,
  type AutoSaveOptions,
} from '../src/index.ts';
import { InMemoryStore } from '../src/session/in-memory-session.ts';
import { Session } from '../src/session/session.ts';
import { FakeClock, ScriptedModel, ToneTtsModel, type ScriptedTurn } from '../src/testing/index.ts';
import { timeUntilSettled } from './time-until-settled.ts';

/** A store whose commits can be held back, or fail. */
class SlowStore extends InMemoryStore {
  commits = 0;
  hold: Promise<void> = Promise.resolve();
  problem: Error | undefined;

  override async commit(...args: Parameters<InMemoryStore['commit']>): Promise<void> {
    await this.hold;
    if (this.problem !== undefined) throw this.problem;
    this.commits++;
    return super.commit(...args);
  }
}

const pay = tool({ name: 'pay', sideEffect: true, execute: () => 'paid' });
const PAY: ScriptedTurn = { toolCalls: [{ id: 'c1', name: 'pay', input: {} }] };

function makeAgent(script: readonly (string | ScriptedTurn)[], name = 'Friday'): ReActAgent {
  return new ReActAgent({
    name,
    model: new ScriptedModel(script),
    tools: [pay],
    permissionPolicy: { decide: () => ({ behavior: 'ask' }) },
    console: false,
  });
}

function setUp(
  script: readonly (string | ScriptedTurn)[],
  options: AutoSaveOptions = {},
  agent = makeAgent(script),
) {
  const store = new SlowStore();
  const session = new Session(store);
  const manager = SessionManager.forSessionId('s').withSession(session).addComponent('agent', agent);
  manager.autoSave(options);
  /** The agent as another program would load it now. */
  const loaded = async (): Promise<ReActAgent> => {
    const other = makeAgent([], agent.name);
    await new Session(store).load('s', { agent: other });
    return other;
  };
  return { agent, store, loaded };
}

/** An agent without tool calls of its own, which has another one work. */
class Team extends AgentBase {
  readonly member: ReActAgent;

  constructor(member: ReActAgent) {
    super({ name: 'team', console: false });
    this.member = member;
  }

  override async reply(msgs: readonly Msg[]): Promise<Msg> {
    const { text } = await this.member.call(msgs);
    return Msg.assistant(text, { name: this.name });
  }
}

const textsOf = async ({ memory }: ReActAgent): Promise<string[]> =>
  (await memory.getMemory()).map(({ text }) => text);

test('an answer is saved when call() resolves, and a call waits for a slow save', async () => {
  const { agent, store, loaded } = setUp(['Hello.']);
  const { promise, resolve } = Promise.withResolvers<void>();
  store.hold = promise;
  let isTold = false;
  const call = agent.call('Hi!').then(() => (isTold = true));
  await vi.waitFor(() => expect(agent.model).toMatchObject({ requests: [{}] }));
  for (let i = 0; i < 50; i++) await new Promise((next) => setImmediate(next));
  expect(isTold).toBe(false);
  resolve();
  await call;
  expect([await textsOf(await loaded()), store.commits]).toEqual([['Hi!', 'Hello.'], 1]);
});

test.each([
  ['finished', ['Hello.']],
  ['suspended', [PAY]],
  ['failed', []],
] as const)('a run that is %s is saved before its events say so', async (status, script) => {
  const { agent, loaded } = setUp(script);
  const told: [AgentEvent['type'], number, string[]][] = [];
  try {
    for await (const event of agent.stream('Hi!')) {
      if (event.type !== 'run_end' && event.type !== 'approval_needed') continue;
      const other = await loaded();
      told.push([event.type, other.pendingCalls.length, await textsOf(other)]);
      if (event.type === 'run_end') expect(event.status).toBe(status);
    }
  } catch (error) {
    if (status !== 'failed') throw error;
  }
  expect(told).toEqual(
    status === 'suspended'
      ? [
          ['approval_needed', 1, ['Hi!']],
          ['run_end', 1, ['Hi!']],
        ]
      : [['run_end', 0, status === 'failed' ? ['Hi!'] : ['Hi!', 'Hello.']]],
  );
});

test('a reply that a hook stopped before its tool calls is saved before it is told, with messages that came meanwhile', async () => {
  const { agent, loaded } = setUp([PAY]);
  agent.registerInstanceHook('postReasoning', 'stop', () => {
    agent.steer('Not today.');
    return stopAgent();
  });
  const told: unknown[] = [];
  for await (const event of agent.stream('Hi!')) {
    if (event.type === 'run_end') told.push([event.status, await textsOf(await loaded())]);
  }
  expect(told).toEqual([['suspended', ['Hi!']]]);
  const other = await loaded();
  await other.closePending();
  expect(await textsOf(other)).toEqual(['Hi!', '', '', 'Not today.']);
});

test('pending tool calls that a program closes are saved as closed before closePending() resolves', async () => {
  for (const options of [{}, { debounceMs: 5 }]) {
    using clock = new FakeClock().install();
    const { agent, store, loaded } = setUp([PAY], options);
    await agent.call('Hi!');
    await clock.advance(5);
    expect((await loaded()).pendingCalls).toHaveLength(1);
    await agent.closePending();
    await clock.advance(5);
    expect([(await loaded()).pendingCalls, store.commits]).toEqual([[], 2]);
    await agent.closePending(); // nothing to close
    await clock.advance(5);
    expect(store.commits).toBe(2);
  }
});

test('a save that fails when pending tool calls are closed is an event', async () => {
  const { agent, store } = setUp([PAY]);
  await agent.call('Hi!');
  const told: AgentEvent[] = [];
  agent.on('*', (event) => void told.push(event));
  store.problem = new Error('disk full');
  await withRunConfig({ logging: { log: () => {} } }, () => agent.closePending());
  expect(told).toMatchObject([
    { type: 'error', error: { message: "Saving session 's' failed: disk full" } },
    { type: 'tool_result' },
  ]);
  expect(agent.pendingCalls).toEqual([]);
});

test('a side effect of an agent inside of an agent of another kind is saved before it begins', async () => {
  const states: string[] = [];
  const payer = new ReActAgent({
    name: 'payer',
    model: new ScriptedModel([PAY, 'Paid.']),
    tools: [
      tool({
        name: 'pay',
        sideEffect: true,
        execute: async () => {
          const other = new Team(makeAgent([], 'payer'));
          await new Session(store).load('s', { team: other });
          states.push(JSON.stringify(other.stateDict()));
          return 'paid';
        },
      }),
    ],
    console: false,
  });
  const store = new SlowStore();
  const team = new Team(payer);
  const manager = SessionManager.forSessionId('s').withSession(new Session(store)).addComponent('team', team);
  manager.autoSave();
  expect((await team.call('Pay.')).text).toBe('Paid.');
  expect([states.length, store.commits]).toEqual([1, 2]);
  expect(states[0]).toContain('"started":["c1"]');
});

test('a question of an agent inside of an agent of another kind is saved by the outer one before it is told', async () => {
  const store = new SlowStore();
  const team = new Team(makeAgent([PAY], 'payer'));
  SessionManager.forSessionId('s').withSession(new Session(store)).addComponent('team', team).autoSave();
  const pending: number[] = [];
  for await (const event of team.stream('Pay.', { nested: true })) {
    if (event.type !== 'approval_needed') continue;
    const other = new Team(makeAgent([], 'payer'));
    expect(await new Session(store).load('s', { team: other })).toBe(true);
    pending.push(other.member.pendingCalls.length);
  }
  expect(pending).toEqual([1]);
});

test('a listener of a checkpoint that throws keeps the tool from running; a removed one is not asked', async () => {
  const ran: string[] = [];
  const agent = new ReActAgent({
    name: 'Friday',
    model: new ScriptedModel([
      PAY,
      'Not paid.',
      { toolCalls: [{ id: 'c2', name: 'pay', input: {} }] },
      'Paid.',
    ]),
    tools: [tool({ name: 'pay', sideEffect: true, execute: () => void ran.push('paid') })],
    console: false,
  });
  agent.onCheckpoint(async () => void ran.push('checkpoint'));
  const remove = agent.onCheckpoint(() => {
    throw new Error('disk full');
  });
  await agent.call('Pay.');
  expect(ran).toEqual(['checkpoint']);
  expect((await agent.memory.getMemory())[2]?.getContentBlocks('tool_result')).toMatchObject([
    {
      status: 'denied',
      output: expect.stringContaining('its start could not be saved') as string,
    },
  ]);
  remove();
  await agent.call('Again.');
  expect(ran).toEqual(['checkpoint', 'checkpoint', 'paid']);
});

test('a question of an agent in a tool is told once, when the outer agent has saved it', async () => {
  const inner = makeAgent([PAY], 'inner');
  const outer = new ReActAgent({
    name: 'outer',
    model: new ScriptedModel([{ toolCalls: [{ id: 'o1', name: 'inner', input: { query: 'pay' } }] }]),
    tools: [agentTool(inner, { description: 'Pays.' })],
    console: false,
  });
  const store = new SlowStore();
  SessionManager.forSessionId('s').withSession(new Session(store)).addComponent('outer', outer).autoSave();
  const told: [readonly string[], number][] = [];
  for await (const event of outer.stream('go', { nested: true })) {
    if (event.type !== 'approval_needed') continue;
    const other = new ReActAgent({
      name: 'outer',
      model: new ScriptedModel([]),
      tools: [agentTool(makeAgent([], 'inner'), { description: 'Pays.' })],
      console: false,
    });
    await new Session(store).load('s', { outer: other });
    told.push([event.agentPath, other.pendingCalls.length]);
  }
  expect(told).toEqual([[['outer'], 1]]);
});

test('with debounceMs a call does not wait, and its answer is saved later', async () => {
  const { agent, store } = setUp(['Hello.'], { debounceMs: 0 });
  const { promise, resolve } = Promise.withResolvers<void>();
  store.hold = promise;
  expect((await agent.call('Hi!')).text).toBe('Hello.');
  resolve();
  await vi.waitFor(() => expect(store.commits).toBe(1));
});

test('a save that fails is an event, a call of onError and a line of the log, and the answer is given', async () => {
  const errors: unknown[] = [];
  const { agent, store } = setUp(['Hello.', 'Again.'], { onError: (error) => errors.push(error) });
  store.problem = new Error('the disk is full');
  const lines: string[] = [];
  const events: AgentEvent[] = [];
  const stream = agent.stream('Hi!');
  await withRunConfig({ logging: { log: (level, text) => lines.push(`${level}: ${text}`) } }, async () => {
    for await (const event of stream) events.push(event);
  });
  expect((await stream.answer).text).toBe('Hello.');
  expect(errors).toHaveLength(1);
  expect(events.filter(({ type }) => type === 'error')).toMatchObject([
    { error: { message: expect.stringContaining('the disk is full') as string } },
  ]);
  expect(events.at(-1)).toMatchObject({ type: 'run_end', status: 'finished' });
  expect(lines).toEqual([expect.stringContaining('error: The session was not saved')]);
  store.problem = undefined;
  await agent.call('And?');
  expect(store.commits).toBe(1);
});

test('an async onError that rejects is logged', async () => {
  const lines: string[] = [];
  const { agent, store } = setUp(['Hello.'], { onError: () => Promise.reject(new Error('no mail')) });
  store.problem = new Error('the disk is full');
  await withRunConfig({ logging: { log: (level, text) => lines.push(`${level}: ${text}`) } }, async () => {
    await agent.call('Hi!');
    await new Promise((next) => setImmediate(next)); // an unhandled rejection would fail the test
  });
  expect(lines).toEqual([expect.stringContaining('the disk is full'), 'error: onError threw: no mail']);
});

test('a listener of onOutcome that throws is an error event, and the run ends', async () => {
  const agent = makeAgent(['Hello.']);
  agent.onOutcome(() => {
    throw new Error('no disk');
  });
  const events: AgentEvent[] = [];
  for await (const event of agent.stream('Hi!')) events.push(event);
  expect(events.slice(-2)).toMatchObject([
    { type: 'error', error: { message: 'no disk' } },
    { type: 'run_end', status: 'finished' },
  ]);
});

test('listeners of a pipeline that throw do not fail its calls', async () => {
  const pipeline = new SequentialPipeline([makeAgent(['Hello.'])]);
  const problem = (): never => {
    throw new Error('no disk');
  };
  pipeline.onOutcome(problem);
  pipeline.onSettled(problem);
  expect(await pipeline.call('Hi!')).toMatchObject({ text: 'Hello.' });
});

test('an interrupt while a save hangs ends the call at once', async () => {
  using clock = new FakeClock().install();
  const { agent, store } = setUp(['Hello.']);
  store.hold = new Promise(() => {});
  const call = agent.call('Hi!');
  await vi.waitFor(() => expect(agent.model).toMatchObject({ requests: [{}] }));
  for (let i = 0; i < 50; i++) await new Promise((next) => setImmediate(next));
  const interrupted = agent.interrupt();
  expect(await timeUntilSettled(clock, call)).toBeLessThan(100);
  expect(await interrupted).toBe(false); // the answer is there
  expect((await call).text).toBe('Hello.');
});

test.each(['interrupt', 'abort'] as const)(
  'after an %s while a save runs, the answer is told when it is saved',
  async (stop) => {
    const { agent, store } = setUp(['Hello.']);
    const { promise, resolve } = Promise.withResolvers<void>();
    store.hold = promise;
    const caller = new AbortController();
    const call = agent.call('Hi!', { signal: caller.signal }).then(({ text }) => [text, store.commits]);
    await vi.waitFor(() => expect(agent.model).toMatchObject({ requests: [{}] }));
    for (let i = 0; i < 50; i++) await new Promise((next) => setImmediate(next));
    if (stop === 'abort') caller.abort();
    else void agent.interrupt();
    setImmediate(resolve);
    expect(await call).toEqual(['Hello.', 1]);
  },
);

test('an interrupted call is saved before it says so', async () => {
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const agent = new ReActAgent({
    name: 'Friday',
    model: new ScriptedModel([{ toolCalls: [{ name: 'hang', input: {} }] }]),
    tools: [
      tool({
        name: 'hang',
        execute: () => {
          begin();
          return new Promise<never>(() => {});
        },
      }),
    ],
    console: false,
  });
  const { loaded } = setUp([], {}, agent);
  const call = agent.call('Hi!');
  await begun;
  await agent.interrupt();
  const texts = await textsOf(await loaded());
  expect(texts.at(-1)).toBe((await call).text);
  expect(texts[0]).toBe('Hi!');
});

test('calls of several agents of one session are saved together, and a turn costs one save', async () => {
  const agents = ['a', 'b', 'c'].map((name) =>
    makeAgent(
      Array.from({ length: 3 }, () => 'Yes.'),
      name,
    ),
  );
  const store = new SlowStore();
  const manager = SessionManager.forSessionId('s').withSession(new Session(store));
  for (const agent of agents) manager.addComponent(agent.name, agent);
  manager.autoSave();
  for (let turn = 0; turn < 3; turn++) await Promise.all(agents.map((agent) => agent.call(Msg.user('Hi!'))));
  expect(store.commits).toBeLessThanOrEqual(6); // the running save, and one for all changes in the meantime
  expect(store.commits).toBeGreaterThanOrEqual(3);
});

test('a session in memory works the same', async () => {
  const session = new InMemorySession();
  const agent = makeAgent(['Hello.']);
  SessionManager.forSessionId('s').withSession(session).addComponent('agent', agent).autoSave();
  await agent.call('Hi!');
  expect(await session.revisionOf('s')).toBe(1);
});

test('an interrupt that ends the speech of an answer does not end the wait for its save', async () => {
  const speaking = Promise.withResolvers<void>();
  const onText = (): Promise<void> => {
    speaking.resolve();
    return new Promise(() => {});
  };
  const agent = new ReActAgent({
    name: 'Friday',
    model: new ScriptedModel(['Hello.']),
    ttsModel: new ToneTtsModel({ onText }),
    console: false,
  });
  const { store } = setUp([], {}, agent);
  const saved = Promise.withResolvers<void>();
  store.hold = saved.promise;
  let commits: number | undefined;
  agent.on('run_end', () => void (commits = store.commits));
  using clock = new FakeClock().install();
  const call = agent.call('Hi.');
  await speaking.promise;
  await turnsOfEventLoop(50); // the answer is final, and waits for its speech
  const interrupted = agent.interrupt();
  await turnsOfEventLoop(50);
  await clock.advance(500); // longer than other waits of a stopped call
  await turnsOfEventLoop(50);
  expect(commits).toBeUndefined();
  saved.resolve();
  expect([await interrupted, (await call).text, commits]).toEqual([false, 'Hello.', 1]);
});

async function turnsOfEventLoop(count: number): Promise<void> {
  for (let left = count; left > 0; left--) await new Promise((resolve) => void setImmediate(resolve));
}
