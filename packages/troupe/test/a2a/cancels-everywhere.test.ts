// A served task canceled, and a decision interrupted, after each tick: the client's view is correct, and
// nothing runs twice.

import { expect, test } from 'vitest';

import { A2AAgent, serveA2A, type A2AServer } from '../../src/a2a/index.ts';
import { InMemorySession, ReActAgent, tool, Toolkit, type JsonObject } from '../../src/index.ts';
import { ScriptedModel } from '../../src/testing/index.ts';
import { decides, rpc, says } from './rpc.ts';

const MAX_TICKS = 5000;

function bankServer(log: string[], session = new InMemorySession()): A2AServer {
  const makeBank = (): ReActAgent => {
    const toolkit = new Toolkit();
    const execute = (): string => {
      log.push('paid');
      return 'paid';
    };
    toolkit.registerToolFunction(tool({ name: 'pay', sideEffect: true, execute }));
    const model = new ScriptedModel([
      { when: ({ messages }) => messages.at(-1)?.text === 'Pay', toolCalls: [{ name: 'pay', input: {} }] },
      ...Array.from({ length: 5 }, () => ({ text: 'Done.' })),
    ]);
    const permissionPolicy = { decide: () => ({ behavior: 'ask' }) as const };
    const agent = new ReActAgent({ name: 'bank', sysPrompt: '', model, toolkit, permissionPolicy });
    agent.setConsoleOutputEnabled(false);
    return agent;
  };
  return serveA2A(makeBank, { card: { name: 'bank', description: 'Pays.' }, session });
}

/** Waits for ticks of the microtask queue. Returns whether the work has ended. */
async function ticks(count: number, work: Promise<unknown>): Promise<boolean> {
  let hasEnded = false;
  const end = (): void => void (hasEnded = true);
  work.then(end, end);
  for (let tick = 0; tick < count && !hasEnded; tick++) await undefined;
  return hasEnded;
}

test('a cancel after any tick of a decision is what it says it is, here and after a restart', async () => {
  const outcomes = new Map<string, number>();
  for (let point = 0, hasEnded = false; !hasEnded && point < MAX_TICKS; point += 7) {
    const log: string[] = [];
    const session = new InMemorySession();
    await using server = bankServer(log, session);
    const asked = (await rpc(server, 'SendMessage', says('Pay'))).body.result.task;
    const deciding = rpc(server, 'SendMessage', decides(asked, 'allow'));
    hasEnded = await ticks(point, deciding);
    const canceled = (await rpc(server, 'CancelTask', { id: asked.id })).body;
    const decided = (await deciding).body;
    const { state } = (await rpc(server, 'GetTask', { id: asked.id })).body.result.status;
    const isCanceled = canceled.error === undefined;
    expect(state).toBe(isCanceled ? 'TASK_STATE_CANCELED' : 'TASK_STATE_COMPLETED');
    expect(decided.result?.task.status.state ?? 'refused').toMatch(
      isCanceled ? /CANCELED|refused/ : /COMPLETED/,
    );
    expect(log.length).toBeLessThanOrEqual(1);
    if (!isCanceled) expect(log).toEqual(['paid']);
    await using again = bankServer(log, session);
    expect((await rpc(again, 'GetTask', { id: asked.id })).body.result.status.state).toBe(state);
    const next = (await rpc(again, 'SendMessage', says('Hi', { contextId: asked.contextId }))).body.result
      .task;
    expect([next.status.state, log.length <= 1]).toEqual(['TASK_STATE_COMPLETED', true]);
    outcomes.set(`${state} ${log.length}`, (outcomes.get(`${state} ${log.length}`) ?? 0) + 1);
  }
  expect([...outcomes.keys()].toSorted()).toEqual([
    'TASK_STATE_CANCELED 0',
    'TASK_STATE_CANCELED 1',
    'TASK_STATE_COMPLETED 1',
  ]);
});

test('a decision that is interrupted after any tick is made once at most, and the conversation goes on', async () => {
  const { fetch } = globalThis;
  try {
    const paid = new Set<number>();
    for (let point = 0, hasEnded = false; !hasEnded && point < MAX_TICKS; point += 7) {
      const log: string[] = [];
      await using server = bankServer(log);
      globalThis.fetch = (input, init) => server.fetch(new Request(input, init)); // without a network
      const cardUrl = 'http://localhost/.well-known/agent-card.json';
      const card = (await (await globalThis.fetch(cardUrl)).json()) as JsonObject;
      const agent = new A2AAgent({ card });
      agent.setConsoleOutputEnabled(false);
      const pending = (await agent.call('Pay')).pending ?? [];
      const decisions = pending.map(({ id }) => ({ id, verdict: 'allow' }) as const);
      const deciding = agent.call(undefined, { decisions });
      hasEnded = await ticks(point, deciding);
      if (!hasEnded) await agent.interrupt();
      await deciding;
      const again = new A2AAgent({ card });
      again.setConsoleOutputEnabled(false);
      again.loadStateDict(JSON.parse(JSON.stringify(agent.stateDict())) as JsonObject);
      await agent[Symbol.asyncDispose]();
      expect((await again.call('Hi')).text).toBe('Done.');
      await again[Symbol.asyncDispose]();
      expect(log.length).toBeLessThanOrEqual(1);
      paid.add(log.length);
    }
    expect(paid).toEqual(new Set([0, 1]));
  } finally {
    globalThis.fetch = fetch;
  }
});
