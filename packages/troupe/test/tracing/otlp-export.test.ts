// Spans exported with protobuf over HTTP to a receiver, and read back.
import { trace as otelTrace } from '@opentelemetry/api';
import { TracerProvider } from '@opentelemetry/sdk-trace';
import { expect, onTestFinished, test } from 'vitest';

import { ReActAgent, registerSubAgent, TaskSubAgent, tool, withRunConfig } from '../../src/index.ts';
import { setupTracing } from '../../src/otel/otlp/index.ts';
import { ScriptedModel } from '../../src/testing/index.ts';
import { OtlpReceiver } from './otlp-receiver.ts';

const byText = (a: string, b: string): number => (a < b ? -1 : 1);
const KEY = 'sk-abcdefgh12345678abcdefgh';

async function nestedAgent(): Promise<ReActAgent> {
  const model = new ScriptedModel(
    [
      { toolCalls: [{ name: 'agent_helper', input: { task: 'Look it up.' } }] },
      { text: 'Done.', usage: { inputTokens: 5, outputTokens: 2, cachedTokens: 4 } },
    ],
    'big',
  );
  const agent = new ReActAgent({ name: 'Friday', model, console: false });
  const helper = new ScriptedModel([{ toolCalls: [{ name: 'look_up', input: {} }] }, 'Here.'], 'small');
  const look = tool({ name: 'look_up', execute: () => 'found' });
  const spec = { name: 'helper', description: 'Helps.', tools: [look], modelOverride: helper };
  await registerSubAgent(agent, TaskSubAgent, spec);
  return agent;
}

test('a trace arrives whole at a receiver, with headers and the name of the service', async () => {
  await using receiver = await OtlpReceiver.listen();
  const tracing = await setupTracing({
    endpoint: receiver.url,
    headers: { authorization: 'Bearer collector' },
    serviceName: 'weather',
  });
  const agent = await nestedAgent();
  await otelTrace.getTracer('program').startActiveSpan('request', async (span) => {
    span.setAttribute('note', `a library of the program wrote ${KEY}`);
    await agent.call('Go.');
    span.end();
  });
  await tracing.shutdown();
  expect(receiver.requests[0]).toMatchObject({
    path: '/v1/traces',
    headers: { 'content-type': 'application/x-protobuf', authorization: 'Bearer collector' },
  });
  const byId = new Map(receiver.spans.map((span) => [span.id, span]));
  const edges = receiver.spans.map(
    ({ name, parent }) => `${name} < ${(parent && byId.get(parent)?.name) ?? ''}`,
  );
  expect(edges.toSorted(byText)).toEqual(
    [
      'register subagent < ',
      'request < ',
      'invoke_agent Friday < request',
      'chat big < invoke_agent Friday',
      'execute_tool agent_helper < invoke_agent Friday',
      'subagent helper < execute_tool agent_helper',
      'invoke_agent helper < subagent helper',
      'chat small < invoke_agent helper',
      'execute_tool look_up < invoke_agent helper',
      'chat small < invoke_agent helper',
      'chat big < invoke_agent Friday',
    ].toSorted(byText),
  );
  const [request] = receiver.spans.filter(({ name }) => name === 'request');
  expect(request).toMatchObject({ service: 'weather', scope: 'program' });
  expect(request?.attributes['note']).toBe('a library of the program wrote [redacted]');
  const last = receiver.spans.findLast(({ name }) => name === 'chat big');
  expect(last).toMatchObject({
    scope: 'troupe',
    trace: request?.trace,
    attributes: {
      'gen_ai.usage.input_tokens': 5,
      'gen_ai.usage.cache_read.input_tokens': 4,
      'gen_ai.response.finish_reasons': ['stop'],
    },
  });
});

test('a program with a provider of its own keeps it, and spans of agents are exported', async () => {
  await using receiver = await OtlpReceiver.listen();
  const own = new TracerProvider();
  otelTrace.setGlobalTracerProvider(own);
  onTestFinished(() => otelTrace.disable());
  await using tracing = await setupTracing({ endpoint: receiver.url });
  await new ReActAgent({ name: 'Friday', model: new ScriptedModel(['Hi.'], 'm'), console: false }).call('Hi');
  await otelTrace.getTracer('program').startActiveSpan('mine', async (span) => span.end());
  await tracing.flush();
  expect(receiver.spans.map(({ name }) => name)).toEqual(['chat m', 'invoke_agent Friday']);
  await tracing.shutdown();
  await new ReActAgent({ name: 'Friday', model: new ScriptedModel(['Hi.'], 'm'), console: false }).call('Hi');
  expect(receiver.spans).toHaveLength(2);
});

test.each(['fail', 'hang'] as const)(
  'a receiver that answers with "%s" costs spans only, and shutting down does not wait for it',
  async (behavior) => {
    await using receiver = await OtlpReceiver.listen(behavior);
    const lines: string[] = [];
    const logging = { log: (_level: string, line: string) => void lines.push(line) };
    await withRunConfig({ logging }, async () => {
      const options = { endpoint: receiver.url, timeoutMs: 50, intervalMs: 1, maxQueueSize: 4 };
      const tracing = await setupTracing(options);
      for (let i = 0; i < 20; i++) {
        const agent = await nestedAgent();
        expect((await agent.call('Go.')).text).toBe('Done.');
      }
      await tracing.shutdown(); // neither rejects nor hangs
    });
    expect(receiver.requests.length).toBeGreaterThan(0);
    expect(receiver.spans).toEqual([]);
    expect(lines.join()).not.toContain('A tracer failed');
  },
);

test('an endpoint that is no address, or that holds a password, is refused without naming it', async () => {
  for (const endpoint of ['ftp://x', 'nowhere', 'http://user:secret@127.0.0.1/v1/traces']) {
    const error: unknown = await setupTracing({ endpoint }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'invalid_config' });
    expect(String(error)).not.toContain('secret');
  }
});
