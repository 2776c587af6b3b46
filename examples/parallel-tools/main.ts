// Four airlines are asked at the same time. One is slow, one never answers and one fails; each tool call
// still has one result, in the order of the tool calls. A ScriptedModel, because the OfflineModel does not
// make four tool calls at once.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

import { findHistoryFaults, ReActAgent, tool } from 'troupe';
import { ScriptedModel } from 'troupe/testing';
import { z } from 'zod';

const AIRLINES = ['Slowly Air', 'Neverland', 'Icarus', 'Swift'] as const;
let running = 0;
let mostAtOnce = 0;

/** Offer of an airline. `signal` is aborted on an interrupt or timeout. */
async function offerOf(airline: (typeof AIRLINES)[number], signal: AbortSignal): Promise<string> {
  switch (airline) {
    case 'Slowly Air':
      return sleep(300, '89 EUR', { signal });
    case 'Neverland':
      // ignores its signal and is abandoned; later effects on its result are ignored
      return new Promise(() => {});
    case 'Icarus':
      throw new Error('The wax has melted.');
    case 'Swift':
      return sleep(50, '140 EUR', { signal });
  }
}

const getOffer = tool({
  name: 'get_offer',
  description: "An airline's price of a flight.",
  schema: z.object({ airline: z.enum(AIRLINES), to: z.string() }),
  timeoutMs: 600, // time limit, whether or not the tool stops
  async execute({ airline }, { signal }) {
    mostAtOnce = Math.max(mostAtOnce, ++running);
    return offerOf(airline, signal).finally(() => running--);
  },
});

const model = new ScriptedModel([
  { toolCalls: AIRLINES.map((airline) => ({ name: 'get_offer', input: { airline, to: 'Lisbon' } })) },
  'Slowly Air has the best price, 89 EUR. Neverland did not answer, and do not fly with Icarus.',
]);
const agent = new ReActAgent({
  name: 'agent',
  model,
  tools: [getOffer],
  // a number limits the parallel tool calls; false, the default, runs one after the other
  parallelToolCalls: true,
  console: false,
});

console.log('As they come in:');
for await (const event of agent.stream('Find me a flight to Lisbon.')) {
  if (event.type === 'tool_result')
    console.log(`  ${event.result.status}: ${JSON.stringify(event.result.output)}`);
}

const memory = await agent.memory.getMemory();
const results = memory.flatMap((msg) => msg.getContentBlocks('tool_result'));
console.log('\nAs the model sees them:');
for (const [i, airline] of AIRLINES.entries())
  console.log(`  ${airline}: ${JSON.stringify(results[i]?.output)}`);
console.log(`\n${memory.at(-1)?.text}`);

assert.equal(mostAtOnce, 4);
assert.deepEqual(
  results.map(({ status, output }) => [status, output]),
  [
    ['ok', '89 EUR'],
    ['error', 'TimeoutError: The tool gave no result within 0.6 s.'],
    ['error', 'Error: The wax has melted.'],
    ['ok', '140 EUR'],
  ],
);
assert.deepEqual(findHistoryFaults(memory), []);
