// The spans of whole runs: what is under what, with which attributes, across processes and HTTP.
import { expect, test } from 'vitest';

import { serveA2A } from '../../src/a2a/index.ts';
import {
  BackgroundTools,
  InMemorySession,
  Msg,
  ReActAgent,
  registerSubAgent,
  sequentialPipeline,
  TaskSubAgent,
  tool,
  Toolkit,
} from '../../src/index.ts';
import { McpClient, McpServer, registerMcpClient } from '../../src/mcp/index.ts';
import { ATTRIBUTES } from '../../src/otel/index.ts';
import { ScriptedModel } from '../../src/testing/index.ts';
import { remoteAgent } from '../a2a/a2a-agents.ts';
import { ownServer } from '../mcp/mcp-servers.ts';
import { RecordedSpans, summaryOf } from './recorded-spans.ts';

const quiet = { console: false } as const;

test('a nested run with tools, a sub-agent and an MCP server process is one tree of spans', async () => {
  using spans = await RecordedSpans.start();
  await using client = new McpClient({ name: 'calculator', transport: ownServer('own-server.ts', 'tools') });
  const toolkit = new Toolkit();
  await registerMcpClient(toolkit, client);
  toolkit.registerToolFunction(tool({ name: 'now', execute: () => 'noon' }));
  const model = new ScriptedModel(
    [
      {
        toolCalls: [
          { name: 'now', input: {} },
          { name: 'add', input: { a: 1, b: 2 } },
        ],
      },
      { toolCalls: [{ name: 'agent_helper', input: { task: 'Look it up.' } }] },
      'All done.',
    ],
    'big',
  );
  const agent = new ReActAgent({ name: 'Friday', model, toolkit, ...quiet });
  const look = tool({ name: 'look_up', execute: () => 'found' });
  const helper = new ScriptedModel([{ toolCalls: [{ name: 'look_up', input: {} }] }, 'Here.'], 'small');
  await registerSubAgent(agent, TaskSubAgent, {
    name: 'helper',
    description: 'Helps.',
    tools: [look],
    modelOverride: helper,
    tags: ['cheap'],
  });
  expect(spans.tree()).toEqual([{ name: 'tools/list' }, { name: 'register subagent' }]);
  spans.clear();

  await agent.call('Go.');
  expect(spans.tree()).toEqual([
    {
      name: 'invoke_agent Friday',
      children: [
        { name: 'chat big' },
        { name: 'execute_tool now' },
        { name: 'execute_tool add', children: [{ name: 'tools/call add' }] },
        { name: 'chat big' },
        {
          name: 'execute_tool agent_helper',
          children: [
            {
              name: 'subagent helper',
              children: [
                {
                  name: 'invoke_agent helper',
                  children: [
                    { name: 'chat small' },
                    { name: 'execute_tool look_up' },
                    { name: 'chat small' },
                  ],
                },
              ],
            },
          ],
        },
        { name: 'chat big' },
      ],
    },
  ]);
  expect(spans.open).toEqual([]);
  const traces = new Set(spans.begun.map((span) => span.spanContext().traceId));
  expect(traces.size).toBe(1);
  expect(summaryOf(spans.one('tools/call add'))).toMatchObject({
    kind: 'CLIENT',
    status: 'UNSET',
    attributes: {
      'mcp.method.name': 'tools/call',
      'gen_ai.tool.name': 'add',
      'network.transport': 'pipe',
      'troupe.mcp.server': 'calculator',
      'troupe.status': 'ok',
    },
  });
  expect(spans.attributesOf('subagent helper')).toMatchObject({
    'subagent.name': 'helper',
    'subagent.supervisor': 'Friday',
    'subagent.tags': ['cheap'],
  });
});

