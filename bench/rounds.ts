/**
 * Cost of an exchange in the ReAct loop as the history grows: a tool call, its result, and the next model
 * call, against a server that answers at once. `npm run bench`
 */
import { ReActAgent, tool, Toolkit } from 'troupe';
import { OpenAIChatModel } from 'troupe/openai';

import { row } from './measure.ts';

const ROUNDS = 200;

const chunk = (delta: object, finish_reason: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'r1', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;

/** CPU time of each exchange, in milliseconds. */
async function run(): Promise<number[]> {
  const marks: NodeJS.CpuUsage[] = [];
  const model = new OpenAIChatModel({
    modelName: 'm',
    apiKey: 'k',
    vendor: 'openai',
    async fetch() {
      marks.push(process.cpuUsage());
      const n = marks.length;
      const call = { index: 0, id: `call_${n}`, function: { name: 'add', arguments: '{"a":1,"b":2}' } };
      const isLast = n > ROUNDS;
      return new Response(
        isLast
          ? chunk({ content: 'Done.' }) + chunk({}, 'stop')
          : chunk({ tool_calls: [call] }) + chunk({}, 'tool_calls'),
      );
    },
  });
  const toolkit = new Toolkit();
  toolkit.registerToolFunction(
    tool({
      name: 'add',
      schema: {
        type: 'object',
        properties: { a: { type: 'number' }, b: { type: 'number' } },
        required: ['a', 'b'],
      },
      execute: ({ a, b }) => String(Number(a) + Number(b)),
    }),
  );
  const agent = new ReActAgent({ name: 'adder', model, toolkit, maxIters: ROUNDS + 1, console: false });
  await agent.call('Add.');
  const ms = marks.map(({ user, system }) => (user + system) / 1000);
  return ms.slice(1).map((mark, i) => mark - (ms[i] ?? 0));
}

export async function measureRounds(): Promise<void> {
  for (let i = 0; i < 5; i++) await run(); // warm-up
  const runs: number[][] = [];
  for (let i = 0; i < 15; i++) runs.push(await run());
  const around = (round: number): number => {
    const costs = runs.flatMap((costs) => costs.slice(Math.max(0, round - 8), round)).sort((a, b) => a - b);
    return costs[Math.floor(costs.length / 2)] ?? NaN;
  };
  row('CPU of a tool round, the 200th against the 10th', around(ROUNDS), around(10), 'ms');
}
