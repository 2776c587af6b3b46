// Attributes and metrics of model calls, tool calls and agent calls, by the conventions.
import { metrics } from '@opentelemetry/api';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { expect, onTestFinished, test } from 'vitest';

import {
  FallbackModel,
  InMemoryMemory,
  ModelError,
  Msg,
  ReActAgent,
  RetryModel,
  tool,
  withRunConfig,
} from '../../src/index.ts';
import { traced } from '../../src/entries/provider.ts';
import { KnowledgeBase } from '../../src/rag/knowledge-base.ts';
import { OpenAIChatModel } from '../../src/providers/openai/index.ts';
import { ScriptedModel } from '../../src/testing/index.ts';
import type { Fetch } from '../../src/util/net/http.ts';
import { RecordedSpans, summaryOf } from './recorded-spans.ts';

/** An answer as OpenAI streams it. */
const CHUNKS = [
  { id: 'chatcmpl-7', choices: [{ index: 0, delta: { role: 'assistant', content: 'Hi' } }] },
  { id: 'chatcmpl-7', choices: [{ index: 0, delta: { content: ' there' } }] },
  { id: 'chatcmpl-7', choices: [{ index: 0, delta: {}, finish_reason: 'length' }] },
  {
    id: 'chatcmpl-7',
    choices: [],
    usage: {
      prompt_tokens: 100,
      completion_tokens: 20,
      prompt_tokens_details: { cached_tokens: 64 },
      completion_tokens_details: { reasoning_tokens: 12 },
    },
  },
];
const openAi: Fetch = async () =>
  new Response(`${CHUNKS.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`, {
    headers: { 'content-type': 'text/event-stream' },
  });

test('a model call has the real finish reason, response id, options, cached and reasoning tokens', async () => {
  using spans = await RecordedSpans.start();
  const model = new OpenAIChatModel({
    modelName: 'gpt-5',
    apiKey: 'k',
    baseUrl: 'https://api.openai.com/v1',
    fetch: openAi,
    generation: { temperature: 0.5, maxTokens: 20, stop: ['END'] },
    pricing: { input: 1, output: 10 },
  });
  await withRunConfig({ runId: 'run-1' }, () =>
    model.call({ messages: [Msg.user('Hello')], generation: { topP: 0.9, seed: 7 } }),
  );
  expect(spans.tree()).toEqual([{ name: 'chat gpt-5', children: [{ name: 'format gpt-5' }] }]);
  expect(summaryOf(spans.one('chat gpt-5'))).toEqual({
    kind: 'CLIENT',
    status: 'UNSET',
    attributes: {
      'gen_ai.conversation.id': 'run-1',
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'gpt-5',
      'server.address': 'api.openai.com',
      'gen_ai.request.temperature': 0.5,
      'gen_ai.request.top_p': 0.9,
      'gen_ai.request.max_tokens': 20,
      'gen_ai.request.stop_sequences': ['END'],
      'gen_ai.request.seed': 7,
      'gen_ai.response.id': 'chatcmpl-7',
      'gen_ai.response.finish_reasons': ['length'],
      'gen_ai.usage.input_tokens': 100,
      'gen_ai.usage.output_tokens': 20,
      'gen_ai.usage.cache_read.input_tokens': 64,
      'gen_ai.usage.reasoning.output_tokens': 12,
      'troupe.usage.cost': expect.closeTo(0.0003) as number,
      'troupe.status': 'ok',
    },
  });
  expect(spans.attributesOf('format gpt-5')).toMatchObject({
    'agentscope.format.target': 'gpt-5',
    'agentscope.format.count': 1,
  });
});

test('usage is on the spans of model calls only', async () => {
  using spans = await RecordedSpans.start();
  const usage = { inputTokens: 5, outputTokens: 2 };
  const model = new ScriptedModel(
    [
      { toolCalls: [{ name: 'now', input: {} }], usage },
      { text: 'Noon.', usage },
    ],
    'm',
  );
  const agent = new ReActAgent({
    name: 'Friday',
    model,
    tools: [tool({ name: 'now', description: 'Tells the time.', execute: () => 'noon' })],
    console: false,
  });
  const answer = await agent.call('What time is it?');
  const counted = spans.begun.filter((span) => 'gen_ai.usage.input_tokens' in span.attributes);
  expect(counted.map(({ name }) => name)).toEqual(['chat m', 'chat m']);
  expect(spans.attributesOf('invoke_agent Friday')).toEqual({
    'gen_ai.conversation.id': expect.any(String) as string,
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'Friday',
    'gen_ai.agent.id': agent.id,
    'troupe.run.id': expect.any(String) as string,
    'troupe.reply.id': expect.any(String) as string,
    'troupe.agent.path': ['Friday'],
    'troupe.message.id': answer.id,
    'troupe.status': 'ok',
  });
  expect(spans.attributesOf('execute_tool now')).toEqual({
    'gen_ai.conversation.id': expect.any(String) as string,
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'now',
    'gen_ai.tool.type': 'function',
    'gen_ai.tool.description': 'Tells the time.',
    'gen_ai.tool.call.id': expect.any(String) as string,
    'troupe.status': 'ok',
  });
});

