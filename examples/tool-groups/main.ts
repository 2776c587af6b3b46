// An office assistant that chooses its tools: few are offered at first, and `reset_equipped_tools` activates
// others. Preset arguments, which the model can neither see nor change, and a middleware around every tool
// call restrict it. The ScriptedModel tries to get around both.

import assert from 'node:assert/strict';

import { findHistoryFaults, ReActAgent, tool, Toolkit, ToolResponse } from 'troupe';
import { isSuspended } from 'troupe/kernel';
import { ScriptedModel } from 'troupe/testing';
import { z } from 'zod';

const sent: string[] = [];

const toolkit = new Toolkit();
toolkit.createToolGroup('mail', {
  description: 'Reading and sending mail.',
  notes: 'Keep it short, and say who you are.', // shown to the model when it activates the group
});
toolkit.createToolGroup('calendar', { description: 'Appointments.' });

const sendMail = tool({
  name: 'send_mail',
  description: 'Sends a mail.',
  schema: z.object({ from: z.string(), to: z.string(), text: z.string() }),
  sideEffect: true,
  execute({ from, to, text }) {
    sent.push(`${from} -> ${to}: ${text}`);
    return 'It is sent.';
  },
});
toolkit.registerToolFunction(sendMail, { group: 'mail', preset: { from: 'ann@troupe.example' } });
toolkit.registerToolFunction({
  name: 'next_appointment',
  group: 'calendar',
  execute: () => 'Tea with Bob at four.',
});

// Around every tool call: continue with next(), change input or result, or answer instead.
toolkit.registerMiddleware(async (call, next) => {
  const { to } = call.input;
  const isInside = typeof to === 'string' && to.endsWith('@troupe.example');
  const result =
    call.name === 'send_mail' && !isInside
      ? new ToolResponse('Mail leaves the company only with a human.', { status: 'denied' })
      : await next();
  const status = isSuspended(result) ? 'suspended' : result.status;
  console.log(`  ${call.name} ${JSON.stringify(call.input)}: ${status}`);
  return result;
});

const call = (name: string, input: Record<string, string | boolean>) => ({ toolCalls: [{ name, input }] });
const model = new ScriptedModel([
  call('send_mail', { to: 'bob@troupe.example', text: 'Tea?' }), // not active yet: neither offered nor run
  call('reset_equipped_tools', { mail: true }), // exactly these groups from now on
  call('send_mail', { from: 'boss@troupe.example', to: 'bob@troupe.example', text: 'You get a raise!' }),
  call('send_mail', { to: 'press@news.example', text: 'Guess what!' }),
  call('reset_equipped_tools', { calendar: true }),
  call('next_appointment', {}),
  'Bob has mail from you, and you have tea with him at four.',
]);
const agent = new ReActAgent({ name: 'assistant', model, toolkit, enableMetaTool: true, console: false });

console.log('Calls that were made:');
const answer = await agent.call('Invite Bob for tea.');

console.log('\nWhat the model was offered, step by step:');
const offered = model.requests.map(({ tools = [] }) => tools.map(({ name }) => name).join(', '));
for (const names of offered) console.log(`  ${names}`);
console.log(`\nSent: ${sent.join('\n')}\n${answer.text}`);

const memory = await agent.memory.getMemory();
const results = memory.flatMap((msg) => msg.getContentBlocks('tool_result'));
assert.deepEqual(
  results.map(({ status }) => status),
  ['unavailable', 'ok', 'ok', 'denied', 'ok', 'ok'],
);
assert.match(JSON.stringify(results[1]?.output), /Keep it short/);
// the preset sender was used
assert.deepEqual(sent, ['ann@troupe.example -> bob@troupe.example: You get a raise!']);
// and the model never saw the argument
assert.ok(!JSON.stringify(model.requests[2]?.tools?.[0]).includes('from'));
assert.deepEqual(offered.slice(1, 3), ['reset_equipped_tools', 'send_mail, reset_equipped_tools']);
assert.deepEqual(agent.toolkit.activeGroups, ['calendar']); // saved with the agent's state
assert.deepEqual(findHistoryFaults(memory), []);
