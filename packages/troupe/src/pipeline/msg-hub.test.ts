import { scheduler } from 'node:timers/promises';

import fc from 'fast-check';
import { expect, test } from 'vitest';

import { AgentBase } from '../agent/agent-base.ts';
import type { Logger } from '../config/logger.ts';
import { withRunConfig } from '../config/run-config.ts';
import { Msg } from '../message/msg.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { fanoutPipeline } from './fanout-pipeline.ts';
import { MsgHub } from './msg-hub.ts';

/** Gives prepared answers, and records observed messages. */
class Talker extends AgentBase {
  readonly heard: string[] = [];
  /** Holds back a reply. */
  gate: Promise<void> = Promise.resolve();
  /** Runs after an observed message is recorded. */
  digest: () => Promise<void> = async () => {};

  constructor(name: string) {
    super({ name });
    this.setConsoleOutputEnabled(false);
  }

  async reply(msgs: readonly Msg[]): Promise<Msg> {
    await this.gate;
    return Msg.assistant(msgs.map((msg) => msg.text).join(), { name: this.name });
  }

  override async observe(msgs: readonly Msg[]): Promise<void> {
    this.heard.push(...msgs.map((msg) => `${msg.name}: ${msg.text}`));
    await this.digest();
  }
}

const trio = (): [Talker, Talker, Talker] => [new Talker('alice'), new Talker('bob'), new Talker('carol')];
const heardBy = (agents: readonly Talker[]): string[][] => agents.map((agent) => agent.heard);

/** Runs a body and returns the lines of its log. */
async function logOf(body: () => Promise<unknown>): Promise<string[]> {
  const lines: string[] = [];
  const logging: Logger = { log: (level, message) => void lines.push(`${level}: ${message}`) };
  await withRunConfig({ logging }, body);
  return lines;
}

/** Whether an agent still has subscribers in a hub: removing none logs a warning. */
async function isSubscribed(agent: AgentBase, hub: MsgHub): Promise<boolean> {
  return (await logOf(async () => agent.removeSubscribers(hub.id))).length === 0;
}

test('all participants observe the announcement, then the messages of the others', async () => {
  const agents = trio();
  const [alice, bob] = agents;
  await using _ = await MsgHub.open({ participants: agents, announcement: Msg.system('Welcome') });
  await alice.call('hi');
  await bob.call('ho');
  expect(heardBy(agents)).toEqual([
    ['system: Welcome', 'bob: ho'],
    ['system: Welcome', 'alice: hi'],
    ['system: Welcome', 'alice: hi', 'bob: ho'],
  ]);
});

test('a hub can be opened and closed by method, repeatedly', async () => {
  const [alice, bob] = trio();
  const hub = new MsgHub({
    participants: [alice, bob],
    announcement: ['Welcome', 'Begin'].map((text) => Msg.user(text)),
  });
  await alice.call('before');
  await hub.open();
  await hub.open();
  await alice.call('inside');
  await hub.close();
  await hub.close();
  await alice.call('after');
  expect([hub.isOpen, bob.heard]).toEqual([false, ['user: Welcome', 'user: Begin', 'alice: inside']]);
  await hub.open();
  await alice.call('again');
  expect(bob.heard.slice(3)).toEqual(['user: Welcome', 'user: Begin', 'alice: again']);
});

test('W11: a closed hub leaves no subscription behind, even if its body throws', async () => {
  const agents = trio();
  let left: MsgHub | undefined;
  const body = async (): Promise<void> => {
    await using hub = await MsgHub.open({ participants: agents });
    left = hub;
    await agents[0].call('inside');
    throw new Error('the body broke');
  };
  await expect(body()).rejects.toThrow('the body broke');
  await agents[0].call('after');
  await agents[1].call('after');
  expect(heardBy(agents)).toEqual([[], ['alice: inside'], ['alice: inside']]);
  for (const agent of agents) expect(await isSubscribed(agent, left!)).toBe(false);
});

