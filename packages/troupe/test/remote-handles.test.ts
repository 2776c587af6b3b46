// Work at other programs is interrupted in the middle, and all is disposed of: no process, socket or timer is left.

import { expect, test } from 'vitest';

import { A2AAgent, serveA2A, WellKnownAgentCardResolver } from '../src/a2a/index.ts';
import {
  AgentBase,
  agentTool,
  findHistoryFaults,
  MsgHub,
  ReActAgent,
  tool,
  Toolkit,
  type Msg,
} from '../src/index.ts';
import { McpClient, McpServer, registerMcpClient } from '../src/mcp/index.ts';
import { ScriptedModel } from '../src/testing/index.ts';
import { hostileServer, until } from './mcp/mcp-servers.ts';

/** Handles that keep the program running and are new. */
function newHandles(before: readonly string[]): readonly string[] {
  const known = [...before];
  return process.getActiveResourcesInfo().filter((kind) => {
    const place = known.indexOf(kind);
    if (place >= 0) known.splice(place, 1);
    return place < 0;
  });
}

/** Counts who hangs. */
class Hanging extends AgentBase {
  static count = 0;

  constructor() {
    super({ name: 'far' });
    this.setConsoleOutputEnabled(false);
  }

  override async reply(): Promise<Msg> {
    Hanging.count++;
    return new Promise(() => {});
  }
}

function agent(name: string, toolkit: Toolkit, calls: readonly string[]): ReActAgent {
  const model = new ScriptedModel([
    { toolCalls: calls.map((call) => ({ name: call, input: { query: 'Go' } })) },
    'never',
  ]);
  const made = new ReActAgent({ name, sysPrompt: '', model, toolkit, parallelToolCalls: true });
  made.setConsoleOutputEnabled(false);
  return made;
}

test('three deep, ten wide, in a hub, with calls that hang elsewhere: interrupted and disposed of, nothing is left', async () => {
  void [process.stdin, process.stdout, process.stderr]; // standard streams are created at their first use
  const before = process.getActiveResourcesInfo();
  let atWork = 0;
  const tools = new Toolkit();
  const hang = (): Promise<string> => {
    atWork++;
    return new Promise(() => {});
  };
  tools.registerToolFunction(tool({ name: 'hang_there', execute: hang }));
  const mcpServer = new McpServer(tools);
  const a2aServer = serveA2A(() => new Hanging(), {
    card: { name: 'far', description: 'Hangs.' },
  });

  const local = new McpClient({ name: 'process', transport: hostileServer('plain') });
  const http = new McpClient({ name: 'http', transport: { type: 'http', url: await mcpServer.listen() } });
  const far = new A2AAgent({ name: 'far', card: new WellKnownAgentCardResolver(await a2aServer.listen()) });
  far.setConsoleOutputEnabled(false);

  const leaves = await Promise.all(
    Array.from({ length: 10 }, async (_, i) => {
      const toolkit = new Toolkit();
      await registerMcpClient(toolkit, local, { enable: ['hang'] });
      await registerMcpClient(toolkit, http);
      const calls = ['hang', 'hang_there'];
      if (i === 0) calls.push(toolkit.registerToolFunction(agentTool(far, { description: 'Far away.' })));
      return agent(`leaf${i}`, toolkit, calls);
    }),
  );
  const inner = new Toolkit();
  const names = leaves.map((leaf) => inner.registerToolFunction(agentTool(leaf, { description: 'Works.' })));
  const middle = agent('middle', inner, names);
  const outer = new Toolkit();
  const root = agent('root', outer, [
    outer.registerToolFunction(agentTool(middle, { description: 'Asks.' })),
  ]);
  const listener = agent('listener', new Toolkit(), []);

  await using hub = await MsgHub.open({ participants: [root, listener] });
  void hub;
  const call = root.call('Go');
  await until(() => atWork === 10 && Hanging.count === 1);
  expect(newHandles(before).length).toBeGreaterThan(5); // there is something to be left
  await root.interrupt();
  expect((await call).metadata).toMatchObject({ _is_interrupted: true });
  const agents = [root, middle, ...leaves, listener];
  const histories = await Promise.all(agents.map(({ memory }) => memory.getMemory()));
  expect(histories.flatMap((history) => findHistoryFaults(history))).toEqual([]);
  expect(agents.filter(({ isRunning }) => isRunning)).toEqual([]);

  await Promise.all([...agents, far].map((one) => one[Symbol.asyncDispose]()));
  await Promise.all([http.close(), local.close()]);
  await Promise.all([a2aServer.close(), mcpServer.close()]);
  for (let turn = 0; turn < 200 && newHandles(before).length > 0; turn++)
    await new Promise((resolve) => setTimeout(resolve, 5));
  expect(newHandles(before)).toEqual([]);
});