test('a trace goes on in an MCP server over HTTP', async () => {
  using spans = await RecordedSpans.start();
  const remote = new Toolkit();
  remote.registerToolFunction(tool({ name: 'add', execute: () => '3' }));
  await using server = new McpServer(remote);
  const url = await server.listen();
  await using client = new McpClient({ name: 'calculator', transport: { type: 'http', url } });
  const toolkit = new Toolkit();
  await registerMcpClient(toolkit, client);
  spans.clear();
  await toolkit.callToolFunction({ type: 'tool_use', id: 'c', name: 'add', input: {} });
  const [outer] = spans.begun.filter(({ name }) => name === 'execute_tool add');
  expect(spans.tree()).toEqual([
    {
      name: 'execute_tool add',
      children: [
        {
          name: 'tools/call add', // of the client
          children: [{ name: 'tools/call add', children: [{ name: 'execute_tool add' }] }],
        },
      ],
    },
  ]);
  expect(new Set(spans.begun.map((span) => span.spanContext().traceId))).toEqual(
    new Set([outer?.spanContext().traceId]),
  );
});

test('a trace goes on in an agent that is served by A2A', async () => {
  using spans = await RecordedSpans.start();
  await using server = serveA2A(
    () => new ReActAgent({ name: 'planner', model: new ScriptedModel(['Planned.'], 'small'), ...quiet }),
    { card: { name: 'planner', description: 'Plans.' } },
  );
  await using remote = remoteAgent(await server.listen());
  expect((await remote.call('Plan.')).text).toBe('Planned.');
  const [tree] = spans.tree();
  expect(spans.tree()).toHaveLength(1);
  expect(tree).toEqual({
    name: `invoke_agent ${remote.name}`,
    children: [
      {
        name: `a2a ${remote.name}`,
        children: [{ name: 'invoke_agent planner', children: [{ name: 'chat small' }] }],
      },
    ],
  });
});

test('agents of a pipeline, a background tool and a save are under the span around them', async () => {
  using spans = await RecordedSpans.start();
  const background = new BackgroundTools();
  const ended = Promise.withResolvers<void>();
  background.onDone(() => ended.resolve());
  const dig = tool({ name: 'dig', execute: async () => 'deep' });
  const first = new ReActAgent({
    name: 'first',
    model: new ScriptedModel([{ toolCalls: [{ name: 'dig', input: {} }] }, 'One.'], 'm'),
    tools: [background.inBackground(dig)],
    ...quiet,
  });
  const second = new ReActAgent({ name: 'second', model: new ScriptedModel(['Two.'], 'm'), ...quiet });
  const session = new InMemorySession();
  const tracer = spans.provider.getTracer('program');
  await tracer.startActiveSpan('request', async (span) => {
    await sequentialPipeline([first, second], Msg.user('Go.'));
    await session.save('s', { second });
    span.end();
  });
  await ended.promise;
  expect(spans.tree()).toEqual([
    {
      name: 'request',
      children: [
        {
          name: 'invoke_agent first',
          children: [
            { name: 'chat m' },
            { name: 'execute_tool dig', children: [{ name: 'execute_tool dig' }] },
            { name: 'chat m' },
          ],
        },
        { name: 'invoke_agent second', children: [{ name: 'chat m' }] },
        { name: 'save session' },
      ],
    },
  ]);
  expect(spans.open).toEqual([]);
  expect(spans.attributesOf('save session')).toMatchObject({
    [ATTRIBUTES.sessionComponents]: ['second'],
    [ATTRIBUTES.sessionRevision]: 1,
  });
});

test('a sub-agent whose tracer is off has no spans', async () => {
  using spans = await RecordedSpans.start();
  const script = [{ toolCalls: [{ name: 'agent_helper', input: { task: 'x' } }] }, 'Done.'];
  const agent = new ReActAgent({ name: 'Friday', model: new ScriptedModel(script, 'big'), ...quiet });
  const spec = {
    name: 'helper',
    description: 'Helps.',
    modelOverride: new ScriptedModel(['Here.'], 'small'),
  };
  await registerSubAgent(agent, TaskSubAgent, { ...spec, resources: { tracer: 'off' } });
  spans.clear();
  await agent.call('Go.');
  expect(spans.tree()).toEqual([
    {
      name: 'invoke_agent Friday',
      children: [{ name: 'chat big' }, { name: 'execute_tool agent_helper' }, { name: 'chat big' }],
    },
  ]);
});
