// Work for each tool round, each tool call, each agent and each turn on a long history: counts, which no busy machine changes.
import { countWork } from './counted-work.ts';

import { expect, test, vi } from 'vitest';
import { z } from 'zod';

import { Msg, ReActAgent, tool } from '../src/index.ts';
import { OpenAIChatModel } from '../src/providers/openai/index.ts';
import { promisesIn } from './counted-promises.ts';

const chunk = (delta: object, finish_reason: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'r1', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
const toolCall = (id: string, index: number): object => ({
  index,
  id,
  type: 'function',
  function: { name: 'double', arguments: '{"x":21}' },
});

/** Agent whose model makes `calls` tool calls in each of `rounds` model messages, then answers. */
function newAgent(rounds: number, calls = 1): { agent: ReActAgent; bodies: string[] } {
  const bodies: string[] = [];
  const model = new OpenAIChatModel({
    modelName: 'm',
    apiKey: 'k',
    async fetch(_url, init) {
      bodies.push(String(init?.body));
      const round = bodies.length;
      if (round > rounds)
        return new Response(`${chunk({ content: 'Done.' })}${chunk({}, 'stop')}data: [DONE]\n\n`);
      const tool_calls = Array.from({ length: calls }, (_, i) => toolCall(`call_${round}_${i}`, i));
      return new Response(`${chunk({ tool_calls })}${chunk({}, 'tool_calls')}data: [DONE]\n\n`);
    },
  });
  const double = tool({
    name: 'double',
    description: 'Doubles a number.',
    schema: z.object({ x: z.number() }),
    execute: ({ x }, { signal }) => String(signal.aborted ? NaN : 2 * x),
  });
  const agent = new ReActAgent({
    name: 'Friday',
    model,
    tools: [double],
    maxIters: rounds + 1,
    parallelToolCalls: true,
    console: false,
  });
  return { agent, bodies };
}

/** Runs the rounds, and expects all tool calls to have a result. */
async function run(rounds: number, calls = 1): Promise<void> {
  const { agent, bodies } = newAgent(rounds, calls);
  const answer = await agent.call('Go.');
  expect([answer.text, bodies.length]).toEqual(['Done.', rounds + 1]);
  expect((await agent.memory.getMemory()).length).toBe(2 + rounds * (1 + calls));
}

/** Cost of each further unit: the difference of two sizes. */
async function perUnit(few: number, many: number, cost: (size: number) => Promise<number>): Promise<number> {
  await cost(few); // whatever is made once
  const least = await cost(few);
  return ((await cost(many)) - least) / (many - few);
}

test('a tool round costs a bounded number of promises', async () => {
  const perRound = await perUnit(10, 60, (rounds) => promisesIn(() => run(rounds)));
  expect(perRound).toBeGreaterThan(10);
  expect(perRound).toBeLessThan(215);
});

test('a tool call beside others costs a bounded number of promises', async () => {
  const perCall = await perUnit(4, 64, (calls) => promisesIn(() => run(1, calls)));
  expect(perCall).toBeGreaterThan(5);
  expect(perCall).toBeLessThan(42);
});

test('a tool call beside others adds no listener to the signal of the agent call', async () => {
  const add = vi.spyOn(AbortSignal.prototype, 'addEventListener');
  try {
    const perCall = await perUnit(4, 64, async (calls) => {
      add.mockClear();
      await run(1, calls);
      return add.mock.calls.length;
    });
    expect(perCall).toBe(0);
  } finally {
    add.mockRestore();
  }
});

test('a tool round allocates a bounded number of bytes', async () => {
  const bytes = async (rounds: number): Promise<number> => (await countWork(() => run(rounds))).bytes;
  const perRound = await perUnit(20, 220, bytes);
  expect(perRound).toBeGreaterThan(1000);
  expect(perRound).toBeLessThan(400_000);
});

const history = (length: number): Msg[] =>
  Array.from({ length }, (_, i) =>
    i % 2 === 0 ? Msg.user(`Question ${i}?`) : Msg.assistant(`Answer ${i}.`, { name: 'Friday' }),
  );

test('a turn on 2 000 old messages formats and encodes the new ones only, and takes as many promises as on 20', async () => {
  const stringify = vi.spyOn(JSON, 'stringify');
  const cost = async (length: number): Promise<{ chars: number; promises: number; sent: number }> => {
    const { agent, bodies } = newAgent(0);
    await agent.memory.add(history(length));
    await agent.call('First.');
    stringify.mockClear();
    const promises = await promisesIn(() => agent.call('Second.'));
    const results = stringify.mock.results.map(({ value }) => String(value).length);
    return { chars: results.reduce((sum, one) => sum + one, 0), promises, sent: bodies[1]?.length ?? 0 };
  };
  try {
    await cost(20);
    const [few, many] = [await cost(20), await cost(2000)];
    expect(many.sent).toBeGreaterThan(50_000);
    expect(many.chars).toBe(few.chars);
    expect(many.chars).toBeGreaterThan(50);
    expect(Math.abs(many.promises - few.promises)).toBeLessThan(5);
  } finally {
    stringify.mockRestore();
  }
});

test('an agent that was never called holds little memory', async () => {
  const double = tool({ name: 'double', schema: z.object({ x: z.number() }), execute: ({ x }) => 2 * x });
  const model = new OpenAIChatModel({ modelName: 'm', apiKey: 'k' });
  const agents: ReActAgent[] = [];
  const make = (count: number): void => {
    for (let i = 0; i < count; i++)
      agents.push(new ReActAgent({ name: 'Friday', model, tools: [double], console: false }));
  };
  const heap = (): number => {
    globalThis.gc?.();
    return process.memoryUsage().heapUsed;
  };
  make(1000);
  const before = heap();
  make(5000);
  expect((heap() - before) / 5000).toBeLessThan(1000);
  expect(agents[0]?.toolkit.has('double')).toBe(true);
});
