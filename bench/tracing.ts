/**
 * Cost of tracing for a run with a tool call and a streamed answer: off, enabled without a provider, and with a provider that drops
 * its spans. `npm run bench`
 */
import { trace } from '@opentelemetry/api';
import { TracerProvider } from '@opentelemetry/sdk-trace';
import { ReActAgent, tool } from 'troupe';
import { ScriptedModel } from 'troupe/testing';
import { enableTracing } from 'troupe/tracing';

import { row } from './measure.ts';

const RUNS = 200;
const DELTAS = 50;
const now = tool({ name: 'now', execute: () => 'noon' });

async function runs(): Promise<void> {
  for (let i = 0; i < RUNS; i++) {
    const model = new ScriptedModel([
      { toolCalls: [{ name: 'now', input: {} }] },
      { text: 'x'.repeat(DELTAS), chunkSize: 1 },
    ]);
    await new ReActAgent({ name: 'Friday', model, tools: [now], console: false }).call('Go.');
  }
}

/** CPU time of one run in microseconds, the least of several. A busy machine changes it less than the time of day. */
async function cpuOfRun(): Promise<number> {
  let least = Infinity;
  for (let i = 0; i < 5; i++) {
    globalThis.gc?.();
    const start = process.cpuUsage();
    await runs();
    const { user, system } = process.cpuUsage(start);
    least = Math.min(least, (user + system) / RUNS);
  }
  return least;
}

export async function measureTracing(): Promise<void> {
  for (let i = 0; i < 5; i++) await runs(); // warm-up
  let [off, idle] = [Infinity, Infinity];
  for (let i = 0; i < 6; i++) {
    off = Math.min(off, await cpuOfRun()); // in turns, so that a busy machine slows both
    const disable = await enableTracing();
    idle = Math.min(idle, await cpuOfRun());
    disable();
  }
  row('CPU of a run with tracing and no provider, against none', idle, off, 'us');
  const disableTracing = await enableTracing();
  trace.setGlobalTracerProvider(new TracerProvider());
  row('CPU of a run with 4 spans, against none', await cpuOfRun(), off, 'us');
  trace.disable();
  disableTracing();
}
