// A task that is too long for its model: forty letters are read one by one, and the model's context holds
// about twenty. The memory compresses itself during the work, and reloads an early letter when a detail of it
// is needed.

import assert from 'node:assert/strict';

import {
  AutoContextMemory,
  ChatModelBase,
  findHistoryFaults,
  ReActAgent,
  tool,
  type AgentEvent,
  type ModelRequest,
  type Msg,
} from 'troupe';
import type { ModelDelta } from 'troupe/provider';
import { z } from 'zod';

const LETTERS = 40;
const MAX_TOKEN = 6000;

/** Letter of 500 characters. The third letter contains a secret. */
function letter(number: number): string {
  const secret = number === 3 ? 'The key is under the blue stone. ' : '';
  return `Letter ${number}. ${secret}`.padEnd(500, 'Dear friend, the weather is fine. ');
}

/** Stands in for a real model: follows a few simple rules, and sees nothing except its prompt. */
class ReadingModel extends ChatModelBase {
  longestPrompt = 0;

  override async *stream({ messages, tools = [] }: ModelRequest): AsyncGenerator<ModelDelta, void, void> {
    const prompt = JSON.stringify(messages);
    // a request of the memory for a summary
    if (tools.length === 0) return yield { type: 'text', text: summaryOf(prompt) };
    this.longestPrompt = Math.max(this.longestPrompt, prompt.length);
    const request = messages.findLast(({ role }) => role === 'user')?.text ?? '';
    if (request.startsWith('Where')) yield* findKey(messages);
    else yield* readOn(prompt);
  }
}

/** Summary of the letters so far; this stand-in only counts them. */
function summaryOf(prompt: string): string {
  return `I have read the letters up to number ${latestIn(prompt)}.`;
}

function latestIn(prompt: string): number {
  const read = /(?:Letter|up to number) (\d+)\./g;
  return Math.max(0, ...Array.from(prompt.matchAll(read), ([, number]) => Number(number)));
}

function* readOn(prompt: string): Generator<ModelDelta, void, void> {
  const next = latestIn(prompt) + 1;
  if (next > LETTERS) yield { type: 'text', text: `I have read all ${LETTERS} letters.` };
  else yield* call('read_letter', { number: next });
}

/** Looks for the key in the prompt. Reloads offloaded content, page by page if it is long. */
function* findKey(messages: readonly Msg[]): Generator<ModelDelta, void, void> {
  const found = /The key is ([^.]*)\./.exec(JSON.stringify(messages))?.[1];
  if (found !== undefined) return yield { type: 'text', text: `It is ${found}.` };
  const calls = messages.flatMap((msg) => msg.getContentBlocks('tool_use'));
  const asked = calls.map(({ input }) => input['working_context_offload_uuid']);
  const newTagIn = (msgs: readonly Msg[]): string | undefined =>
    Array.from(JSON.stringify(msgs).matchAll(/CONTEXT_OFFLOAD: uuid=(\w+)/g), ([, uuid]) => uuid).findLast(
      (uuid) => !asked.includes(uuid),
    );
  const latest = messages.slice(-1);
  const offset = /Go on with offset (\d+)/.exec(JSON.stringify(latest))?.[1];
  const uuid = newTagIn(latest) ?? (offset === undefined ? newTagIn(messages) : undefined);
  if (uuid !== undefined) yield* call('context_reload', { working_context_offload_uuid: uuid });
  else if (offset === undefined) yield { type: 'text', text: 'I have not found it.' };
  else yield* call('context_reload', { ...calls.at(-1)?.input, offset: Number(offset) });
}

function* call(name: string, input: object): Generator<ModelDelta, void, void> {
  yield { type: 'tool_use_start', index: 0, name };
  yield { type: 'tool_input', index: 0, json: JSON.stringify(input) };
  yield { type: 'tool_use_end', index: 0 };
}

const readLetter = tool({
  name: 'read_letter',
  description: 'Reads one of the letters.',
  schema: z.object({ number: z.number().int() }),
  execute: ({ number }) => letter(number),
});

const model = new ReadingModel('stand-in');
const memory = new AutoContextMemory({ maxToken: MAX_TOKEN, minCompressionTokenThreshold: 500 });
const agent = new ReActAgent({
  name: 'Reader',
  model,
  tools: [readLetter],
  memory,
  maxIters: 100,
  sysPrompt: 'Read the letters.',
  console: false,
});

async function ask(question: string): Promise<Msg> {
  console.log(`\nyou: ${question}`);
  const events = agent.stream(question);
  let step = await events.next();
  for (; !step.done; step = await events.next()) show(step.value);
  console.log(`reader: ${step.value.text}`);
  return step.value;
}

function show(event: AgentEvent): void {
  if (event.type === 'tool_start' && event.call.name === 'context_reload')
    console.log('  reloads what was taken out');
  if (event.type !== 'compression' || event.phase === 'progress' || event.phase === 'start') return;
  const { phase, strategy, compressedMessageCount, tokensBefore, tokensAfter = tokensBefore } = event;
  console.log(
    `  ${phase}: ${strategy}, ${compressedMessageCount} messages, ${tokensBefore} -> ${tokensAfter} tokens`,
  );
}

const done = await ask('Read all the letters.');
// no letter twice, none missing, although the prompt never held all of them
assert.equal(done.text, 'I have read all 40 letters.');
const reads = memory.getOriginalMemoryMsgs().flatMap((msg) => msg.getContentBlocks('tool_use'));
assert.deepEqual(
  reads.map(({ input }) => input['number']),
  Array.from({ length: LETTERS }, (_, i) => i + 1),
);

const found = await ask('Where is the key?');
assert.equal(found.text, 'It is under the blue stone.');

const shown = await memory.getMemory();
assert.deepEqual(findHistoryFaults(shown), []);
assert.ok(model.longestPrompt < MAX_TOKEN * 4, `the longest prompt had ${model.longestPrompt} characters`);
console.log(
  `\n${memory.getOriginalMemoryMsgs().length} messages were said, ${shown.length} are left in the prompt,`,
);
console.log(
  `${memory.getCompressionEvents().length} compressions, and ${memory.getOffloadContext().size} parts can be reloaded.`,
);
