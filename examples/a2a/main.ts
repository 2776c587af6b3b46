// Agents in two programs: agent-server.ts serves a travel agent, and this program talks to it over A2A. Text
// arrives while it is written, and tool calls of the remote agent that need approval are decided here.

import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

import { agentTool, findHistoryFaults, ReActAgent } from 'troupe';
import { A2AAgent, WellKnownAgentCardResolver } from 'troupe/a2a';
import { OfflineModel } from 'troupe/offline';

const flags = ['--experimental-strip-types', '--disable-warning=ExperimentalWarning'];
const child = fork(join(import.meta.dirname, 'agent-server.ts'), { execArgv: flags });
const [url] = (await once(child, 'message')) as [string];

// 1. The remote agent is used like any other agent: its card has its address and its skills.
const card = new WellKnownAgentCardResolver(url);
const travel = new A2AAgent({ name: 'travel', card, console: false });

let streamed = '';
const events = travel.stream('What is the weather in Lisbon?');
let step = await events.next();
for (; !step.done; step = await events.next()) {
  if (step.value.type === 'text_delta') streamed += step.value.text;
}
const weather = step.value;
console.log(`travel: ${weather.text}`);

// 2. A tool call of the remote agent needs approval. The decision goes back to the same task.
const question = await travel.call('Book a hotel in Lisbon');
const pending = question.pending ?? [];
for (const { agentPath, call, reason } of pending) {
  console.log(`${agentPath.join(' > ')} asks for ${call.name} ${JSON.stringify(call.input)}: ${reason}`);
}
const booked = await travel.call(undefined, {
  decisions: pending.map(({ id }) => ({ id, verdict: 'allow' })),
});
console.log(`travel: ${booked.text}`);

// 3. The remote agent as a tool of another agent, in a new conversation.
const remote = new A2AAgent({ name: 'ask_travel_agent', card, console: false });
const askTravelAgent = agentTool(remote, { description: 'Asks the travel agent, who knows the weather.' });
const host = new ReActAgent({
  name: 'host',
  sysPrompt: 'Use the tools.',
  model: new OfflineModel(),
  tools: [askTravelAgent],
  console: false,
});
const answer = await host.call('Ask the travel agent: "What is the weather in Bergen?"');
console.log(`host: ${answer.text}`);

child.disconnect(); // the server closes and the process ends
await once(child, 'exit');

assert.match(weather.text, /Lisbon: sunny, 24 °C/);
assert.ok(streamed.endsWith(weather.text));
assert.equal(question.endReason, 'tool_suspended');
assert.deepEqual(
  pending.map(({ call }) => call.name),
  ['book_hotel'],
);
assert.match(booked.text, /A room in Lisbon is booked/);
assert.match(answer.text, /Bergen: sunny, 24 °C/);
assert.deepEqual(findHistoryFaults(await host.memory.getMemory()), []);
