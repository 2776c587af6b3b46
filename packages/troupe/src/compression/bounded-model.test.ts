import { expect, test } from 'vitest';

import type { ModelDelta } from '../message/model-delta.ts';
import { Msg } from '../message/msg.ts';
import { ScriptedModel } from '../testing/scripted-model.ts';
import { BoundedModel } from './bounded-model.ts';

const text = (length: number): ModelDelta => ({ type: 'text', text: 'x'.repeat(length) });
const call = (deltas: readonly ModelDelta[]): Promise<Msg> =>
  new BoundedModel(new ScriptedModel([{ deltas }]), 100).call({ messages: [Msg.user('Sum up.')] });

test('an answer within the limit passes', async () => {
  expect(
    (await call([{ type: 'thinking', thinking: 'x'.repeat(5000) }, text(60), text(40)])).text.length,
  ).toBe(100);
});

test.each<[string, ModelDelta[]]>([
  ['a text', [text(60), text(41)]],
  [
    'the arguments of a call',
    [
      { type: 'tool_use_start', index: 0, name: 'generate_response' },
      { type: 'tool_input', index: 0, json: 'x'.repeat(101) },
    ],
  ],
  ['a thought', [{ type: 'thinking', thinking: 'x'.repeat(300_000) }]],
])('%s that is longer is stopped', async (_, deltas) => {
  await expect(call(deltas)).rejects.toThrow('The summary is longer than the messages it replaces.');
});

test('an answer that starts anew is measured anew', async () => {
  const msg = await call([text(90), { type: 'reset', reason: 'another model' }, text(90)]);
  expect(msg.text.length).toBe(90);
});
