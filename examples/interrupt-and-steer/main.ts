// A word with an agent that is busy: `steer` is heard at its next step, `followUp` is answered when it is done, `interrupt` stops
// it at once, even in a tool that listens to nobody. A ScriptedModel plays the painter, so that every run goes the same way.

import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';

import { findHistoryFaults, ReActAgent, Toolkit } from 'troupe';
import { ScriptedModel } from 'troupe/testing';
import { z } from 'zod';

/** Tells when the brush has `begun`, and is told when it is `done`. */
const brush = new EventEmitter();

const toolkit = new Toolkit();
toolkit.registerToolFunction({
  name: 'paint',
  description: 'Paints something.',
  schema: z.object({ what: z.string(), colour: z.string() }),
  async execute({ what, colour }) {
    brush.emit('begun');
    await once(brush, 'done'); // it could stop with its signal, the way good tools do; it does not
    return `The ${what} is ${colour} now.`;
  },
});

const paint = (what: string, colour: string) => ({ toolCalls: [{ name: 'paint', input: { what, colour } }] });
const model = new ScriptedModel([
  paint('fence', 'white'),
  paint('fence', 'blue'), // it has heard the steering
  'The fence is blue.',
  'You are welcome. That was two coats.', // to the follow-up
  { text: 'With pleasure.', ...paint('cat', 'green') },
  'What cat?', // to what we say after the interrupt
]);
const painter = new ReActAgent({
  name: 'painter',
  model,
  toolkit,
  interruptReply: 'All right, I put the brush down.',
});
painter.setConsoleOutputEnabled(false);

const fence = painter.call('Paint the fence, please.');
await once(brush, 'begun'); // it paints the fence white now
assert.ok(painter.steer('On second thought: blue.'));
assert.ok(painter.followUp('Thank you!'));
brush.emit('done');
await once(brush, 'begun'); // and now blue
brush.emit('done');
assert.equal((await fence).text, 'You are welcome. That was two coats.'); // a call ends with its last answer

const cat = painter.call('Now paint the cat green.');
await once(brush, 'begun');
const before = performance.now();
assert.ok(await painter.interrupt('Stop! Not the cat!')); // resolves when the painter is free
const waited = performance.now() - before;
const answer = await cat; // an interrupt is an answer too
assert.deepEqual(answer.metadata, { _is_interrupted: true });
assert.equal(answer.endReason, 'interrupted');
brush.emit('done'); // the tool returns after all: too late to matter

await painter.call('How is the cat?'); // the next call goes on from a history that is in order

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
