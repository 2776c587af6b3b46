// Agents that hand a conversation over to each other. They are in a hub, so all of them have observed
// everything, and the next agent needs no summary. A tool names the next agent, and its result ends the
// reply. The models are scripted.

import assert from 'node:assert/strict';

import { findHistoryFaults, Msg, MsgHub, ReActAgent, tool } from 'troupe';
import { ScriptedModel, type ScriptedTurn } from 'troupe/testing';
import { z } from 'zod';

type Department = 'reception' | 'billing' | 'repairs';
let next: Department = 'reception';

/** Agent of a department, with a tool to pass the customer on to the others. */
function departmentAgent(
  name: Department,
  others: readonly [Department, ...Department[]],
  script: readonly (string | ScriptedTurn)[],
) {
  const handOver = tool({
    name: 'hand_over',
    description: 'Lets another department go on with the customer.',
    schema: z.object({ to: z.enum(others), why: z.string() }),
    returnDirect: true, // the result is the answer
    execute: ({ to, why }) => {
      next = to;
      return `I hand you over to ${to}: ${why}`;
    },
  });
  const model = new ScriptedModel(script);
  const agent = new ReActAgent({ name, model, tools: [handOver], console: false });
  return { agent, model };
}

const handOver = (to: Department, why: string): ScriptedTurn => ({
  toolCalls: [{ name: 'hand_over', input: { to, why } }],
});
const departments = {
  reception: departmentAgent(
    'reception',
    ['billing', 'repairs'],
    [handOver('billing', 'it is about an invoice.')],
  ),
  billing: departmentAgent(
    'billing',
    ['reception', 'repairs'],
    ['The invoice of May is 20 EUR too high; you get them back.', handOver('repairs', 'the lamp is broken.')],
  ),
  repairs: departmentAgent('repairs', ['reception', 'billing'], ['Send the lamp to us, and we mend it.']),
};

await using hub = await MsgHub.open({ participants: Object.values(departments).map(({ agent }) => agent) });

/** Sends a message to the current agent, and continues until no agent hands over. */
async function say(text: string): Promise<void> {
  console.log(`customer: ${text}`);
  await hub.broadcast(Msg.user(text, { name: 'customer' }));
  for (let department: Department | undefined; department !== next;) {
    department = next;
    const answer = await departments[department].agent.call(); // the agent has observed the message
    console.log(`${department}: ${answer.text}`);
  }
}

await say('My invoice of May is wrong.');
await say('Thank you. And my lamp does not work.');

assert.equal(next, 'repairs');
for (const { agent, model } of Object.values(departments)) {
  model.assertUsedUp();
  assert.deepEqual(findHistoryFaults(await agent.memory.getMemory()), []);
}
// The last agent knows the whole conversation without a summary.
assert.deepEqual(
  departments.repairs.model.requests[0]?.messages.map(({ name, text }) => `${name}: ${text}`),
  [
    'customer: My invoice of May is wrong.',
    'reception: I hand you over to billing: it is about an invoice.',
    'billing: The invoice of May is 20 EUR too high; you get them back.',
    'customer: Thank you. And my lamp does not work.',
    'billing: I hand you over to repairs: the lamp is broken.',
  ],
);
