import { scheduler } from 'node:timers/promises';

import { expect, test } from 'vitest';

import { AgentBase } from '../agent/agent-base.ts';
import type { Turn } from '../agent/turn/turn.ts';
import type { Logger } from '../config/logger.ts';
import { withRunConfig } from '../config/run-config.ts';
import type { AgentEvent } from '../event/agent-event.ts';
import { Msg } from '../message/msg.ts';
import { ReActAgent } from '../react/react-agent.ts';
import { ScriptedModel } from '../testing/scripted-model.ts';
import { tool } from '../toolkit/tool/tool.ts';
import { abortable } from '../util/abort.ts';
import { ChatRoom } from './chat-room.ts';

const forever = new Promise<never>(() => {});

/** Answers after some preparation, and records observed messages. */
class Guest extends AgentBase {
  readonly heard: string[] = [];
  readonly answered: string[] = [];
  prepare: (turn: Turn) => Promise<void> = async () => {};

  constructor(name: string) {
    super({ name });
    this.setConsoleOutputEnabled(false);
  }

  async reply(msgs: readonly Msg[], turn: Turn): Promise<Msg> {
    await this.prepare(turn);
    const question = msgs.map((msg) => msg.text).join();
    this.answered.push(question);
    return Msg.assistant(`${question}!`, { name: this.name });
  }

  override async observe(msgs: readonly Msg[]): Promise<void> {
    this.heard.push(...msgs.map((msg) => `${msg.name}: ${msg.text}`));
  }
}

const duo = (): [Guest, Guest] => [new Guest('alice'), new Guest('bob')];

/** Guest that never answers. */
function stuck(name: string): Guest {
  const guest = new Guest(name);
  guest.prepare = ({ signal }) => abortable(forever, signal);
  return guest;
}

/** Reads a stream to its end. */
async function readAll(events: AsyncIterable<AgentEvent>): Promise<string[]> {
  const lines: string[] = [];
  for await (const event of events) lines.push(lineOf(event));
  return lines;
}

function lineOf(event: AgentEvent): string {
  const details =
    event.type === 'run_end' ? ` ${event.status} ${event.msg?.text ?? event.error?.message ?? ''}` : '';
  return `${event.agentPath.join('/')} ${event.type}${details}`;
}

/** Runs a body and returns the lines of its log. */
async function logOf(body: () => Promise<unknown>): Promise<string[]> {
  const lines: string[] = [];
  const logging: Logger = { log: (level, message) => void lines.push(`${level}: ${message}`) };
  await withRunConfig({ logging }, body);
  return lines;
}

test('every agent answers the input and observes the others, never itself', async () => {
  const agents = [...duo(), new Guest('carol')];
  const room = new ChatRoom(agents);
  const events = readAll(room.start());
  await room.handleInput('hi');
  await room.stop();
  const lines = await events;
  for (const { name } of agents) {
    expect(lines.filter((line) => line.startsWith(name))).toEqual([
      `${name} reply_start`,
      `${name} reply_end`,
      `${name} run_end finished hi!`,
    ]);
  }
  expect(agents.map((agent) => agent.heard.toSorted())).toEqual([
    ['bob: hi!', 'carol: hi!'],
    ['alice: hi!', 'carol: hi!'],
    ['alice: hi!', 'bob: hi!'],
  ]);
});

test('agents answer concurrently, one input after the other', async () => {
  const [alice, bob] = duo();
  let wake = (): void => {};
  const asleep = new Promise<void>((resolve) => (wake = resolve));
  alice.prepare = () => asleep;
  await using room = new ChatRoom([alice, bob, bob]);
  const events = readAll(room.start());
  const inputs = [room.handleInput('one'), room.handleInput('two')];
  await scheduler.yield();
  expect([alice.answered, bob.answered]).toEqual([[], ['one', 'two']]);
  wake();
  await Promise.all(inputs);
  expect([alice.answered, bob.answered]).toEqual([
    ['one', 'two'],
    ['one', 'two'],
  ]);
  await room.stop();
  expect((await events).filter((line) => line.includes('run_end'))).toHaveLength(4);
});

