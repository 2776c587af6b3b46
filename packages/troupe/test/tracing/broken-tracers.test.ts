// Agents answer although tracers, processors and meters throw.
import { context } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { TracerProvider, type SpanProcessor } from '@opentelemetry/sdk-trace';
import { afterEach, beforeEach, expect, test } from 'vitest';

import { InMemorySession, ReActAgent, registerSubAgent, TaskSubAgent, tool } from '../../src/index.ts';
import { enableTracing, type TracingOptions } from '../../src/otel/index.ts';
import { ScriptedModel } from '../../src/testing/index.ts';

const broken = (): never => {
  throw new Error('collector down');
};
const processor: SpanProcessor = {
  onStart() {},
  onEnd() {},
  forceFlush: async () => {},
  shutdown: async () => {},
};
const provided = (changes: Partial<SpanProcessor>): TracerProvider =>
  new TracerProvider({ spanProcessors: [{ ...processor, ...changes }] });

const CASES: readonly [string, TracingOptions][] = [
  ['a provider without a tracer', { tracerProvider: { getTracer: broken } }],
  ['a tracer without spans', { tracerProvider: { getTracer: () => ({ startSpan: broken }) } }],
  ['a tracer that gives no span', { tracerProvider: { getTracer: () => ({ startSpan: () => ({}) }) } }],
  ['a processor that fails at the start of a span', { tracerProvider: provided({ onStart: broken }) }],
  ['a processor that fails at the end of a span', { tracerProvider: provided({ onEnd: broken }) }],
  ['a provider without a meter', { meterProvider: { getMeter: broken } }],
  ['a meter without instruments', { meterProvider: { getMeter: () => ({ createHistogram: broken }) } }],
  [
    'a histogram that fails',
    { meterProvider: { getMeter: () => ({ createHistogram: () => ({ record: broken }) }) } },
  ],
  ['a redact function that fails', { tracerProvider: provided({}), redact: broken, captureContent: true }],
];

beforeEach(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
});
afterEach(() => context.disable());

test.each(CASES)('%s neither fails nor changes a run', async (_what, options) => {
  const disable = await enableTracing({ captureContent: true, ...options });
  try {
    const toolCalls = [
      { name: 'now', input: {} },
      { name: 'agent_helper', input: { task: 'Look it up.' } },
    ];
    const model = new ScriptedModel([{ toolCalls }, 'Done.'], 'm');
    let runs = 0;
    const now = tool({ name: 'now', execute: () => `call ${++runs}` });
    const agent = new ReActAgent({ name: 'Friday', model, tools: [now], console: false });
    const modelOverride = new ScriptedModel(['Here.'], 'small');
    await registerSubAgent(agent, TaskSubAgent, { name: 'helper', description: 'Helps.', modelOverride });
    expect((await agent.call('Go.')).text).toBe('Done.');
    expect(runs).toBe(1);
    const results = (await agent.memory.getMemory()).flatMap((msg) => msg.getContentBlocks('tool_result'));
    expect(results.map(({ status }) => status)).toEqual(['ok', 'ok']);
    expect((await new InMemorySession().save('s', { agent })).revision).toBe(1);
  } finally {
    disable();
  }
});
