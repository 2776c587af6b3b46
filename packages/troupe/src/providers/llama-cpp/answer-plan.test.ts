import { expect, test } from 'vitest';

import { admits, readGrammar } from '../../../test/local-llm/gbnf-language.ts';
import type { GenerationOptions, ModelRequest, ToolChoice } from '../../model/chat-model-base.ts';
import { planAnswer } from './answer-plan.ts';
import { callText, sayText } from './envelope.ts';

const weather = {
  name: 'get_weather',
  description: 'The weather of a city.',
  parameters: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
  },
};
const now = { name: 'now', parameters: { properties: {} } };
const structured = {
  schema: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] },
};

const candidates = {
  weather: callText('get_weather', { city: 'Paris "1"' }),
  now: callText('now', {}),
  say: sayText('Hello!'),
  json: '{"say": {"ok": true}}',
  bareJson: '{"ok": true}',
  emptySay: '{"say": ""}',
  wrongInput: callText('get_weather', { town: 'Paris' }),
  noInput: callText('get_weather', {}),
  unknown: callText('other', {}),
  text: 'Hello!',
  both: `${sayText('Hello!')}\n${callText('now', {})}`,
  twoCalls: `${callText('now', {})}\n${callText('get_weather', { city: 'Rome' })}`,
  nineCalls: Array.from({ length: 9 }, () => callText('now', {})).join('\n'),
};

/** Candidates that the grammar accepts. */
function admitted(request: Omit<ModelRequest, 'messages'>, generation?: GenerationOptions): string[] {
  const { grammar } = planAnswer({ messages: [], ...request }, generation);
  if (grammar === undefined) return ['anything'];
  const read = readGrammar(grammar);
  return Object.entries(candidates)
    .filter(([, text]) => admits(read, text))
    .map(([name]) => name);
}

const tools = [weather, now];

test.each<[ToolChoice | undefined, string[]]>([
  [undefined, ['weather', 'now', 'say']],
  ['auto', ['weather', 'now', 'say']],
  ['required', ['weather', 'now']],
  ['none', ['anything']],
  [{ name: 'now' }, ['now']],
  [{ allowed: ['now'] }, ['now', 'say']],
  [{ allowed: ['get_weather'], mode: 'required' }, ['weather']],
])('with the choice %j the model can write %j', (toolChoice, expected) => {
  expect(admitted({ tools, ...(toolChoice !== undefined && { toolChoice }) })).toEqual(expected);
});

test('arguments are an object, even if the schema does not say so', () => {
  const { grammar = '' } = planAnswer({ messages: [], tools: [{ name: 'any', parameters: {} }] });
  const read = readGrammar(grammar);
  const inputs = ['{}', '{"a": [1]}', '1', '"{}"', '[]'];
  expect(inputs.filter((input) => admits(read, `{"tool": "any", "arguments": ${input}}`))).toEqual([
    '{}',
    '{"a": [1]}',
  ]);
});

test('several calls at once are made only if that is asked for, and not without end', () => {
  const several = { parallelToolCalls: true };
  expect(admitted({ tools }, several)).toEqual(['weather', 'now', 'say', 'twoCalls']);
  expect(admitted({ tools, toolChoice: 'required' }, several)).toEqual(['weather', 'now', 'twoCalls']);
  expect(admitted({ tools, toolChoice: { name: 'now' } }, several)).toEqual(['now']);
  const { instructions } = planAnswer({ messages: [], tools }, several);
  expect(instructions.split('\n').at(-2)).toBe('To use several at once, write one such line for each.');
});

test('an answer of a schema is just that, or takes the place of the text if there are tools', () => {
  expect(admitted({})).toEqual(['anything']);
  expect(admitted({ tools: [] })).toEqual(['anything']);
  expect(admitted({ structured })).toEqual(['bareJson']);
  expect(admitted({ structured, tools, toolChoice: 'none' })).toEqual(['bareJson']);
  expect(admitted({ structured, tools })).toEqual(['weather', 'now', 'json']);
  expect(admitted({ structured, tools, toolChoice: 'required' })).toEqual(['weather', 'now']);
});

test('plain text needs no plan', () => {
  expect(planAnswer({ messages: [] })).toEqual({ instructions: '', isEnveloped: false, isStructured: false });
});

test('the model is told what it has to know', () => {
  const { grammar, ...rest } = planAnswer({ messages: [], tools });
  expect(grammar).toContain('root ::= ');
  expect(rest).toEqual({
    instructions: [
      'You can use these tools:',
      '- get_weather: The weather of a city.',
      '  Arguments: {"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}',
      '- now',
      '  Arguments: {"properties":{}}',
      'To use one, answer with {"tool": "its name", "arguments": {…}} and nothing else. You will be told its result.',
      'To speak to the user, answer with {"say": …} and nothing else, where … is "your text".',
    ].join('\n'),
    isEnveloped: true,
    isStructured: false,
  });
  const json = planAnswer({ messages: [], structured });
  expect(json).toMatchObject({ isEnveloped: false, isStructured: true });
  expect(json.instructions).toBe(
    `Answer with JSON of this schema and nothing else: ${JSON.stringify(structured.schema)}`,
  );
  expect(planAnswer({ messages: [], structured, tools }).instructions).toContain(
    `where … is JSON of this schema: ${JSON.stringify(structured.schema)}.`,
  );
});

test('the prompt does not depend on the tool choice', () => {
  const choices: ToolChoice[] = ['auto', 'required', { name: 'now' }, { allowed: ['now'] }];
  const told = choices.map((toolChoice) => planAnswer({ messages: [], tools, toolChoice }).instructions);
  expect(new Set(told).size).toBe(1);
  const grammars = choices.map((toolChoice) => planAnswer({ messages: [], tools, toolChoice }).grammar);
  expect(new Set(grammars).size).toBe(4);
});
