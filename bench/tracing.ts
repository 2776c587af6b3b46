/**
 * Cost of tracing for a run with a tool call and a streamed answer: off, enabled without a provider, and with a provider that drops
 * its spans. `npm run bench`
 */
import { trace } from '@opentelemetry/api';
import { TracerProvider } from '@opentelemetry/sdk-trace';
import { ReActAgent, tool } from 'troupe';
import { ScriptedModel } from 'troupe/testing';
import { enableTracing } from 'troupe/tracing';

import { fastest, row } from './measure.ts';

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

export async function measureTracing(): Promise<void> {
  for (let i = 0; i < 5; i++) await runs(); // warm-up
  let [off, idle] = [Infinity, Infinity];
  for (let i = 0; i < 10; i++) {
    off = Math.min(off, await fastest(3, runs)); // in turns, so that a busy machine slows both
    const disable = await enableTracing();
    idle = Math.min(idle, await fastest(3, runs));
    disable();
  }
  row('a run with tracing and no provider, against none', (idle / RUNS) * 1000, (off / RUNS) * 1000, 'us');
  const disableTracing = await enableTracing();
  trace.setGlobalTracerProvider(new TracerProvider());
  const on = await fastest(15, runs);
  row('a run with 4 spans, against none', (on / RUNS) * 1000, (off / RUNS) * 1000, 'us');
  trace.disable();
  disableTracing();
}
