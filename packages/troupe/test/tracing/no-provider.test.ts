// Tracing without a provider: no cost that can be counted.
import { countWork } from '../counted-work.ts';

import { context, trace as otelTrace } from '@opentelemetry/api';
import { TracerProvider } from '@opentelemetry/sdk-trace';
import { expect, onTestFinished, test } from 'vitest';

import { ReActAgent, tool } from '../../src/index.ts';
import { enableTracing } from '../../src/otel/index.ts';
import { ScriptedModel } from '../../src/testing/index.ts';

const now = tool({ name: 'now', execute: () => 'noon' });

/** A run with a tool call and an answer of many deltas. */
async function run(deltas: number): Promise<void> {
  const model = new ScriptedModel([
    { toolCalls: [{ name: 'now', input: {} }] },
    { text: 'x'.repeat(deltas), chunkSize: 1 },
  ]);
  await new ReActAgent({ name: 'Friday', model, tools: [now], console: false }).call('Go.');
}

async function stepsOf(deltas: number): Promise<number> {
  await run(deltas); // fills caches
  return (await countWork(() => run(deltas))).steps;
}

test('enabled without a provider, a run does the work of a few function calls more, and no delta costs more', async () => {
  await stepsOf(1010); // the first runs load modules and fill caches of both lengths
  const [off, offLong] = [await stepsOf(10), await stepsOf(1010)];
  onTestFinished(await enableTracing());
  const [idle, idleLong] = [await stepsOf(10), await stepsOf(1010)];
  expect(idle - off).toBeLessThan(0.05 * off);
  const perDelta = (offLong - off) / 1000;
  expect((idleLong - idle) / 1000 - perDelta).toBeLessThan(0.005 * perDelta);

  // with a provider there is work to count, so the counter does see spans
  otelTrace.setGlobalTracerProvider(new TracerProvider());
  onTestFinished(() => otelTrace.disable());
  expect(await stepsOf(10)).toBeGreaterThan(1.05 * off);
});

test('no provider and no context manager is installed by enabling', async () => {
  onTestFinished(await enableTracing());
  await run(1);
  expect(otelTrace.setGlobalTracerProvider(new TracerProvider())).toBe(true);
  otelTrace.disable();
  expect(
    context.setGlobalContextManager({
      active: () => context.active(),
      with: (_context, fn, self, ...args) => fn.call(self, ...args),
      bind: (_context, target) => target,
      enable() {
        return this;
      },
      disable() {
        return this;
      },
    }),
  ).toBe(true);
  context.disable();
});
