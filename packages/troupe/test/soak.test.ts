// The short form of a soak. `npm run bench -- --soak MINUTES` is the long one.
import { getEventListeners } from 'node:events';

import { expect, test } from 'vitest';

import { soakAgents, soakRound } from './soak-round.ts';

test('agents that are called, read, left, interrupted and aborted for long leave nothing behind', async () => {
  const agents = soakAgents(10);
  const program = new AbortController();
  const heapAfter = async (rounds: number): Promise<number> => {
    let calls = 0;
    for (let i = 0; i < rounds; i++) calls += await soakRound(agents, program.signal);
    expect(calls).toBe(51 * rounds);
    await new Promise((resolve) => setImmediate(resolve)); // whatever is settled has run
    globalThis.gc?.();
    globalThis.gc?.();
    return process.memoryUsage().heapUsed;
  };
  await heapAfter(30); // V8 compiles, and caches fill
  const early = await heapAfter(1);
  const late = await heapAfter(30);
  expect((late - early) / (30 * 51)).toBeLessThan(1000); // bytes for each agent call: less than one message
  expect(getEventListeners(program.signal, 'abort')).toEqual([]);
});
