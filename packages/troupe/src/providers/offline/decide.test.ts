import fc from 'fast-check';
import { expect, test } from 'vitest';

import type { ToolStatus } from '../../message/blocks.ts';
import { Msg } from '../../message/msg.ts';
import type { ModelRequest, ToolSchema } from '../../model/chat-model-base.ts';
import type { JsonObject } from '../../util/json.ts';
import { decide, type Decision } from './decide.ts';

function tool(name: string, description: string, properties: JsonObject = {}): ToolSchema {
  return { name, description, parameters: { type: 'object', properties, required: Object.keys(properties) } };
}

const string = { type: 'string' };
const calculate = tool('calculate', 'Works out an arithmetic expression.', { expression: string });
const weather = tool('get_weather', 'The weather of a city.', { city: string });
const tools = [calculate, weather];

/** A question with its tool calls so far. */
function asked(
  text: string,
  ...past: readonly [name: string, input: JsonObject, status: ToolStatus, output: string][]
): Msg[] {
  const exchanges = past.flatMap(([name, input, status, output], i) => [
    Msg.assistant([{ type: 'tool_use', id: `c${i}`, name, input }]),
    Msg.system([{ type: 'tool_result', id: `c${i}`, name, output, status }]),
  ]);
  return [Msg.user(text), ...exchanges];
}

function said(decision: Decision): string {
  if (decision.type !== 'say') throw new Error('It called a tool.');
  return decision.text;
}

function called(decision: Decision): readonly unknown[] {
  return decision.type === 'call' ? decision.calls : [];
}

test('calls the tool that the message asks for, and says why', () => {
  expect(decide({ messages: asked('What is 6 * 7?'), tools })).toEqual({
    type: 'call',
    calls: [{ name: 'calculate', input: { expression: '6 * 7' } }],
    why: 'The message has arithmetic in it.',
  });
});

test('answers with the result once it is there', () => {
  const messages = asked('What is 6 * 7?', ['calculate', { expression: '6 * 7' }, 'ok', '42']);
  expect(said(decide({ messages, tools }))).toContain('calculate says: 42');
});

test.each([
  ['error', 'calculate failed: no'],
  ['denied', 'calculate was not allowed: no'],
  ['unavailable', 'calculate is not available: no'],
  ['interrupted', 'calculate was interrupted before it had a result.'],
] as const)('says so when a call ended as %s', (status, words) => {
  const messages = asked('6 * 7', ['calculate', { expression: '6 * 7' }, status, 'no']);
  expect(said(decide({ messages, tools }))).toContain(words);
});

test('shows output of several lines as it is, blocks other than text by their type, and no more than fits', () => {
  const result = (output: string): string =>
    said(decide({ messages: asked('6 * 7', ['calculate', {}, 'ok', output]), tools }));
  expect(result('a\nb')).toContain('calculate says:\na\nb');
  expect(result('')).toContain('it returned nothing');
  expect(result('x'.repeat(10_000)).length).toBeLessThan(5_000);
});

test.each(['auto', 'required', { name: 'calculate' }] as const)(
  'never repeats a call that failed (%j)',
  (toolChoice) => {
    const messages = asked('6 * 7', ['calculate', { expression: '6 * 7' }, 'error', 'broken']);
    const decision = decide({ messages, tools: [calculate], toolChoice });
    expect(called(decision)).not.toContainEqual({ name: 'calculate', input: { expression: '6 * 7' } });
    if (toolChoice === 'auto') expect(said(decision)).toContain('broken');
  },
);

test('tries again when the user asks again', () => {
  const messages = [
    ...asked('6 * 7', ['calculate', { expression: '6 * 7' }, 'error', 'broken']),
    Msg.user('6 * 7'),
  ];
  expect(called(decide({ messages, tools }))).toHaveLength(1);
});

test('asks for what is missing', () => {
  expect(said(decide({ messages: asked('weather'), tools }))).toContain('To use get_weather I need: city.');
});

test('a message that steers takes the place of the question', () => {
  const messages = [
    ...asked('6 * 7', ['calculate', { expression: '6 * 7' }, 'ok', '42']),
    Msg.user('rather 1 + 1'),
  ];
  expect(called(decide({ messages, tools }))).toEqual([
    { name: 'calculate', input: { expression: '1 + 1' } },
  ]);
});

