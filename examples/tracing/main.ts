// Traces of an agent with a tool and a sub-agent, made with OpenTelemetry and printed as a tree. A program that has a
// collector calls `setupTracing({ endpoint })` of `troupe/tracing/otlp` in place of the first part.

import assert from 'node:assert/strict';

import { context } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  InMemorySpanExporter,
  SimpleSpanProcessor,
  TracerProvider,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace';
import { ReActAgent, registerSubAgent, TaskSubAgent, tool } from 'troupe';
import { ScriptedModel } from 'troupe/testing';
import { ATTRIBUTES, enableTracing, trace } from 'troupe/tracing';
import { z } from 'zod';

// The program has its own provider; the library only uses it.
const exporter = new InMemorySpanExporter();
const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
const disableTracing = await enableTracing({ tracerProvider: provider });

// A function of the program can be a span too.
const readStation = trace('read station', async (city: string) => `${city}: sunny, 24 °C`);
const weather = tool({
  name: 'weather',
  description: 'The weather in a city.',
  schema: z.object({ city: z.string() }),
  execute: ({ city }) => readStation(city),
});

const usage = { inputTokens: 120, outputTokens: 8, cachedTokens: 100 };
const reporter = new ScriptedModel(
  [
    { toolCalls: [{ name: 'weather', input: { city: 'Lisbon' } }], usage },
    { text: 'Sunny.', usage },
  ],
  'small-model',
);
const editor = new ScriptedModel(
  [
    { toolCalls: [{ name: 'agent_reporter', input: { task: 'How is the weather in Lisbon?' } }], usage },
    { text: 'It is sunny in Lisbon.', usage },
  ],
  'large-model',
);
const agent = new ReActAgent({ name: 'editor', model: editor, console: false });
await registerSubAgent(agent, TaskSubAgent, {
  name: 'reporter',
  description: 'Finds out about the weather.',
  tools: [weather],
  modelOverride: reporter,
});
exporter.reset(); // without the span of the registration

await agent.call('What is the weather?');
disableTracing();

const spans = exporter.getFinishedSpans().toSorted((a, b) => compare(a, b));
const lines = linesBelow(undefined, '');
console.log(lines.join('\n'));

function compare({ startTime: a }: ReadableSpan, { startTime: b }: ReadableSpan): number {
  return a[0] - b[0] || a[1] - b[1];
}

/** The spans below one, indented, with the tokens of model calls. */
function linesBelow(parentId: string | undefined, indent: string): string[] {
  return spans
    .filter(({ parentSpanContext }) => parentSpanContext?.spanId === parentId)
    .flatMap((span) => {
      const input = span.attributes[ATTRIBUTES.inputTokens];
      const cached = span.attributes[ATTRIBUTES.cacheReadTokens];
      const isCounted = typeof input === 'number' && typeof cached === 'number';
      const tokens = isCounted ? ` (${input} tokens, ${cached} from the cache)` : '';
      return [`${indent}${span.name}${tokens}`, ...linesBelow(span.spanContext().spanId, `${indent}  `)];
    });
}

assert.deepEqual(lines, [
  'invoke_agent editor',
  '  chat large-model (120 tokens, 100 from the cache)',
  '  execute_tool agent_reporter',
  '    subagent reporter',
  '      invoke_agent reporter',
  '        chat small-model (120 tokens, 100 from the cache)',
  '        execute_tool weather',
  '          invoke_generic_function read station',
  '        chat small-model (120 tokens, 100 from the cache)',
  '  chat large-model (120 tokens, 100 from the cache)',
]);
assert.doesNotMatch(JSON.stringify(spans.map(({ attributes }) => attributes)), /Lisbon/); // content is not captured