test('a hub is closed if its announcement fails', async () => {
  const [alice, bob] = trio();
  alice.digest = () => Promise.reject(new Error('I am deaf'));
  const logging: Logger = {
    log() {
      throw new Error('the logger broke');
    },
  };
  const hub = new MsgHub({ participants: [alice, bob], announcement: 'Welcome' });
  await withRunConfig({ logging }, () => expect(hub.open()).rejects.toThrow('the logger broke'));
  await alice.call('after');
  expect([hub.isOpen, bob.heard]).toEqual([false, ['user: Welcome']]);
  expect(await isSubscribed(alice, hub)).toBe(false);
});

test('an added agent observes later messages; existing participants are unaffected', async () => {
  const [alice, bob, carol] = trio();
  await using hub = await MsgHub.open({ participants: [alice, alice], announcement: 'Welcome' });
  expect(hub.participants).toEqual([alice]);
  hub.add(bob);
  await alice.call('one');
  hub.add([alice, bob, carol, carol]);
  await alice.call('two');
  await carol.call('three');
  expect(hub.participants).toEqual([alice, bob, carol]);
  expect(heardBy([alice, bob, carol])).toEqual([
    ['user: Welcome', 'carol: three'],
    ['alice: one', 'alice: two', 'carol: three'],
    ['alice: two'],
  ]);
});

test('W11: a deleted agent neither sends nor receives from then on', async () => {
  const [alice, bob, carol] = trio();
  await using hub = await MsgHub.open({ participants: [alice, bob, carol] });
  hub.delete(alice);
  await alice.call('anybody there?');
  await bob.call('she is gone');
  await hub.broadcast('Quiet, please');
  expect(hub.participants).toEqual([bob, carol]);
  expect(heardBy([alice, bob, carol])).toEqual([
    [],
    ['user: Quiet, please'],
    ['bob: she is gone', 'user: Quiet, please'],
  ]);
  hub.delete([bob, carol]);
  await bob.call('me too');
  expect([hub.participants, carol.heard.length]).toEqual([[], 2]);
});

test('W11: the reply of an agent deleted meanwhile is not sent', async () => {
  const [alice, bob, carol] = trio();
  await using hub = await MsgHub.open({ participants: [alice, bob, carol] });
  let finish = (): void => {};
  alice.gate = new Promise((resolve) => (finish = resolve));
  const reply = alice.call('my last words');
  await scheduler.yield();
  expect(alice.isRunning).toBe(true);
  hub.delete(alice);
  finish();
  expect((await reply).text).toBe('my last words');
  expect(heardBy([alice, bob, carol])).toEqual([[], [], []]);
  expect(await isSubscribed(alice, hub)).toBe(false);
});

test('deleting an unknown agent logs a warning', async () => {
  const [alice, bob, carol] = trio();
  const hub = new MsgHub({ participants: [alice, carol], name: 'lobby' });
  const deletions = async (): Promise<void> => {
    hub.delete(bob);
    await hub.open();
    hub.delete([bob, carol]);
    await hub.close();
  };
  const warning = "warn: bob can't be deleted from the hub 'lobby': it is no participant.";
  expect(await logOf(deletions)).toEqual([warning, warning]);
  expect(hub.participants).toEqual([alice]);
});

test('automatic broadcast can be switched off and on', async () => {
  const [alice, bob, carol] = trio();
  const hub = new MsgHub({ participants: [alice, bob], enableAutoBroadcast: false, announcement: 'Welcome' });
  const warnings = await logOf(async () => {
    await hub.open();
    await alice.call('one');
    hub.setAutoBroadcast(true);
    await alice.call('two');
    hub.add(carol);
    await alice.call('two and a half');
    hub.setAutoBroadcast(false);
    await alice.call('three');
    await hub.broadcast('four');
    hub.delete(carol);
    await hub.close();
    hub.setAutoBroadcast(true);
    await alice.call('five');
  });
  expect(heardBy([alice, bob, carol])).toEqual([
    ['user: Welcome', 'user: four'],
    ['user: Welcome', 'alice: two', 'alice: two and a half', 'user: four'],
    ['alice: two and a half', 'user: four'],
  ]);
  expect(warnings).toEqual([]);
});

