// Cost of AutoContextMemory with very long conversations.
import { countWork, type Work } from './counted-work.ts';
import { expect, test } from 'vitest';

import { AutoContextMemory } from '../src/compression/auto-context/auto-context-memory.ts';
import { Msg } from '../src/message/msg.ts';
import { pairs, summingModel, taskWith } from './compression-task.ts';

async function memoryOf(count: number): Promise<AutoContextMemory> {
  const memory = new AutoContextMemory({ msgThreshold: 1_000_000, maxToken: 1_000_000_000 });
  await memory.add(
    Array.from({ length: count }, (_, i) => (i % 2 === 0 ? Msg.user(`q${i}`) : Msg.assistant(`a${i}`))),
  );
  await memory.compress(taskWith(summingModel()));
  return memory;
}

/** Cost of 200 turns: one more message each, and a check of the limits. */
async function costOfTurns(memory: AutoContextMemory): Promise<Work> {
  const task = taskWith(summingModel());
  return countWork(async () => {
    for (let i = 0; i < 200; i++) {
      await memory.add(Msg.user('one more'));
      expect(await memory.compress(task)).toBe(false);
    }
  });
}

test('with 100 000 messages, a turn costs what it costs with 1 000', async () => {
  const small = await costOfTurns(await memoryOf(1000));
  const large = await costOfTurns(await memoryOf(100_000));
  expect(large.steps).toBeLessThan(1.25 * small.steps);
  expect(large.bytes).toBeLessThan(2 * (small.bytes + 1024 ** 2));
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
])('10 000 messages are made to fit in at most 1 000 steps each, %s', async (_, turn, msgs) => {
  const memory = new AutoContextMemory();
  await memory.add([...msgs(), Msg.user('and now?')]);
  expect(await memory.size()).toBe(10_001);
  const { steps, bytes } = await countWork(async () => {
    expect(await memory.compress(taskWith(summingModel(turn)))).toBe(true);
  });
  expect(steps).toBeLessThan(1000 * 10_000);
  expect(bytes).toBeLessThan(50_000 * 10_000);
});
