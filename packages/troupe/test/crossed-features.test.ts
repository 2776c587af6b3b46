// Pairs of features that meet in one program: pipelines with listeners, a hook that stops an agent with automatic saves.
import {
  FanoutPipeline,
  gotoReasoning,
  InMemorySession,
  MsgHub,
  ReActAgent,
  SequentialPipeline,
  SessionManager,
  stopAgent,
  tool,
  type AgentEvent,
} from 'troupe';
import { ScriptedModel, type ScriptedTurn } from 'troupe/testing';
import { describe, expect, test, vi } from 'vitest';

function agentOf(name: string, ...script: readonly (string | ScriptedTurn)[]): ReActAgent {
  return new ReActAgent({ name, model: new ScriptedModel(script), console: false });
}

/** Types of the events that listeners of some agents heard, by name. */
function listenTo(...agents: readonly ReActAgent[]): Record<string, AgentEvent[]> {
  return Object.fromEntries(
    agents.map((agent) => {
      const heard: AgentEvent[] = [];
      agent.on('*', (event) => void heard.push(event));
      return [agent.name, heard];
    }),
  );
}

const typesOf = (events: readonly AgentEvent[] | undefined): string[] =>
  (events ?? []).map(({ type }) => type);
const ONE_ANSWER = [
  'reply_start',
  'model_start',
  'block_start',
  'text_delta',
  'block_end',
  'model_end',
  'reply_end',
  'run_end',
];

describe('a listener of an agent in a pipeline', () => {
  test('hears its agent only, once, in a sequence', async () => {
    const [ann, bob] = [agentOf('ann', 'One.'), agentOf('bob', 'Two.')];
    const heard = listenTo(ann, bob);
    await new SequentialPipeline([ann, bob]).call('Go.');
    for (const name of ['ann', 'bob']) {
      expect(typesOf(heard[name]).toSorted()).toEqual(ONE_ANSWER.toSorted());
      expect(heard[name]?.every(({ agentPath }) => agentPath.at(-1) === name)).toBe(true);
    }
    expect(heard['ann']?.at(-1)).toMatchObject({
      type: 'run_end',
      status: 'finished',
      msg: { text: 'One.' },
    });
    expect(heard['bob']?.at(-1)).toMatchObject({
      type: 'run_end',
      status: 'finished',
      msg: { text: 'Two.' },
    });
  });

  test('hears its agent only, once, in a fan-out, also when another one fails', async () => {
    const [ann, bob] = [agentOf('ann', 'One.'), agentOf('bob')]; // bob's model has no answer
    const heard = listenTo(ann, bob);
    await expect(new FanoutPipeline([ann, bob]).call('Go.')).rejects.toMatchObject({ code: 'script_failed' });
    expect(heard['ann']?.at(-1)).toMatchObject({
      type: 'run_end',
      status: 'finished',
      msg: { text: 'One.' },
    });
    expect(heard['bob']?.at(-1)).toMatchObject({ type: 'run_end', status: 'failed' });
    expect(typesOf(heard['bob']).filter((type) => type === 'run_end')).toHaveLength(1);
  });

  test('hears a suspended tool call and its result once, when the pipeline resumes', async () => {
    const send = tool({ name: 'send', sideEffect: true, execute: () => 'Sent.' });
    const ann = new ReActAgent({
      name: 'ann',
      model: new ScriptedModel([{ toolCalls: [{ name: 'send', id: 's', input: {} }] }, 'It is sent.']),
      tools: [send],
      permissionPolicy: { decide: () => ({ behavior: 'ask' }) },
      console: false,
    });
    const bob = agentOf('bob', 'Good.');
    const heard = listenTo(ann, bob);
    const pipeline = new SequentialPipeline([ann, bob]);
    await pipeline.call('Send it.');
    expect(heard['ann']?.at(-1)).toMatchObject({ type: 'run_end', status: 'suspended' });
    expect(heard['bob']).toEqual([]);
    const decisions = ann.pendingCalls.map(({ id }) => ({ id, verdict: 'allow' }) as const);
    const answer = await pipeline.call(undefined, { decisions });
    expect(answer?.text).toBe('Good.');
    const tools = (heard['ann'] ?? []).filter(({ type }) => /^tool_(?!input)|approval/.test(type));
    expect(typesOf(tools)).toEqual(['tool_start', 'approval_needed', 'tool_result']);
    expect(typesOf(heard['bob']).filter((type) => type === 'run_end')).toHaveLength(1);
  });

  test('that fails or calls the pipeline again does not disturb it', async () => {
    const [ann, bob] = [agentOf('ann', 'One.'), agentOf('bob', 'Two.')];
    ann.on('run_end', () => {
      throw new Error('Oh.');
    });
    const pipeline = new SequentialPipeline([ann, bob]);
    bob.on('reply_start', () => pipeline.call('Again.')); // refused, because the pipeline is busy; logged
    expect(await pipeline.call('Go.')).toMatchObject({ text: 'Two.' });
  });
});