test('stopping interrupts running agent calls, drops queued ones, ends the stream and unsubscribes', async () => {
  const [alice, bob] = [stuck('alice'), new Guest('bob')];
  const room = new ChatRoom([alice, bob]);
  const events = readAll(room.start());
  const logged = await logOf(async () => {
    const inputs = [room.handleInput('one'), room.handleInput('two')];
    await scheduler.yield();
    const stopped = [room.stop(), room.stop()];
    await expect(room.handleInput('three')).rejects.toThrow('The chat room is closed.');
    await Promise.all([...stopped, ...inputs]);
  });
  expect(logged).toEqual([]);
  const ends = (await events).filter((line) => line.includes('run_end'));
  expect(ends).toEqual([
    'bob run_end finished one!',
    'bob run_end finished two!',
    'alice run_end interrupted I noticed that you have interrupted me. What can I do for you?',
  ]);
  expect([alice.isRunning, alice.answered]).toEqual([false, []]);
  const heard = [...alice.heard];
  await bob.call('is anybody there?');
  expect(alice.heard).toEqual(heard);
});

test.each(['while it reads', 'while it waits'])('a consumer that leaves %s stops the room', async (when) => {
  const [alice, bob] = [stuck('alice'), new Guest('bob')];
  const room = new ChatRoom([alice, bob]);
  const events = room.start();
  const input = room.handleInput('hi');
  await events.next();
  const pending: Promise<unknown>[] = [];
  if (when === 'while it waits') for (let i = 0; i < 9; i++) pending.push(events.next());
  await scheduler.yield();
  await events.return();
  expect(alice.isRunning).toBe(false);
  await Promise.all([input, ...pending]);
  await bob.call('is anybody there?');
  expect(alice.heard).not.toContain('bob: is anybody there?!');
  await expect(room.handleInput('hello?')).rejects.toThrow('The chat room is closed. Call start() first.');
});

test('agents wait for an unread stream, and can be stopped meanwhile', async () => {
  const alice = new Guest('alice');
  let printed = 0;
  alice.prepare = async ({ signal }) => {
    for (; printed < 1000 && !signal.aborted; printed++) await alice.print(Msg.assistant(`${printed}`));
  };
  const room = new ChatRoom([alice], { capacity: 4 });
  const events = room.start();
  const input = room.handleInput('count');
  for (let i = 0; i < 20; i++) await scheduler.yield();
  expect(printed).toBeGreaterThan(0);
  expect(printed).toBeLessThan(100);
  await room.stop();
  await input;
  expect((await readAll(events)).at(-1)).toMatch(/^alice run_end interrupted/);
});

test('a failing agent does not affect the others', async () => {
  const [alice, bob] = duo();
  alice.prepare = () => Promise.reject(new Error('I lost my voice'));
  const room = new ChatRoom([alice, bob]);
  const events = readAll(room.start());
  const logged = await logOf(() => room.handleInput('hi'));
  await room.stop();
  expect((await events).filter((line) => line.includes('run_end')).toSorted()).toEqual([
    'alice run_end failed I lost my voice',
    'bob run_end finished hi!',
  ]);
  expect(logged).toEqual(['warn: alice failed in the chat room: I lost my voice']);
});

test('an agent hanging in handleInterrupt does not delay the stop', async () => {
  class Hung extends Guest {
    override prepare = (): Promise<void> => forever;
    override handleInterrupt(): Promise<Msg> {
      return forever;
    }
  }
  const room = new ChatRoom([new Hung('alice')]);
  const events = readAll(room.start());
  void room.handleInput('hi');
  await scheduler.yield();
  await room.stop();
  expect((await events)[0]).toBe('alice reply_start');
});

