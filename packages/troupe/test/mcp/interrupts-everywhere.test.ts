// A tool call of an MCP tool, stopped at every point where it can wait, with the agent saved and loaded in
// between.

import { afterEach, expect, test } from 'vitest';

import { findHistoryFaults, ReActAgent, tool, Toolkit, type JsonObject } from '../../src/index.ts';
import { McpClient, McpServer, registerMcpClient } from '../../src/mcp/index.ts';
import { abortAtEvery, interruptAtEvery, ScriptedModel } from '../../src/testing/index.ts';

const { fetch } = globalThis;

afterEach(() => {
  globalThis.fetch = fetch;
});

test.each([
  ['an interrupt', interruptAtEvery],
  ['an abort', abortAtEvery],
])('%s at any point of a tool call leaves a whole history, and a client that works', async (_, drive) => {
  const remote = new Toolkit();
  let calls = 0;
  remote.registerToolFunction(
    tool({ name: 'count', sideEffect: true, execute: () => `That makes ${++calls}.` }),
  );
  await using server = new McpServer(remote);
  globalThis.fetch = (input, init) => {
    const request = new Request(input, init);
    request.headers.set('host', 'localhost');
    return server.fetch(request); // without a network
  };
  const transport = { type: 'http', url: 'http://localhost/mcp' } as const;
  await using client = new McpClient({ name: 'counter', transport });
  const toolkit = new Toolkit();
  await registerMcpClient(toolkit, client);
  const asks = { toolCalls: [{ name: 'count', input: {} }] };
  const agentOf = (model: ScriptedModel): ReActAgent => {
    const agent = new ReActAgent({ name: 'Friday', sysPrompt: '', model, toolkit });
    agent.setConsoleOutputEnabled(false);
    return agent;
  };
  const scenario = () => {
    const agent = agentOf(new ScriptedModel([asks, 'So it is.']));
    const before = calls;
    return {
      agent,
      input: 'Go',
      async check() {
        expect(calls - before).toBeLessThanOrEqual(1);
        expect(findHistoryFaults(await agent.memory.getMemory())).toEqual([]);
        const again = agentOf(new ScriptedModel([asks, 'And on.']));
        again.loadStateDict(JSON.parse(JSON.stringify(agent.stateDict())) as JsonObject);
        expect((await again.call('More')).text).toBe('And on.');
        expect(findHistoryFaults(await again.memory.getMemory())).toEqual([]);
        expect(client.isConnected).toBe(true);
      },
    };
  };
  const { agent, input } = scenario();
  expect((await agent.call(input)).text).toBe('So it is.'); // loads the modules
  const { points } = await drive(scenario);
  expect(points).toBeGreaterThan(50);
  expect(calls).toBeGreaterThan(points);
});