test('a broadcast reaches all participants, the author included, without thinking', async () => {
  const [alice, bob] = trio();
  await using hub = await MsgHub.open({ participants: [alice, bob] });
  const content = [{ type: 'thinking', thinking: 'hm' } as const, { type: 'text', text: 'aha' } as const];
  const received: unknown[] = [];
  bob.registerInstanceHook('preObserve', 'receive', (_agent, { msgs }) => void received.push(...msgs));
  const msg = Msg.assistant(content, { name: 'alice' });
  await hub.broadcast([msg, Msg.user('next')]);
  expect(heardBy([alice, bob])).toEqual([
    ['alice: aha', 'user: next'],
    ['alice: aha', 'user: next'],
  ]);
  expect(received[0]).toEqual(msg.with({ content: [{ type: 'text', text: 'aha' }] }));
});

test('a closed hub broadcasts nothing', async () => {
  const [alice] = trio();
  const hub = new MsgHub({ participants: [alice], name: 'lobby' });
  const problem = "The hub 'lobby' is closed. Open it before you broadcast.";
  await expect(hub.broadcast('too early')).rejects.toThrow(problem);
  await hub.open();
  await hub.close();
  await expect(hub.broadcast('too late')).rejects.toThrow(problem);
  expect(alice.heard).toEqual([]);
});

test('a hub closed during a broadcast sends nothing more', async () => {
  const [alice, bob] = trio();
  const hub = await MsgHub.open({ participants: [alice, bob] });
  alice.digest = () => hub.close();
  await hub.broadcast(['one', 'two'].map((text) => Msg.user(text)));
  expect(heardBy([alice, bob])).toEqual([['user: one'], ['user: one']]);
});

test('W12: one failing listener breaks neither the speaker nor the others, and is reported once', async () => {
  const [alice, bob, carol] = trio();
  bob.digest = () => Promise.reject(new Error('I am deaf'));
  const warnings = await logOf(async () => {
    await using hub = await MsgHub.open({
      participants: [alice, bob, carol],
      announcement: 'Welcome',
      name: 'lobby',
    });
    expect((await alice.call('hi')).text).toBe('hi');
    await hub.broadcast('Goodbye');
  });
  expect(carol.heard).toEqual(['user: Welcome', 'alice: hi', 'user: Goodbye']);
  expect(warnings).toEqual([
    "warn: bob could not observe a broadcast in the hub 'lobby': I am deaf",
    'warn: bob could not observe alice: I am deaf',
    "warn: bob could not observe a broadcast in the hub 'lobby': I am deaf",
  ]);
});

test('W12: participants observe concurrently; a slow one does not delay the others', async () => {
  const [alice, bob, carol] = trio();
  let wake = (): void => {};
  const asleep = new Promise<void>((resolve) => (wake = resolve));
  bob.digest = () => asleep;
  await using hub = await MsgHub.open({ participants: [alice, bob, carol] });
  const underWay = [hub.broadcast('by hand'), alice.call('by itself')];
  await scheduler.yield();
  expect(carol.heard).toEqual(['user: by hand', 'alice: by itself']);
  wake();
  await Promise.all(underWay);
});

test('a hanging participant delays a broadcast for a minute at most', async () => {
  const clock = new FakeClock();
  using _ = clock.install();
  const [alice, bob] = trio();
  bob.digest = () => new Promise(() => {});
  await using hub = await MsgHub.open({ participants: [alice, bob], name: 'lobby' });
  const warnings = logOf(() => hub.broadcast('hello?'));
  await clock.advance(60_000);
  expect(await warnings).toEqual([
    "warn: bob could not observe a broadcast in the hub 'lobby': It took longer than 60 s.",
  ]);
  expect([alice.heard, clock.pendingTimers]).toEqual([['user: hello?'], 0]);
});