test('a room is open from start to stop, and can be started again', async () => {
  const [alice, bob] = duo();
  const room = new ChatRoom([alice, bob]);
  await room.stop();
  await expect(room.handleInput('too early')).rejects.toThrow('The chat room is closed. Call start() first.');
  const first = room.start();
  expect(() => room.start()).toThrow('The chat room is already open.');
  await room.stop();
  expect(await readAll(first)).toEqual([]);
  await expect(room.handleInput('too late')).rejects.toThrow('The chat room is closed. Call start() first.');

  const second = readAll(room.start());
  await first.return(); // the old stream does not affect the new room
  await room.handleInput('again');
  await room[Symbol.asyncDispose]();
  expect((await second).filter((line) => line.includes('run_end')).toSorted()).toEqual([
    'alice run_end finished again!',
    'bob run_end finished again!',
  ]);
});

test('a joining agent answers and observes from then on', async () => {
  const [alice, bob] = duo();
  const room = new ChatRoom([alice]);
  const events = readAll(room.start());
  await room.handleInput('one');
  room.join([bob, alice]);
  expect(room.agents).toEqual([alice, bob]);
  await room.handleInput('two');
  await room.stop();
  expect([alice.answered, bob.answered]).toEqual([['one', 'two'], ['two']]);
  expect([alice.heard, bob.heard]).toEqual([['bob: two!'], ['alice: two!']]);
  expect((await events).filter((line) => line.includes('run_end'))).toHaveLength(3);
});

test('a leaving agent neither answers nor observes, and is not heard', async () => {
  const [alice, bob] = duo();
  const room = new ChatRoom([alice, bob]);
  const events = readAll(room.start());
  await room.handleInput('one');
  room.leave(bob);
  await room.handleInput('two');
  await bob.call('still here?');
  await room.stop();
  expect([alice.answered, bob.answered]).toEqual([
    ['one', 'two'],
    ['one', 'still here?'],
  ]);
  expect([alice.heard, bob.heard]).toEqual([['bob: one!'], ['alice: one!']]);
  expect((await events).filter((line) => line.includes('run_end'))).toHaveLength(3);
});

test('an agent that leaves during its reply goes on unheard, and drops the inputs that it has not begun', async () => {
  const [alice, bob] = duo();
  const door = Promise.withResolvers<void>();
  bob.prepare = () => door.promise;
  const room = new ChatRoom([alice, bob], { capacity: 1 });
  const events = readAll(room.start());
  const inputs = [room.handleInput('one'), room.handleInput('two')];
  await scheduler.yield();
  room.leave([bob]);
  await Promise.all(inputs); // does not wait for bob
  await room.stop();
  expect(bob.isRunning).toBe(true); // not stopped with the room
  const settled = new Promise<void>((resolve) => void bob.onSettled(resolve));
  door.resolve();
  await settled;
  expect([bob.answered, alice.heard]).toEqual([['one'], []]);
  expect((await events).filter((line) => line.startsWith('bob'))).toEqual(['bob reply_start']);
});

test('pending tool calls of a leaving agent stay pending', async () => {
  const paid: string[] = [];
  const pay = tool({ name: 'pay', execute: () => void paid.push('now') });
  const model = new ScriptedModel([{ toolCalls: [{ name: 'pay', id: '1', input: {} }] }, 'Done.']);
  const permissionPolicy = { decide: () => ({ behavior: 'ask' as const }) };
  const payer = new ReActAgent({ name: 'payer', model, tools: [pay], permissionPolicy, console: false });
  const [alice] = duo();
  await using room = new ChatRoom([alice, payer]);
  const events = readAll(room.start());
  await room.handleInput('Pay.');
  room.leave(payer);
  await room.handleInput('Well?');
  await room.stop();
  const decisions = payer.pendingCalls.map(({ id }) => ({ id, verdict: 'allow' as const }));
  expect((await payer.call(undefined, { decisions })).text).toBe('Done.');
  expect([paid, alice.heard]).toEqual([['now'], []]);
  expect((await events).filter((line) => line.startsWith('payer run_end'))).toHaveLength(1);
});

test('an agent can join and leave a closed room; leaving twice is logged', async () => {
  const [alice, bob] = duo();
  const room = new ChatRoom([alice]);
  room.join(bob);
  room.leave(alice);
  expect(room.agents).toEqual([bob]);
  expect(await logOf(async () => room.leave(alice))).toEqual([
    "warn: alice can't leave the chat room: it is not in it.",
  ]);
});
