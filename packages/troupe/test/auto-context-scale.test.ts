// Cost of AutoContextMemory with very long conversations.
import { performance } from 'node:perf_hooks';

import { expect, test } from 'vitest';

import { AutoContextMemory } from '../src/compression/auto-context/auto-context-memory.ts';
import { Msg } from '../src/message/msg.ts';
import type { ScriptedTurn } from '../src/testing/scripted-model.ts';
import { pairs, summingModel, taskWith } from './compression-task.ts';

/** CPU time of the process. */
async function cpuMs(body: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await body();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

async function memoryOf(count: number): Promise<AutoContextMemory> {
  const memory = new AutoContextMemory({ msgThreshold: 1_000_000, maxToken: 1_000_000_000 });
  await memory.add(
    Array.from({ length: count }, (_, i) => (i % 2 === 0 ? Msg.user(`q${i}`) : Msg.assistant(`a${i}`))),
  );
  await memory.compress(taskWith(summingModel()));
  return memory;
}

/** Minimum cost of a turn: one more message and a check of the limits. */
async function turnMs(memory: AutoContextMemory): Promise<number> {
  const task = taskWith(summingModel());
  let least = Infinity;
  for (let i = 0; i < 200; i++) {
    const start = performance.now();
    await memory.add(Msg.user('one more'));
    expect(await memory.compress(task)).toBe(false);
    least = Math.min(least, performance.now() - start);
  }
  return least;
}

test('with 100 000 messages, a turn costs what it costs with 1 000', async () => {
  const [small, large] = [await turnMs(await memoryOf(1000)), await turnMs(await memoryOf(100_000))];
  expect(large).toBeLessThan(Math.max(small * 2, 0.2));
});

/** Rounds with 18 tool messages each. */
const toolRounds = (): Msg[] =>
  Array.from({ length: 500 }, (_, i) => [
    Msg.user(`q${i}`),
    ...pairs(`r${i}_`, 9, 'x'.repeat(i % 3 === 0 ? 6000 : 300)),
    Msg.assistant(`a${i}`),
  ]).flat();
const plainRounds = (): Msg[] =>
  Array.from({ length: 5000 }, (_, i) => [
    Msg.user(`q${i}`.padEnd(200, '.')),
    Msg.assistant(`a${i}`.padEnd(200, '.')),
  ]).flat();

const failing = { error: new Error('broken') };
const summing = { text: 'In short: done.' };
test.each([
  ['without a model', failing, toolRounds],
  ['with one', summing, toolRounds],
  ['in a plain chat without a model', failing, plainRounds],
  ['in a plain chat with one', summing, plainRounds],
])('10 000 messages are made to fit in less than a second, %s', async (_, turn, msgs) => {
  const ms = Math.min(await fitMs(turn, msgs()), await fitMs(turn, msgs())); // the first run includes compilation
  expect(ms).toBeLessThan(1000);
});

async function fitMs(turn: ScriptedTurn, msgs: readonly Msg[]): Promise<number> {
  const memory = new AutoContextMemory();
  await memory.add([...msgs, Msg.user('and now?')]);
  expect(await memory.size()).toBe(10_001);
  return cpuMs(async () => expect(await memory.compress(taskWith(summingModel(turn)))).toBe(true));
}
