import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { withRunConfig } from '../src/config/run-config.ts';
import { ReActAgent } from '../src/react/react-agent.ts';
import { findHistoryFaults } from '../src/message/history.ts';
import { SessionConflictError } from '../src/session/format/session-error.ts';
import { SessionManager } from '../src/session/session-manager.ts';
import { JsonSession } from '../src/stores/json/json-session.ts';
import { ScriptedModel, type ScriptedTurn } from '../src/testing/scripted-model.ts';
import { tool } from '../src/toolkit/tool/tool.ts';
import { Toolkit } from '../src/toolkit/toolkit.ts';

const dirs: string[] = [];

afterEach(async () => {
  for (const dir of dirs.splice(0)) await rm(dir, { recursive: true, force: true });
});

async function newDir(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'troupe-agent-'));
  dirs.push(dir);
  return dir;
}

/** An agent as a start of a program makes it. */
function start(dir: string, script: readonly ScriptedTurn[], toolkit = new Toolkit()) {
  const agent = new ReActAgent({
    name: 'Friday',
    model: new ScriptedModel(script),
    toolkit,
    parallelToolCalls: true,
  });
  agent.setConsoleOutputEnabled(false);
  const manager = SessionManager.forSessionId('chat').withSession(new JsonSession(dir)).addComponent(agent);
  return { agent, manager };
}

test('a program that dies in the middle of a side effect does not do it again, and its history is whole', async () => {
  const dir = await newDir();
  const runs: string[] = [];
  let hasBegun: () => void = () => {};
  const begun = new Promise<void>((resolve) => (hasBegun = resolve));
  const toolkit = (): Toolkit =>
    new Toolkit({
      tools: [
        tool({ name: 'quick', execute: () => void runs.push('quick') }),
        tool({ name: 'slow', execute: () => new Promise<never>(() => void runs.push('slow')) }),
        tool({
          name: 'pay',
          sideEffect: true,
          execute: () =>
            new Promise<never>(() => {
              runs.push('pay');
              hasBegun();
            }),
        }),
      ],
    });
  const calls = ['quick', 'slow', 'pay'].map((name) => ({ id: `call_${name}`, name, input: {} }));
  const first = start(dir, [{ text: 'I will pay.', toolCalls: calls }], toolkit());
  first.manager.autoSave();
  const dying = first.agent.call('Pay the bill.');
  await begun; // nothing of this agent is looked at from here on: it was killed

  const second = start(dir, [{ text: 'I am not sure whether it was paid.' }], toolkit());
  expect(await second.manager.loadIfExists()).toBe(true);
  const answer = await second.agent.call('And?');
  expect(answer.text).toBe('I am not sure whether it was paid.');
  const history = await second.agent.memory.getMemory();
  expect(findHistoryFaults(history)).toStrictEqual([]);
  const results = history.flatMap((msg) => msg.getContentBlocks('tool_result'));
  expect(results.map(({ id }) => id)).toStrictEqual(calls.map(({ id }) => id));
  expect(JSON.stringify(results.find(({ name }) => name === 'pay')?.output)).toMatch(/unknown/i);
  expect(runs.filter((name) => name === 'pay')).toStrictEqual(['pay']);
  expect(history.map((msg) => msg.text)).toContain('Pay the bill.');

  await second.manager.saveSession();
  await first.agent.interrupt(); // the first process was only stopped, and wakes up
  await dying;
  await expect(first.manager[Symbol.asyncDispose]()).rejects.toBeInstanceOf(SessionConflictError);
  expect(await start(dir, []).manager.loadIfExists()).toBe(true);
});

test('an open exchange is loaded without a warning, with all that it cost and after a tool call was cut off', async () => {
  const dir = await newDir();
  const warnings: string[] = [];
  const logging = { log: (level: string, text: string): void => void warnings.push(`${level} ${text}`) };
  const usage = {
    cost: 0,
    inputTokens: 9,
    outputTokens: 2,
    cachedTokens: 3,
    cacheWriteTokens: 1,
    reasoningTokens: 1,
    seconds: 2,
  };
  const { promise: begun, resolve } = Promise.withResolvers<void>();
  const tools = [
    tool({ name: 'ask', execute: () => 'ran' }),
    tool({ name: 'pay', sideEffect: true, execute: () => new Promise<never>(() => resolve()) }),
  ];
  const make = (script: readonly ScriptedTurn[]) => {
    const agent = new ReActAgent({
      name: 'Friday',
      model: new ScriptedModel(script),
      toolkit: new Toolkit({ tools }),
      permissionPolicy: { decide: () => ({ behavior: 'ask' }) },
      parallelToolCalls: true,
      console: false,
    });
    return {
      agent,
      manager: SessionManager.forSessionId('chat').withSession(new JsonSession(dir)).addComponent(agent),
    };
  };
  const toolCalls = ['ask', 'pay'].map((name) => ({ id: `c_${name}`, name, input: {} }));
  const first = make([{ toolCalls, usage }]);
  await first.agent.call('Pay.');
  await first.manager.saveSession();

  await withRunConfig({ logging }, async () => {
    const second = make([]);
    await second.manager.loadOrThrow();
    const { openExchange: saved } = first.agent.stateDict();
    expect(second.agent.stateDict()['openExchange']).toStrictEqual(saved);
    expect(saved).toMatchObject({ spent: { usage } });

    second.manager.autoSave(); // saves that the payment has begun
    const pay = second.agent.pendingCalls.find(({ call }) => call.name === 'pay');
    const dying = second.agent.call(undefined, { decisions: [{ id: pay?.id ?? '', verdict: 'allow' }] });
    await begun; // killed
    const third = make([]);
    await third.manager.loadOrThrow();
    expect(third.agent.pendingCalls.map(({ call }) => call.name)).toStrictEqual(['ask']);
    await second.agent.interrupt();
    await dying;
    await second.manager[Symbol.asyncDispose]();
  });
  expect(warnings).toStrictEqual([]);
});

test('a chat is saved after an answer, an interrupt and a failure, and goes on', async () => {
  const dir = await newDir();
  let hasBegun: () => void = () => {};
  const begun = new Promise<void>((resolve) => (hasBegun = resolve));
  const toolkit = new Toolkit({
    tools: [tool({ name: 'wait', execute: () => new Promise<never>(() => hasBegun()) })],
  });
  const script: ScriptedTurn[] = [
    { text: 'Hello.' },
    { toolCalls: [{ id: 'c1', name: 'wait', input: {} }] },
    { error: new Error('the model is gone') },
  ];
  const { agent, manager } = start(dir, script, toolkit);
  const autoSave = manager.autoSave();
  const saved = async (): Promise<number> => {
    await autoSave.flush();
    const other = start(dir, [], toolkit);
    await other.manager.loadOrThrow();
    const history = await other.agent.memory.getMemory();
    expect(findHistoryFaults(history)).toStrictEqual([]);
    return history.length;
  };
  await agent.call('Hi.');
  expect(await saved()).toBe(2);
  const waiting = agent.call('Wait.');
  await begun;
  await agent.interrupt('Stop.');
  await waiting;
  const afterInterrupt = await saved();
  expect(afterInterrupt).toBeGreaterThan(4);
  await expect(agent.call('Again.')).rejects.toThrow('the model is gone');
  expect(await saved()).toBeGreaterThan(afterInterrupt);
  await manager[Symbol.asyncDispose]();
});