test('nobody waits for a hanging participant that has left, unless a second hub has both', async () => {
  const agents = trio();
  const [alice, bob, carol] = agents;
  await using first = await MsgHub.open({ participants: agents });
  await using second = await MsgHub.open({ participants: [alice, bob] });
  const reached = Promise.withResolvers<void>();
  bob.digest = () => {
    reached.resolve();
    return new Promise(() => {});
  };
  let isAnswered = false;
  const call = alice.call('hi').then(() => (isAnswered = true));
  await reached.promise;
  first.delete(bob);
  for (let i = 0; i < 5; i++) await scheduler.yield();
  expect(isAnswered).toBe(false);
  second.delete(bob);
  await call;
  expect(carol.heard).toEqual(['alice: hi']);
});

test('agents in two common hubs observe a message once, and leave the hubs one by one', async () => {
  const [alice, bob, carol] = trio();
  const inner = await MsgHub.open({ participants: [alice, bob], name: 'same name' });
  const outer = await MsgHub.open({ participants: [alice, bob, carol], name: 'same name' });
  await alice.call('both');
  await inner.close();
  await alice.call('outer only');
  await inner.open();
  outer.delete(bob);
  await alice.call('each hub has one of you');
  await outer.close();
  await alice.call('inner only');
  await inner.close();
  await alice.call('nobody');
  expect(heardBy([alice, bob, carol])).toEqual([
    [],
    ['alice: both', 'alice: outer only', 'alice: each hub has one of you', 'alice: inner only'],
    ['alice: both', 'alice: outer only', 'alice: each hub has one of you'],
  ]);
});

test('an agent may be in a pipeline and in a hub at once', async () => {
  const agents = trio();
  await using _ = await MsgHub.open({ participants: agents });
  const [alice] = agents;
  const answers = await Promise.all([
    alice.call('alone', { onBusy: 'queue' }),
    fanoutPipeline(agents, 'together', { onBusy: 'queue' }),
  ]);
  expect(answers.flat().map((msg) => msg.text)).toEqual(['alone', 'together', 'together', 'together']);
  expect(heardBy(agents).map((heard) => heard.toSorted())).toEqual([
    ['bob: together', 'carol: together'],
    ['alice: alone', 'alice: together', 'carol: together'],
    ['alice: alone', 'alice: together', 'bob: together'],
  ]);
});

test('each participant observes each message once, while it is in the hub', async () => {
  const who = fc.integer({ min: 0, max: 3 });
  const step = fc.record({ act: fc.constantFrom('add', 'delete', 'speak', 'broadcast'), who });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
      const agents = ['a', 'b', 'c', 'd'].map((name) => new Talker(name));
      let digested = Promise.withResolvers<void>();
      for (const agent of agents) agent.digest = () => digested.promise;
      /** Ends all broadcasts: every agent has observed the messages. */
      const digestAll = async (): Promise<void> => {
        for (const _ of steps) {
          digested.resolve(); // each agent takes in one message after the other
          digested = Promise.withResolvers<void>();
          await scheduler.yield();
        }
      };
      const present = new Set(agents.slice(0, 2));
      const expected = new Map<Talker, string[]>(agents.map((agent) => [agent, []]));
      const hub = await MsgHub.open({ participants: [...present] });
      const underWay: Promise<unknown>[] = [];

      for (const [i, { act, who }] of steps.entries()) {
        const agent = agents[who]!;
        if (act === 'add') {
          hub.add(agent);
          present.add(agent);
        }
        if (act === 'delete') {
          hub.delete(agent);
          present.delete(agent);
        }
        if (act === 'broadcast') {
          underWay.push(hub.broadcast(`${i}`));
          for (const listener of present) expected.get(listener)!.push(`user: ${i}`);
        }
        if (act === 'speak') {
          await digestAll(); // an agent answers after the messages have arrived
          underWay.push(agent.call(`${i}`));
          const listeners = present.has(agent) ? [...present].filter((other) => other !== agent) : [];
          for (const listener of listeners) expected.get(listener)!.push(`${agent.name}: ${i}`);
          await scheduler.yield(); // until the reply is sent
        }
      }
      await digestAll();
      await Promise.all(underWay);
      await hub.close();
      expect(heardBy(agents)).toEqual([...expected.values()]);
    }),
    { numRuns: 100 },
  );
});
