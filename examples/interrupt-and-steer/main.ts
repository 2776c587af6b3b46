// Messages to a busy agent: `steer` is read at the next step, `followUp` is answered afterwards, `interrupt`
// stops the agent at once, even in a tool that ignores its signal. The model is a ScriptedModel, so that
// every run is the same.

import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';

import { findHistoryFaults, ReActAgent, tool } from 'troupe';
import { ScriptedModel } from 'troupe/testing';
import { z } from 'zod';

/** Emits `begun` when the tool starts, and receives `done` to let the tool end. */
const brush = new EventEmitter();

const paintTool = tool({
  name: 'paint',
  description: 'Paints something.',
  schema: z.object({ what: z.string(), colour: z.string() }),
  async execute({ what, colour }) {
    brush.emit('begun');
    await once(brush, 'done'); // a good tool would stop with its signal; this one does not
    return `The ${what} is ${colour} now.`;
  },
});

const paint = (what: string, colour: string) => ({ toolCalls: [{ name: 'paint', input: { what, colour } }] });
const model = new ScriptedModel([
  paint('fence', 'white'),
  paint('fence', 'blue'), // after the steering message
  'The fence is blue.',
  'You are welcome. That was two coats.', // to the follow-up
  { text: 'With pleasure.', ...paint('cat', 'green') },
  'What cat?', // to the message after the interrupt
]);
const painter = new ReActAgent({
  name: 'painter',
  model,
  tools: [paintTool],
  interruptReply: 'All right, I put the brush down.',
  console: false,
});

const fence = painter.call('Paint the fence, please.');
await once(brush, 'begun'); // painting the fence white
assert.ok(painter.steer('On second thought: blue.'));
assert.ok(painter.followUp('Thank you!'));
brush.emit('done');
await once(brush, 'begun'); // painting the fence blue
brush.emit('done');
// an agent call returns its last answer
assert.equal((await fence).text, 'You are welcome. That was two coats.');

const cat = painter.call('Now paint the cat green.');
await once(brush, 'begun');
const before = performance.now();
assert.ok(await painter.interrupt('Stop! Not the cat!')); // resolves when the painter is idle
const waited = performance.now() - before;
const answer = await cat; // an interrupted call returns an answer too
assert.deepEqual(answer.metadata, { _is_interrupted: true });
assert.equal(answer.endReason, 'interrupted');
brush.emit('done'); // the tool returns too late: its result is ignored

await painter.call('How is the cat?'); // the next call continues with a valid history

const memory = await painter.memory.getMemory();
for (const msg of memory) {
  if (msg.text !== '') console.log(`${msg.name}: ${msg.text}`);
  for (const { input } of msg.getContentBlocks('tool_use'))
    console.log(`  -> paint ${JSON.stringify(input)}`);
  for (const { output, status } of msg.getContentBlocks('tool_result'))
    console.log(`  <- ${status}: ${JSON.stringify(output)}`);
}
console.log(`\nThe interrupt took ${waited.toFixed(1)} ms.`);

assert.deepEqual(findHistoryFaults(memory), []);
assert.deepEqual(
  memory.flatMap((msg) => msg.getContentBlocks('tool_result')).map(({ status }) => status),
  ['ok', 'ok', 'interrupted'],
);
assert.equal(memory.at(-1)?.text, 'What cat?');
assert.ok(waited < 1000, 'an interrupt waits for nobody');
model.assertUsedUp();