test('each attempt of a retry and each model of a fallback is a span, the wrapper is none', async () => {
  using spans = await RecordedSpans.start();
  const overloaded = new ModelError('Too many requests.', { kind: 'overloaded' });
  const error = new TypeError('no network to 10.0.0.7');
  const broken = new ScriptedModel([{ error: overloaded }, { error }], 'broken');
  const model = new FallbackModel(
    [new RetryModel(broken, { maxAttempts: 2, baseDelayMs: 0 }), new ScriptedModel(['Fine.'], 'spare')],
    { shouldFallBack: () => true },
  );
  expect((await model.call({ messages: [Msg.user('Hello')] })).text).toBe('Fine.');
  expect(spans.tree()).toEqual([{ name: 'chat broken' }, { name: 'chat broken' }, { name: 'chat spare' }]);
  expect(spans.begun.slice(0, 2).map(summaryOf)).toMatchObject([
    { status: 'ERROR', message: 'Too many requests.', attributes: { 'error.type': 'overloaded' } },
    // the text of an error of the program may hold anything, so only its type is told
    {
      status: 'ERROR',
      message: 'TypeError',
      attributes: { 'error.type': 'TypeError' },
      events: ['exception'],
    },
  ]);
  expect(spans.text).not.toContain('10.0.0.7');
});

test('a retrieval and a compression are spans', async () => {
  using spans = await RecordedSpans.start();
  class Library extends KnowledgeBase {
    override readonly id = 'library';

    override async retrieve(): Promise<[{ content: { type: 'text'; text: string }; score: number }]> {
      return [{ content: { type: 'text', text: 'a fact' }, score: 1 }];
    }
  }
  const memory = new InMemoryMemory();
  await memory.add([Msg.user('x'.repeat(4000)), Msg.assistant('y'.repeat(4000)), Msg.user('z')]);
  const summary = JSON.stringify({
    task_overview: 'a',
    current_state: 'b',
    important_discoveries: 'c',
    next_steps: 'd',
    context_to_preserve: 'e',
  });
  const writer = new ScriptedModel([{ when: () => true, text: summary }], 'writer');
  const agent = new ReActAgent({
    name: 'Friday',
    model: new ScriptedModel(['Done.'], 'm'),
    memory,
    knowledge: new Library(),
    enableRewriteQuery: false,
    compression: { triggerThreshold: 300, keepRecent: 1, model: writer },
    console: false,
  });
  await agent.call('Go on.');
  const names = spans.begun.map(({ name }) => name);
  expect(names.slice(0, 3)).toEqual(['invoke_agent Friday', 'retrieval library', 'compress memory']);
  expect(spans.attributesOf('retrieval library')).toMatchObject({
    'gen_ai.data_source.id': 'library',
    'troupe.result.count': 1,
  });
  expect(spans.attributesOf('compress memory')).toMatchObject({
    'troupe.compression.forced': false,
    'troupe.compression.changed': true,
  });
});

test('metrics count tokens and durations, with a provider that is registered later', async () => {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 100_000 });
  const provider = new MeterProvider({ readers: [reader] });
  using _spans = await RecordedSpans.start();
  metrics.setGlobalMeterProvider(provider);
  onTestFinished(async () => {
    metrics.disable();
    await provider.shutdown();
  });
  const usage = { inputTokens: 5, outputTokens: 2 };
  const model = new ScriptedModel(
    [
      { toolCalls: [{ name: 'now', input: {} }], usage },
      { text: 'Noon.', usage },
    ],
    'm',
  );
  const tools = [tool({ name: 'now', execute: () => Promise.reject(new Error('no clock')) })];
  await new ReActAgent({ name: 'Friday', model, tools, console: false }).call('What time is it?');
  await reader.forceFlush();
  const found = exporter
    .getMetrics()
    .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics));
  const points = found.flatMap(({ descriptor, dataPoints }) =>
    dataPoints.map(({ attributes, value }) => [
      descriptor.name,
      descriptor.unit,
      attributes,
      (value as { count: number }).count,
    ]),
  );
  const chat = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'unknown',
    'gen_ai.request.model': 'm',
  };
  expect(points).toEqual([
    ['gen_ai.client.token.usage', '{token}', { ...chat, 'gen_ai.token.type': 'input' }, 2],
    ['gen_ai.client.token.usage', '{token}', { ...chat, 'gen_ai.token.type': 'output' }, 2],
    ['gen_ai.client.operation.duration', 's', chat, 2],
    ['gen_ai.client.operation.time_to_first_chunk', 's', chat, 2],
    [
      'gen_ai.invoke_agent.duration',
      's',
      { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.agent.name': 'Friday' },
      1,
    ],
    [
      'gen_ai.execute_tool.duration',
      's',
      { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'now', 'error.type': 'tool_error' },
      1,
    ],
  ]);
});

test('an embedding model that uses the seam has a span with the conventions', async () => {
  using spans = await RecordedSpans.start();
  const model = { modelName: 'embed-3', vendorName: 'OpenAI', host: '127.0.0.1:8080' };
  const vectors = await traced(
    () => ({ type: 'embedding', model, inputCount: 2, dimensions: 256 }),
    async () => [[1], [2]],
    {
      outcomeOf: ({ length }) => ({
        status: 'ok',
        count: length,
        usage: { inputTokens: 4, outputTokens: 0 },
      }),
    },
  );
  expect(vectors).toHaveLength(2);
  expect(summaryOf(spans.one('embeddings embed-3'))).toMatchObject({
    kind: 'CLIENT',
    attributes: {
      'gen_ai.operation.name': 'embeddings',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'embed-3',
      'gen_ai.embeddings.dimension.count': 256,
      'gen_ai.usage.input_tokens': 4,
      'server.address': '127.0.0.1',
      'server.port': 8080,
      'troupe.input.count': 2,
      'troupe.result.count': 2,
    },
  });
});
