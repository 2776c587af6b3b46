import { expect, test } from 'vitest';

import type { ModelDelta } from '../../message/model-delta.ts';
import { Msg } from '../../message/msg.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { OfflineModel } from './offline-model.ts';

const add = {
  name: 'add',
  description: 'Adds two numbers.',
  parameters: {
    type: 'object',
    properties: { a: { type: 'number' }, b: { type: 'number' } },
    required: ['a', 'b'],
  },
};

const asking = (text: string) => ({ messages: [Msg.user(text)], tools: [add] });

test('labels itself', () => {
  expect(new OfflineModel().modelName).toBe('offline');
});

test('streams its answer word by word', async () => {
  const deltas: ModelDelta[] = [];
  for await (const delta of new OfflineModel().stream(asking('hello'))) deltas.push(delta);
  expect(deltas.slice(0, 2)).toEqual([
    { type: 'text', text: 'Hello! ' },
    { type: 'text', text: 'I ' },
  ]);
  expect(deltas.length).toBeGreaterThan(20);
  expect(deltas.at(-1)).toEqual({ type: 'finish', reason: 'stop' });
});

test('streams the arguments of a tool call word by word', async () => {
  const pieces: string[] = [];
  for await (const delta of new OfflineModel().stream(asking('What is 2 + 3?')))
    if (delta.type === 'tool_input') pieces.push(delta.json);
  expect(pieces.length).toBeGreaterThan(3);
  expect(JSON.parse(pieces.join(''))).toEqual({ a: 2, b: 3 });
});

test('calls a tool, with thinking on the reason', async () => {
  const msg = await new OfflineModel().call(asking('What is 2 + 3?'));
  expect(msg.content).toEqual([
    { type: 'thinking', thinking: 'The message has arithmetic in it.' },
    { type: 'tool_use', id: expect.any(String), name: 'add', input: { a: 2, b: 3 } },
  ]);
});

test('says the same every time', async () => {
  const [one, two] = await Promise.all([1, 2].map(() => new OfflineModel().call(asking('Tell me a story'))));
  expect(one!.text).not.toBe('');
  expect(one!.content).toEqual(two!.content);
});

test('waits before each word if it is told to, and no longer once it is aborted', async () => {
  const clock = new FakeClock();
  const installed = clock.install();
  try {
    const controller = new AbortController();
    const seen: ModelDelta[] = [];
    const reading = (async () => {
      for await (const delta of new OfflineModel({ delayMs: 50 }).stream(asking('hello'), controller))
        seen.push(delta);
    })();
    await clock.advance(149);
    expect(seen).toHaveLength(2);
    controller.abort(new Error('enough'));
    await expect(reading).rejects.toThrow('enough');
    expect([seen.length, clock.pendingTimers]).toEqual([2, 0]);
  } finally {
    installed[Symbol.dispose]();
  }
});

test('stops between words when it is aborted, also without a delay', async () => {
  const controller = new AbortController();
  const stream = new OfflineModel().stream(asking('hello'), controller);
  await stream.next();
  controller.abort(new Error('enough'));
  await expect(stream.next()).rejects.toThrow('enough');
});

test('refuses a delay that is no time', () => {
  expect(() => new OfflineModel({ delayMs: -1 })).toThrow('delayMs');
});
