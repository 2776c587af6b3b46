import { scheduler } from 'node:timers/promises';

import { expect, expectTypeOf, test } from 'vitest';

import { AgentBase } from '../agent/agent-base.ts';
import type { Turn } from '../agent/turn/turn.ts';
import { Msg, type MsgInput } from '../message/msg.ts';
import { abortable } from '../util/abort.ts';
import { SequentialPipeline, sequentialPipeline } from './sequential-pipeline.ts';

/** Does arithmetic on `metadata.result`, as the agents of Python's pipeline tests do. */
class Calculator extends AgentBase {
  calls = 0;
  readonly #compute: (n: number) => number;

  constructor(name: string, compute: (n: number) => number) {
    super({ name });
    this.#compute = compute;
    this.setConsoleOutputEnabled(false);
  }

  async reply(msgs: readonly Msg[]): Promise<Msg> {
    this.calls++;
    const before = msgs.at(-1)?.metadata['result'] ?? 0;
    return Msg.assistant('', { name: this.name, metadata: { result: this.#compute(Number(before)) } });
  }
}

class Stuck extends AgentBase {
  async reply(_msgs: readonly Msg[], turn: Turn): Promise<Msg> {
    return abortable(new Promise(() => {}), turn.signal);
  }
}

const add = (n: number): Calculator => new Calculator(`+${n}`, (before) => before + n);
const multiply = (n: number): Calculator => new Calculator(`×${n}`, (before) => before * n);
const zero = Msg.user('', { metadata: { result: 0 } });

test.each([
  { agents: [add(1), add(2), multiply(3)], result: 9 },
  { agents: [add(1), multiply(3), add(2)], result: 5 },
  { agents: [multiply(3), add(1), add(2)], result: 3 },
])('the output of one agent is the input of the next: $result', async ({ agents, result }) => {
  expect((await sequentialPipeline(agents, zero)).metadata).toEqual({ result });
  expect((await new SequentialPipeline(agents).call(zero)).metadata).toEqual({ result });
});

test('the first agent may start without input', async () => {
  const answer = await sequentialPipeline([add(1), add(2)]);
  expect(answer).toMatchObject({ name: '+2', metadata: { result: 3 } });
});

test('without agents the input is the result', async () => {
  expect(await sequentialPipeline([], zero)).toBe(zero);
  expect(await sequentialPipeline([], 'as it is')).toBe('as it is');
  expect(await sequentialPipeline([])).toBeUndefined();
  expect(await new SequentialPipeline([]).call(zero)).toBe(zero);
});

test('a pipeline keeps its agents and can be called again', async () => {
  const agents = [add(1)];
  const pipeline = new SequentialPipeline(agents);
  agents.push(add(10));
  const once = await pipeline.call(zero);
  expect((await pipeline.call(once)).metadata).toEqual({ result: 2 });
});

test('an error ends the sequence', async () => {
  const broken = new Calculator('broken', () => {
    throw new Error('no more numbers');
  });
  const last = add(1);
  await expect(sequentialPipeline([broken, last], zero)).rejects.toThrow('no more numbers');
  expect(last.calls).toBe(0);
});

test('a signal stops the running agent, and later agents never start', async () => {
  const stuck = new Stuck({ name: 'stuck' });
  const last = add(1);
  const controller = new AbortController();
  const sequence = sequentialPipeline([add(1), stuck, last], zero, { signal: controller.signal });
  await scheduler.yield();
  expect(stuck.isRunning).toBe(true);
  controller.abort(new Error('enough'));
  await expect(sequence).rejects.toThrow('enough');
  expect([stuck.isRunning, last.calls]).toEqual([false, 0]);
});

test('the type of the result includes the input only without agents', () => {
  const some: AgentBase[] = [];
  const anything = zero as MsgInput;
  expectTypeOf(sequentialPipeline([add(1)], anything)).resolves.toEqualTypeOf<Msg>();
  expectTypeOf(sequentialPipeline(some, zero)).resolves.toEqualTypeOf<Msg>();
  expectTypeOf(sequentialPipeline(some)).resolves.toEqualTypeOf<Msg | undefined>();
  expectTypeOf(sequentialPipeline(some, anything)).resolves.toEqualTypeOf<MsgInput>();
});
