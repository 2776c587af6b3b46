import { expect, test } from 'vitest';

import { TroupeError } from '../errors.ts';
import type { ModelDelta } from '../message/model-delta.ts';
import { Msg } from '../message/msg.ts';
import type { ModelCallOptions, ModelRequest } from '../model/chat-model-base.ts';
import { ScriptedModel, type ScriptedTurn } from './scripted-model.ts';

const asking = (text: string): ModelRequest => ({ messages: [Msg.user(text)] });

async function deltas(model: ScriptedModel, options?: ModelCallOptions): Promise<ModelDelta[]> {
  const all: ModelDelta[] = [];
  for await (const delta of model.stream(asking('hi'), options)) all.push(delta);
  return all;
}

test('answers in the order of the script', async () => {
  const model = new ScriptedModel(['one', { text: 'two' }]);
  expect((await model.call(asking('a'))).text).toBe('one');
  expect((await model.call(asking('b'))).text).toBe('two');
  model.assertUsedUp();
});

test('sends thinking, text, tool calls, usage and the reason to finish', async () => {
  const turn: ScriptedTurn = {
    thinking: 'hm',
    text: 'Let me see.',
    toolCalls: [
      { name: 'add', input: { a: 1 }, id: 'call_1' },
      { name: 'now', input: {} },
    ],
    usage: { inputTokens: 3, outputTokens: 4 },
  };
  expect(await deltas(new ScriptedModel([turn]))).toEqual([
    { type: 'thinking', thinking: 'hm' },
    { type: 'text', text: 'Let me see.' },
    { type: 'tool_use_start', index: 0, name: 'add', id: 'call_1' },
    { type: 'tool_input', index: 0, json: '{"a":1}' },
    { type: 'tool_use_end', index: 0 },
    { type: 'tool_use_start', index: 1, name: 'now' },
    { type: 'tool_input', index: 1, json: '{}' },
    { type: 'tool_use_end', index: 1 },
    { type: 'usage', usage: { inputTokens: 3, outputTokens: 4 } },
    { type: 'finish', reason: 'tool_calls' },
  ]);
});

test('sends raw deltas unchanged, without additions', async () => {
  const raw: ModelDelta[] = [
    { type: 'response_id', id: 'r1' },
    { type: 'tool_use_start', index: 7, name: 'half' },
  ];
  expect(await deltas(new ScriptedModel([{ deltas: raw }]))).toEqual(raw);
  expect(await deltas(new ScriptedModel([{ deltas: raw, finish: 'length' }]))).toEqual([
    ...raw,
    { type: 'finish', reason: 'length' },
  ]);
});

test('sends arguments that are no JSON when the script has a string', async () => {
  const model = new ScriptedModel([{ toolCalls: [{ name: 'add', input: '{"a":' }] }]);
  const [call] = (await model.call(asking('x'))).getContentBlocks('tool_use');
  expect(call).toMatchObject({ name: 'add', input: {}, rawInput: '{"a":' });
});

test('splits text, thinking and tool input into chunks, and tears no character', async () => {
  const model = new ScriptedModel([
    { thinking: 'abc', text: 'a😀bc', toolCalls: [{ name: 'f', input: '{}' }], chunkSize: 2 },
  ]);
  expect(
    (await deltas(model)).filter((delta) => ['text', 'thinking', 'tool_input'].includes(delta.type)),
  ).toEqual([
    { type: 'thinking', thinking: 'ab' },
    { type: 'thinking', thinking: 'c' },
    { type: 'text', text: 'a😀' },
    { type: 'text', text: 'bc' },
    { type: 'tool_input', index: 0, json: '{}' },
  ]);
});

test.each([0, -1, 1.5, Number.NaN])('refuses a chunk size of %s', (chunkSize) => {
  expect(() => new ScriptedModel([{ text: 'x', chunkSize }])).toThrow('chunkSize');
});

test('a turn with `when` answers every matching request, and uses up no other turn', async () => {
  const model = new ScriptedModel([
    'first',
    { when: ({ messages }) => messages.at(-1)?.text === 'ping', text: 'pong' },
    'second',
  ]);
  const answers: string[] = [];
  for (const text of ['ping', 'a', 'ping', 'b']) answers.push((await model.call(asking(text))).text);
  expect(answers).toEqual(['pong', 'first', 'pong', 'second']);
  model.assertUsedUp();
});

test('a predicate turn that fits nothing is never next', async () => {
  const model = new ScriptedModel([{ when: () => false, text: 'never' }, 'next']);
  expect((await model.call(asking('a'))).text).toBe('next');
});

