// Agents answer after the observations that began before the call, and observe messages in order.
import { expect, test } from 'vitest';

import { withRunConfig } from '../config/run-config.ts';
import type { AgentEvent } from '../event/agent-event.ts';
import { Msg } from '../message/msg.ts';
import { MsgHub } from '../pipeline/msg-hub.ts';
import { ReActAgent } from '../react/react-agent.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { ScriptedModel, type ScriptedTurn } from '../testing/scripted-model.ts';
import { tool } from '../toolkit/tool/tool.ts';
import { sleep } from '../util/clock.ts';
import { AgentBase } from './agent-base.ts';

function agentOf(name: string, script: readonly (string | ScriptedTurn)[], observeTimeoutMs?: number) {
  return new ReActAgent({
    name,
    model: new ScriptedModel(script),
    tools: [tool({ name: 'pay', execute: () => 'paid' })],
    permissionPolicy: { decide: () => ({ behavior: 'ask' }) },
    observeTimeoutMs,
    console: false,
  });
}

/** Takes messages in as slowly as each of them says, in seconds. */
function slowDown(agent: ReActAgent): void {
  agent.registerInstanceHook('preObserve', 'slow', (_, { msgs }) => sleep(Number(msgs[0]?.text) * 1000));
}

function hangOn(agent: ReActAgent): void {
  agent.registerInstanceHook('preObserve', 'hang', () => new Promise<never>(() => {}));
}

const textsOf = async ({ memory }: ReActAgent): Promise<string[]> =>
  (await memory.getMemory()).map(({ text }) => text);

async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** Reads a stream to its end, without a log. */
async function read(agent: AgentBase): Promise<[events: AgentEvent[], problem: unknown]> {
  const events: AgentEvent[] = [];
  return withRunConfig({ logging: { log: () => {} } }, async () => {
    try {
      for await (const event of agent.stream('Go on.')) events.push(event);
      return [events, undefined];
    } catch (error) {
      return [events, error];
    }
  });
}

test('the prompt of the next speaker in a hub has what a speaker said before, though that was taken in slowly', async () => {
  using clock = new FakeClock().install();
  const [ann, bob] = [agentOf('ann', ['30', '1']), agentOf('bob', ['I agree.'])];
  slowDown(bob);
  await using _hub = await MsgHub.open({ participants: [ann, bob] });
  const calls = [ann.call('Begin.')];
  await settle();
  calls.push(bob.call('And you?')); // ann still waits for bob
  await settle();
  expect([ann.isRunning, bob.model]).toMatchObject([true, { requests: [] }]);
  await clock.advance(30_000);
  await Promise.all(calls);
  expect(await textsOf(bob)).toEqual(['30', 'And you?', 'I agree.']);
});

test('messages are taken in one after the other, in the order in which they were told', async () => {
  using clock = new FakeClock().install();
  const bob = agentOf('bob', ['Thanks.']);
  slowDown(bob);
  const told = [bob.observe('20'), bob.observe('1')];
  const call = bob.call('And now?');
  await settle();
  await clock.advance(20_000);
  await settle();
  await clock.advance(1_000);
  await Promise.all([...told, call]);
  expect(await textsOf(bob)).toEqual(['20', '1', 'And now?', 'Thanks.']);
});

test('an agent that is told something while it takes a message in may answer at once, and does not wait for itself', async () => {
  class Parrot extends AgentBase {
    readonly said: string[] = [];

    override async reply(msgs: readonly Msg[]): Promise<Msg> {
      return Msg.assistant(msgs[0]?.text ?? '', { name: this.name });
    }

    override async observe(msgs: readonly Msg[]): Promise<void> {
      this.said.push((await this.call(msgs)).text);
    }
  }
  const parrot = new Parrot({ name: 'parrot', console: false });
  await parrot.observe([Msg.user('Hello.')]);
  expect(parrot.said).toEqual(['Hello.']);
});

test('the wait has a limit, after which an error is told behind the start of the reply', async () => {
  using clock = new FakeClock().install();
  class Echo extends AgentBase {
    override async reply(): Promise<Msg> {
      return Msg.assistant('Hello.', { name: this.name });
    }

    override observe(): Promise<void> {
      return new Promise(() => {});
    }
  }
  const message = 'bob answers before it has taken in everything: that took longer than 5000 ms.';
  const bob = agentOf('bob', ['Hello.'], 5000);
  hangOn(bob);
  for (const agent of [bob, new Echo({ name: 'bob', console: false, observeTimeoutMs: 5000 })]) {
    void agent.observe([Msg.user('Hi.')]);
    const reading = read(agent);
    await settle();
    expect(agent.isRunning).toBe(true);
    await clock.advance(5000);
    const [events, problem] = await reading;
    expect(problem).toBeUndefined();
    expect(events.slice(0, 2)).toMatchObject([
      { type: 'reply_start' },
      { type: 'error', error: { message } },
    ]);
    expect(events.filter(({ type }) => type === 'reply_start')).toHaveLength(1);
    expect(events.at(-1)).toMatchObject({ type: 'run_end', status: 'finished' });
  }
});

test('an agent call that is refused after the wait has no event', async () => {
  using clock = new FakeClock().install();
  const bob = agentOf('bob', [{ toolCalls: [{ name: 'pay', input: {} }] }], 5000);
  await bob.call('Pay.');
  hangOn(bob);
  void bob.observe('Hi.');
  const reading = read(bob);
  await settle();
  await clock.advance(5000);
  expect(await reading).toMatchObject([[], { code: 'pending_calls' }]);
});

test('an interrupt ends the wait at once', async () => {
  using clock = new FakeClock().install();
  const bob = agentOf('bob', []);
  hangOn(bob);
  void bob.observe('Hi.');
  const call = bob.call('Are you there?');
  await settle();
  expect(await bob.interrupt()).toBe(true);
  expect([(await call).endReason, clock.pendingTimers]).toEqual(['interrupted', 0]);
});