describe('an agent that a hook stops, with autoSave', () => {
  const look = tool({ name: 'look', execute: () => 'Nobody is here.' });
  const LOOK: ScriptedTurn = { toolCalls: [{ name: 'look', id: 'l', input: {} }] };

  function open(store: InMemorySession, ...script: readonly (string | ScriptedTurn)[]) {
    const model = new ScriptedModel(script);
    const agent = new ReActAgent({ name: 'Friday', model, tools: [look], console: false });
    const manager = SessionManager.forSessionId('chat').withSession(store).addComponent(agent);
    return { agent, manager };
  }

  test('after acting: what the caller is told is saved by then, and the chat goes on elsewhere', async () => {
    const store = new InMemorySession();
    const { agent, manager } = open(store, LOOK);
    manager.autoSave();
    agent.registerInstanceHook('postActing', 'stop', () => stopAgent('That is enough.'));
    const answer = await agent.call('Is anybody here?');
    expect([answer.text, answer.endReason]).toEqual(['That is enough.', 'stopped']);
    const other = open(store, 'As I said.');
    expect(await other.manager.loadIfExists()).toBe(true);
    const roles = (await other.agent.memory.getMemory()).map(({ role, text }) => `${role}: ${text}`);
    expect(roles).toEqual((await agent.memory.getMemory()).map(({ role, text }) => `${role}: ${text}`));
    expect(roles.at(-1)).toBe('assistant: That is enough.');
    expect((await other.agent.call('And now?')).text).toBe('As I said.');
  });

  test('after reasoning: the unfinished tool call is saved, and runs in another process', async () => {
    const store = new InMemorySession();
    const { agent, manager } = open(store, LOOK);
    manager.autoSave();
    agent.registerInstanceHook('postReasoning', 'stop', () => stopAgent());
    const stopped = await agent.call('Is anybody here?');
    expect([stopped.endReason, stopped.getContentBlocks('tool_use').length]).toEqual(['stopped', 1]);
    const other = open(store, 'I am alone.');
    expect(await other.manager.loadIfExists(), 'saved before it was told').toBe(true);
    const results: string[] = [];
    other.agent.on('tool_result', ({ result }) => void results.push(`${result.name}: ${result.status}`));
    expect((await other.agent.call()).text).toBe('I am alone.');
    expect(results).toEqual(['look: ok']);
  });

  test('sent back to reasoning, it saves once, when the outcome is told', async () => {
    const store = new InMemorySession();
    const { agent, manager } = open(store, 'Hm.', 'Nobody.');
    manager.autoSave();
    let isFirst = true;
    agent.registerInstanceHook('postReasoning', 'again', () => {
      const again = isFirst ? gotoReasoning('Say it clearly.') : undefined;
      isFirst = false;
      return again;
    });
    expect((await agent.call('Is anybody here?')).text).toBe('Nobody.');
    expect(await store.revisionOf('chat')).toBe(1);
    const other = open(store);
    await other.manager.loadIfExists();
    expect(await other.agent.memory.size()).toBe(await agent.memory.size());
  });
});