test('fails clearly when the script is over', async () => {
  const model = new ScriptedModel(['only']);
  await model.call(asking('a'));
  const failure = await model.call(asking('my secret')).catch((error: unknown) => error);
  expect(failure).toMatchObject({
    code: 'script_failed',
    message: expect.stringContaining('no turn for request 2'),
  });
  expect((failure as TroupeError).message).not.toContain('secret');
});

test('assertUsedUp lists unused turns', async () => {
  const model = new ScriptedModel([
    'used',
    'x'.repeat(100),
    {
      toolCalls: [
        { name: 'add', input: {} },
        { name: 'sub', input: {} },
      ],
    },
    { error: new Error('boom') },
    { stall: true },
    { when: () => false, text: 'never' },
    { deltas: [] },
  ]);
  await model.call(asking('a'));
  expect(() => model.assertUsedUp()).toThrow(
    new TroupeError(
      'script_failed',
      `The script was not used up. Unused: turn 2 ('${'x'.repeat(40)}…'), turn 3 (calls add, sub), ` +
        `turn 4 (an error), turn 5 (a stall), turn 6 ('never'), turn 7 (deltas).`,
    ),
  );
});

test('throws its error at once, or after its content', async () => {
  const model = new ScriptedModel([
    { error: new Error('at once') },
    { text: 'so far', error: new Error('later') },
  ]);
  await expect(deltas(model)).rejects.toThrow('at once');
  const seen: ModelDelta[] = [];
  const read = async (): Promise<void> => {
    for await (const delta of model.stream(asking('x'))) seen.push(delta);
  };
  await expect(read()).rejects.toThrow('later');
  expect(seen).toEqual([{ type: 'text', text: 'so far' }]);
});

test('a stall ends when the signal is aborted', async () => {
  const model = new ScriptedModel([{ text: 'so far', stall: true }]);
  const controller = new AbortController();
  const stream = model.stream(asking('x'), { signal: controller.signal });
  expect((await stream.next()).value).toEqual({ type: 'text', text: 'so far' });
  const next = stream.next();
  controller.abort(new Error('stop'));
  await expect(next).rejects.toThrow('stop');
});

test('a stall ends when the stream is left', async () => {
  const model = new ScriptedModel([{ text: 'so far', stall: true }]);
  const stream = model.stream(asking('x'));
  expect((await stream.next()).value).toEqual({ type: 'text', text: 'so far' });
  const next = stream.next();
  expect(await stream.return()).toEqual({ done: true, value: undefined });
  expect(await next).toEqual({ done: true, value: undefined });
});

test('a stubborn stall goes on for ever', async () => {
  const model = new ScriptedModel([{ stall: true, stubborn: true }]);
  const controller = new AbortController();
  const next = model.stream(asking('x'), { signal: controller.signal }).next();
  controller.abort(new Error('stop'));
  const winner = await Promise.race([
    next.catch(() => 'aborted'),
    new Promise((resolve) => setImmediate(resolve, 'still waiting')),
  ]);
  expect(winner).toBe('still waiting');
});

test('stops between deltas when the signal is aborted, unless it is stubborn', async () => {
  const model = new ScriptedModel([
    { text: 'abc', chunkSize: 1 },
    { text: 'abc', chunkSize: 1, stubborn: true },
  ]);
  const controllers = [new AbortController(), new AbortController()];
  const [obedient, stubborn] = controllers.map(({ signal }) => model.stream(asking('x'), { signal }));
  await obedient!.next();
  await stubborn!.next();
  for (const controller of controllers) controller.abort(new Error('stop'));
  await expect(obedient!.next()).rejects.toThrow('stop');
  expect((await stubborn!.next()).value).toEqual({ type: 'text', text: 'b' });
});

test('a request whose signal is aborted already is never made', async () => {
  const model = new ScriptedModel(['kept']);
  await expect(deltas(model, { signal: AbortSignal.abort(new Error('too late')) })).rejects.toThrow(
    'too late',
  );
  expect(model.requests).toEqual([]);
  expect((await model.call(asking('x'))).text).toBe('kept');
});

test('records copies of the requests', async () => {
  const model = new ScriptedModel(['a']);
  const messages = [Msg.user('hello')];
  const tools = [{ name: 'add', parameters: { type: 'object' } }];
  await model.call({ messages, tools, toolChoice: 'required' });
  messages.push(Msg.user('later'));
  expect(model.requests).toEqual([{ messages: [messages[0]], tools, toolChoice: 'required' }]);
});