test('without permission to call tools it says which it would use', () => {
  expect(said(decide({ messages: asked('6 * 7'), tools, toolChoice: 'none' }))).toContain(
    'I would use calculate',
  );
});

test('a named tool is called whatever the message is about', () => {
  const finish = tool('generate_response', 'Gives the answer.', { response: string });
  const name = { name: 'generate_response' };
  expect(
    called(decide({ messages: asked('Say hello'), tools: [...tools, finish], toolChoice: name })),
  ).toEqual([{ name: 'generate_response', input: { response: 'Say hello' } }]);
  const messages = asked('6 * 7', ['calculate', { expression: '6 * 7' }, 'ok', '42']);
  expect(called(decide({ messages, tools: [...tools, finish], toolChoice: name }))).toEqual([
    { name: 'generate_response', input: { response: 'calculate says: 42' } },
  ]);
  expect(said(decide({ messages: asked('x'), tools, toolChoice: { name: 'no_such_tool' } }))).toContain(
    'offline',
  );
});

test('when a tool is required it calls the best one, or any that it can fill', () => {
  const required = (text: string, tools: readonly ToolSchema[]): readonly unknown[] =>
    called(decide({ messages: asked(text), tools, toolChoice: 'required' }));
  expect(required('weather in Rome', tools)).toEqual([{ name: 'get_weather', input: { city: 'Rome' } }]);
  expect(required('Tell me a story', [tool('odd', '', { x: { type: 'object' } }), weather])).toEqual([
    { name: 'get_weather', input: { city: 'story' } },
  ]);
  expect(required('Tell me a story', [])).toEqual([]);
});

test('greets, and lists its tools', () => {
  const text = said(decide({ messages: asked('Hello there!'), tools }));
  expect(text).toMatch(/^Hello! .*offline/);
  expect(text).toContain('- get_weather: The weather of a city.');
});

test('on anything else it says what it is, and how to get a real model', () => {
  for (const question of ['Tell me a story', 'Hi, tell me about the history of Rome', '']) {
    const text = said(decide({ messages: asked(question), tools }));
    expect(text).toMatch(/^I can't answer that\. .*offline stand-in/);
    expect(text).toContain('troupe/openai');
  }
  expect(said(decide({ messages: [] }))).toContain('I have no tools');
});

test('the first answer of a conversation says that it is offline, the next need not', () => {
  const first = asked('6 * 7', ['calculate', { expression: '6 * 7' }, 'ok', '42']);
  expect(said(decide({ messages: first, tools }))).toContain('offline');
  const second = [
    ...first,
    Msg.assistant('42'),
    ...asked('1 + 1', ['calculate', { expression: '1 + 1' }, 'ok', '2']),
  ];
  expect(said(decide({ messages: second, tools }))).toBe('calculate says: 2');
});

test('takes whatever it is given, and decides the same every time', () => {
  const json = fc.jsonValue({ maxDepth: 2 });
  const anyTool = fc.record({
    name: fc.string(),
    description: fc.string(),
    parameters: fc.dictionary(fc.string(), json, { maxKeys: 3 }),
  });
  const schema = fc.record({
    properties: fc.dictionary(fc.string(), json, { maxKeys: 3 }),
    required: json,
  });
  const anySchema = fc.tuple(anyTool, schema).map(([one, parameters]) => ({ ...one, parameters }));
  const choice = fc.constantFrom<NonNullable<ModelRequest['toolChoice']>>('auto', 'none', 'required', {
    name: 'x',
  });
  let runs = 0;
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary' }),
      fc.array(fc.oneof(anyTool, anySchema), { maxLength: 3 }),
      choice,
      (text, odd, toolChoice) => {
        const request = { messages: [Msg.user(text)], tools: [...tools, ...odd] as ToolSchema[], toolChoice };
        expect(decide(request)).toEqual(decide(request));
        runs++;
      },
    ),
  );
  expect(runs).toBeGreaterThanOrEqual(100);
});