describe('a late stop while an observer is slow, with autoSave', () => {
  /** Bob hears with a hook that waits until `hears` is resolved. */
  async function setUp() {
    const store = new InMemorySession();
    const make = (): readonly [ReActAgent, ReActAgent, SessionManager] => {
      const [ann, bob] = [agentOf('ann', 'One.'), agentOf('bob', 'Two.')];
      const manager = SessionManager.forSessionId('hub').withSession(store);
      return [ann, bob, manager.addComponent('ann', ann).addComponent('bob', bob)];
    };
    const [ann, bob, manager] = make();
    manager.autoSave();
    const hears = Promise.withResolvers<void>();
    const begins = Promise.withResolvers<void>();
    bob.registerInstanceHook('preObserve', 'slow', async () => {
      begins.resolve();
      await hears.promise;
    });
    await new MsgHub({ participants: [ann, bob] }).open();
    const heardBySaved = async (): Promise<string[]> => {
      const [, other, loader] = make();
      await loader.loadIfExists();
      return (await other.memory.getMemory()).map(({ text }) => text);
    };
    return { ann, bob, hears, begins, heardBySaved };
  }

  test('is told as an error, and what the observer hears later is saved then', async () => {
    const { ann, bob, hears, begins, heardBySaved } = await setUp();
    const errors: string[] = [];
    ann.on('error', ({ error }) => void errors.push(error.message));
    const call = ann.call('Go.');
    await begins.promise;
    expect(await ann.interrupt()).toBe(false); // too late: the answer stands
    expect((await call).text).toBe('One.');
    expect(errors).toEqual(['ann was stopped before its answer was heard by bob, who will hear it later.']);
    expect(await heardBySaved()).toEqual([]);
    hears.resolve();
    await vi.waitFor(async () => expect(await heardBySaved()).toEqual(['One.']));
    expect((await bob.call('And you?')).text).toBe('Two.');
    expect((await bob.memory.getMemory()).map(({ text }) => text)).toEqual(['One.', 'And you?', 'Two.']);
  });

  test('is no error when the observer hears at once: saved before the answer is told', async () => {
    const { ann, hears, begins, heardBySaved } = await setUp();
    const errors: string[] = [];
    ann.on('error', ({ error }) => void errors.push(error.message));
    const call = ann.call('Go.');
    await begins.promise;
    const stopped = ann.interrupt();
    hears.resolve();
    await stopped;
    expect((await call).text).toBe('One.');
    expect([errors, await heardBySaved()]).toEqual([[], ['One.']]);
  });
});

test('an interrupt while a hook prints a question leaves the question as it was told', async () => {
  const pay = tool({ name: 'pay', execute: () => 'paid' });
  const agent = new ReActAgent({
    name: 'ann',
    model: new ScriptedModel([{ toolCalls: [{ id: 'c1', name: 'pay', input: {} }] }, 'Done.']),
    tools: [pay],
    permissionPolicy: { decide: () => ({ behavior: 'ask' }) },
    console: false,
  });
  const printing = Promise.withResolvers<void>();
  const remove = agent.registerInstanceHook('prePrint', 'hang', (_, { msg }) => {
    if (msg.pending === undefined) return;
    printing.resolve();
    return new Promise<never>(() => {});
  });
  const types: string[] = [];
  agent.on('*', ({ type }) => void types.push(type));
  const call = agent.call('Pay.');
  await printing.promise;
  expect(await agent.interrupt()).toBe(false);
  expect((await call).pending?.map(({ call }) => call.id)).toEqual(['c1']);
  expect(types.slice(-3)).toEqual(['approval_needed', 'reply_end', 'run_end']);
  remove();
  const decisions = agent.pendingCalls.map(({ id }) => ({ id, verdict: 'allow' as const }));
  expect((await agent.call(undefined, { decisions })).text).toBe('Done.');
});
