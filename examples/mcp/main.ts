// MCP in both directions: an agent uses the tools of a server that it starts, and then is a server itself,
// used by another agent. The model is the OfflineModel, which follows simple rules but really calls the
// tools.

import assert from 'node:assert/strict';
import { join } from 'node:path';

import { ReActAgent, Toolkit } from 'troupe';
import { McpClient, McpServer, registerMcpClient } from 'troupe/mcp';
import { OfflineModel } from 'troupe/offline';

function agentWith(name: string, toolkit: Toolkit): ReActAgent {
  const agent = new ReActAgent({
    name,
    sysPrompt: 'Use the tools.',
    model: new OfflineModel(),
    toolkit,
    console: false,
  });
  return agent;
}

// 1. A server as a child process. It gets a minimal environment, and ends with this program.
const flags = ['--experimental-strip-types', '--disable-warning=ExperimentalWarning'];
await using weather = new McpClient({
  name: 'weather',
  transport: {
    type: 'stdio',
    command: process.execPath,
    args: [...flags, join(import.meta.dirname, 'tool-server.ts')],
  },
});
const tools = new Toolkit();
const names = await registerMcpClient(tools, weather, { disable: ['delete_everything'] });
console.log(`the server offers: ${names.join(', ')}`);

const reporter = agentWith('reporter', tools);
const answer = await reporter.call('What is the weather in Lisbon?');
console.log(`reporter: ${answer.text}`);

// 2. The agent as a server, over HTTP on this machine. Every tool call gets a new agent.
await using server = new McpServer(() => agentWith('reporter', tools), {
  description: 'Knows the weather in every city.',
});
await using newsroom = new McpClient({
  name: 'newsroom',
  transport: { type: 'http', url: await server.listen() },
});
const asked = await newsroom.callTool('reporter', { message: 'How is the weather in Bergen?' });
console.log('newsroom:', asked.content);

assert.deepEqual(names, ['get_weather']);
assert.match(answer.text, /Lisbon: sunny, 24 °C/);
assert.match(JSON.stringify(asked.content), /Bergen: sunny, 24 °C/);
assert.equal(asked.status, 'ok');
