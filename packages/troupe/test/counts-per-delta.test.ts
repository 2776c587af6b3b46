// Promises for each delta and each network read: counts, which no busy machine changes.
// Needs its own process: other tests make promises too.
import { expect, test, vi } from 'vitest';

import { ReActAgent } from '../src/index.ts';
import { OpenAIChatModel } from '../src/providers/openai/index.ts';
import { promisesIn } from './counted-promises.ts';

const chunk = (delta: object, finish_reason: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'r1', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
const END = chunk({}, 'stop') + 'data: [DONE]\n\n';

/** Agent whose model answers with `reads` network reads of `deltas` deltas each. */
function newAgent(reads: number, deltas: number): ReActAgent {
  const piece = new TextEncoder().encode(chunk({ content: 'word ' }).repeat(deltas));
  const model = new OpenAIChatModel({
    modelName: 'm',
    apiKey: 'k',
    fetch: async () =>
      new Response(
        new ReadableStream({
          start(controller) {
            for (let i = 0; i < reads; i++) controller.enqueue(piece);
            controller.enqueue(new TextEncoder().encode(END));
            controller.close();
          },
        }),
      ),
  });
  return new ReActAgent({ name: 'talker', model, console: false });
}

/** Promises for each further delta in the same number of network reads. */
async function promisesPerDelta(run: (agent: ReActAgent) => Promise<unknown>): Promise<number> {
  const [few, many, reads] = [100, 1100, 10];
  await run(newAgent(reads, few)); // whatever is made once
  const least = await promisesIn(() => run(newAgent(reads, few)));
  const most = await promisesIn(() => run(newAgent(reads, many)));
  return (most - least) / (reads * (many - few));
}

const read = async (agent: ReActAgent): Promise<void> => {
  let length = 0;
  for await (const text of agent.stream('Go.').text) length += text.length;
  expect(length).toBeGreaterThan(0);
};

test('a delta needs no promise of its own, if nobody reads the stream', async () => {
  expect(await promisesPerDelta((agent) => agent.call('Go.'))).toBeLessThan(0.1);
});

test('a delta that is read needs a few promises: for the reader, and to wait for the reader', async () => {
  expect(await promisesPerDelta(read)).toBeLessThan(8);
});

test('a delta with a hook has its hook awaited', async () => {
  let count = 0;
  const agent = newAgent(2, 50);
  agent.registerInstanceHook('prePrint', 'count', () => void count++);
  await agent.call('Go.');
  expect(count).toBeGreaterThan(100);
});

test('a network read costs a bounded number of promises', async () => {
  const run = (reads: number) => promisesIn(() => newAgent(reads, 10).call('Go.'));
  await run(10);
  const perRead = ((await run(210)) - (await run(10))) / 200;
  expect(perRead).toBeGreaterThan(0);
  expect(perRead).toBeLessThan(30);
});

test('the JSON of deltas that differ by their text only is parsed once', async () => {
  const parse = vi.spyOn(JSON, 'parse');
  try {
    await newAgent(10, 1000).call('Go.');
    expect(parse.mock.calls.length).toBeGreaterThan(0);
    expect(parse.mock.calls.length).toBeLessThan(20);
  } finally {
    parse.mockRestore();
  }
});
