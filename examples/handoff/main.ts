// Peers who hand a conversation over to each other. They sit in a hub, so all of them have heard everything, and whoever takes over
// need not be told. A tool says who is next, and its result ends the turn. The models are scripted.

import assert from 'node:assert/strict';

import { findHistoryFaults, Msg, MsgHub, ReActAgent, tool, Toolkit } from 'troupe';
import { ScriptedModel, type ScriptedTurn } from 'troupe/testing';
import { z } from 'zod';

type Desk = 'reception' | 'billing' | 'repairs';
let next: Desk = 'reception';

/** An agent at a desk, who can send a customer on to the others. */
function clerk(name: Desk, others: readonly [Desk, ...Desk[]], script: readonly (string | ScriptedTurn)[]) {
  const handOver = tool({
    name: 'hand_over',
    description: 'Lets another desk go on with the customer.',
    schema: z.object({ to: z.enum(others), why: z.string() }),
    returnDirect: true, // what it returns is the answer
    execute: ({ to, why }) => {
      next = to;
      return `I hand you over to ${to}: ${why}`;
    },
  });
  const model = new ScriptedModel(script);
  const agent = new ReActAgent({ name, model, toolkit: new Toolkit({ tools: [handOver] }) });
  agent.setConsoleOutputEnabled(false);
  return { agent, model };
}

const handOver = (to: Desk, why: string): ScriptedTurn => ({
  toolCalls: [{ name: 'hand_over', input: { to, why } }],
});
const desks = {
  reception: clerk('reception', ['billing', 'repairs'], [handOver('billing', 'it is about an invoice.')]),
  billing: clerk(
    'billing',
    ['reception', 'repairs'],
    ['The invoice of May is 20 EUR too high; you get them back.', handOver('repairs', 'the lamp is broken.')],
  ),
  repairs: clerk('repairs', ['reception', 'billing'], ['Send the lamp to us, and we mend it.']),
};

await using hub = await MsgHub.open({ participants: Object.values(desks).map(({ agent }) => agent) });

/** Says something to whoever's turn it is, and goes on until nobody hands over any more. */
async function say(text: string): Promise<void> {
  console.log(`customer: ${text}`);
  await hub.broadcast(Msg.user(text, { name: 'customer' }));
  for (let desk: Desk | undefined; desk !== next;) {
    desk = next;
    const answer = await desks[desk].agent.call(); // it has heard what there is to answer
    console.log(`${desk}: ${answer.text}`);
  }
}

await say('My invoice of May is wrong.');
await say('Thank you. And my lamp does not work.');

assert.equal(next, 'repairs');
for (const { agent, model } of Object.values(desks)) {
  model.assertUsedUp();
  assert.deepEqual(findHistoryFaults(await agent.memory.getMemory()), []);
}
// The last one knows the whole story, though nobody told it.
assert.deepEqual(
  desks.repairs.model.requests[0]?.messages.map(({ name, text }) => `${name}: ${text}`),
  [
    'customer: My invoice of May is wrong.',
    'reception: I hand you over to billing: it is about an invoice.',
    'billing: The invoice of May is 20 EUR too high; you get them back.',
    'customer: Thank you. And my lamp does not work.',
    'billing: I hand you over to repairs: the lamp is broken.',
  ],
);
