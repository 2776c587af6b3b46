// Served conversations with a store that is slow, full or hangs, while clients decide, cancel and repeat
// requests.

import { expect, test } from 'vitest';

import { serveA2A, type A2AServer } from '../../src/a2a/index.ts';
import { InMemorySession, ReActAgent, tool, Toolkit, type Session } from '../../src/index.ts';
import { FakeClock, ScriptedModel } from '../../src/testing/index.ts';
import { remoteAgent, Speaker } from './a2a-agents.ts';
import { decides, rpc, says } from './rpc.ts';

const CARD = { name: 'bank', description: 'Pays.' };

/** Session with saves that wait or fail. */
class Disk extends InMemorySession {
  isFull = false;
  #free: Promise<void> | undefined;

  /** Saves wait until the returned function is called. */
  hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#free = promise;
    return resolve;
  }

  override scoped(prefix: string): Session {
    const scoped = super.scoped(prefix);
    const save = scoped.save.bind(scoped);
    scoped.save = async (...args) => {
      if (this.isFull) throw new Error('the disk is full');
      await this.#free;
      return save(...args);
    };
    return scoped;
  }
}

function bank(log: string[]): ReActAgent {
  const toolkit = new Toolkit();
  const execute = (): string => {
    log.push('paid');
    return 'paid';
  };
  toolkit.registerToolFunction(tool({ name: 'pay', sideEffect: true, execute }));
  const model = new ScriptedModel([{ toolCalls: [{ name: 'pay', input: {} }] }, 'It is paid.', 'Hello.']);
  const permissionPolicy = { decide: () => ({ behavior: 'ask' }) as const };
  const agent = new ReActAgent({ name: 'bank', sysPrompt: '', model, toolkit, permissionPolicy });
  agent.setConsoleOutputEnabled(false);
  return agent;
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
}

const stateOf = async (server: A2AServer, id: string): Promise<string> =>
  (await rpc(server, 'GetTask', { id })).body.result.status.state;

test('a cancel that comes while a decision is being saved is heard: nothing is paid', async () => {
  const [log, session] = [[] as string[], new Disk()];
  await using server = serveA2A(() => bank(log), { card: CARD, session });
  const asked = (await rpc(server, 'SendMessage', says('Pay'))).body.result.task;
  const release = session.hold();
  const deciding = rpc(server, 'SendMessage', decides(asked, 'allow'));
  await turns();
  const canceling = rpc(server, 'CancelTask', { id: asked.id });
  await turns();
  release();
  expect((await canceling).body.result.status.state).toBe('TASK_STATE_CANCELED');
  expect((await deciding).body.result.task.status.state).toBe('TASK_STATE_CANCELED');
  expect(log).toEqual([]);
});

test('a task that is being canceled takes no decision any more, and stays canceled', async () => {
  const [log, session] = [[] as string[], new Disk()];
  await using server = serveA2A(() => bank(log), { card: CARD, session });
  const asked = (await rpc(server, 'SendMessage', says('Pay'))).body.result.task;
  const release = session.hold();
  const canceling = [
    rpc(server, 'CancelTask', { id: asked.id }),
    rpc(server, 'CancelTask', { id: asked.id }),
  ];
  await turns();
  const decided = await rpc(server, 'SendMessage', decides(asked, 'allow'));
  expect(decided.body.error.data[0].reason).toBe('UNSUPPORTED_OPERATION');
  release();
  const states = (await Promise.all(canceling)).map(({ body }) => body.result.status.state);
  expect(states).toEqual(['TASK_STATE_CANCELED', 'TASK_STATE_CANCELED']);
  const next = (await rpc(server, 'SendMessage', says('Hi', { contextId: asked.contextId }))).body.result;
  expect([next.task.status.state, await stateOf(server, asked.id), log]).toEqual([
    'TASK_STATE_COMPLETED',
    'TASK_STATE_CANCELED',
    [],
  ]);
});

test('a decision that could not be saved leaves the question as it was, and counts when it is sent again', async () => {
  const [log, session] = [[] as string[], new Disk()];
  await using server = serveA2A(() => bank(log), { card: CARD, session });
  const asked = (await rpc(server, 'SendMessage', says('Pay'))).body.result.task;
  const allow = decides(asked, 'allow');
  session.isFull = true;
  expect((await rpc(server, 'SendMessage', allow)).body.error.message).toMatch(/not taken/);
  expect((await rpc(server, 'GetTask', { id: asked.id })).body.result).toEqual(asked);
  session.isFull = false;
  const done = (await rpc(server, 'SendMessage', allow)).body.result.task;
  expect([done.status.state, log]).toEqual(['TASK_STATE_COMPLETED', ['paid']]);
});

test('a remote agent that refuses for now is asked again about the same task', async () => {
  const [log, session] = [[] as string[], new Disk()];
  await using server = serveA2A(() => bank(log), { card: CARD, session });
  const agent = remoteAgent(await server.listen());
  const pending = (await agent.call('Pay')).pending ?? [];
  const decisions = pending.map(({ id }) => ({ id, verdict: 'allow' }) as const);
  session.isFull = true;
  const refused = { code: 'a2a_failed', failure: 'refused' };
  await expect(agent.call(undefined, { decisions })).rejects.toMatchObject(refused);
  session.isFull = false;
  expect((await agent.call(undefined, { decisions })).text).toBe('It is paid.');
  expect(log).toEqual(['paid']);
  await agent[Symbol.asyncDispose]();
});

test.each(['an agent that is never made', 'a save that never ends'])(
  '%s does not keep a server from closing',
  async (what) => {
    const clock = new FakeClock();
    using _ = clock.install();
    const session = new Disk();
    const isMade = what !== 'an agent that is never made';
    const asked = Promise.withResolvers<void>();
    const server = serveA2A(
      () => {
        asked.resolve();
        return isMade ? new Speaker() : new Promise<never>(() => {});
      },
      { card: CARD, session },
    );
    if (isMade) {
      await rpc(server, 'SendMessage', { ...says('Hi'), configuration: { returnImmediately: true } });
      session.hold();
    } else void rpc(server, 'SendMessage', says('Hi'));
    await asked.promise;
    await turns();
    let isClosed = false;
    const closing = server.close().then(() => (isClosed = true));
    await clock.advance(9_000);
    await turns();
    expect(isClosed).toBe(false);
    await clock.advance(2_000);
    await closing;
  },
);
