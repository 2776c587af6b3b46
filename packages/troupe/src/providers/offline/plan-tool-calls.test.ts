import { expect, test } from 'vitest';

import type { ToolSchema } from '../../model/chat-model-base.ts';
import type { JsonObject } from '../../util/json.ts';
import { readFacts } from './facts.ts';
import { planToolCalls } from './plan-tool-calls.ts';

function tool(
  name: string,
  description: string,
  properties: JsonObject = {},
  required = Object.keys(properties),
): ToolSchema {
  return { name, description, parameters: { type: 'object', properties, required } };
}

const string = { type: 'string' };
const number = { type: 'number' };
const calculate = tool('calculate', 'Works out an arithmetic expression.', { expression: string });
const time = tool('current_time', 'The time and date now.', { timezone: string }, []);
const listFiles = tool('list_files', 'Lists the files of a folder.', { folder: string }, []);
const readFile = tool('read_file', 'Reads a text file.', { path: string });
const weather = tool('get_weather', 'The weather of a city.', { city: string });
const all = [weather, readFile, listFiles, time, calculate];

function plan(text: string, tools: readonly ToolSchema[] = all): unknown {
  return planToolCalls(tools, readFacts(text)).map(({ name, input, missing }) => ({
    name,
    input,
    ...(missing.length > 0 && { missing }),
  }));
}

test.each([
  ['What is 12 * 7?', [{ name: 'calculate', input: { expression: '12 * 7' } }]],
  ['What time is it?', [{ name: 'current_time', input: {} }]],
  ["What's today's date in Asia/Tokyo?", [{ name: 'current_time', input: { timezone: 'Asia/Tokyo' } }]],
  ['List files', [{ name: 'list_files', input: {} }]],
  ['Which files are in src?', [{ name: 'list_files', input: { folder: 'src' } }]],
  ['Read notes.txt', [{ name: 'read_file', input: { path: 'notes.txt' } }]],
  ['read the README', [{ name: 'read_file', input: { path: 'README' } }]],
  ['What is the weather in Paris?', [{ name: 'get_weather', input: { city: 'Paris' } }]],
  ['weather', [{ name: 'get_weather', input: {}, missing: ['city'] }]],
  ['Tell me a story', []],
  ['Tell me of a city', []],
  ['', []],
])('%j', (text, calls) => {
  expect(plan(text)).toEqual(calls);
});

test('several wishes are several tool calls, in the order of the rules', () => {
  expect(plan('What time is it, and what is 2 + 3?')).toEqual([
    { name: 'calculate', input: { expression: '2 + 3' } },
    { name: 'current_time', input: {} },
  ]);
});

test('operands go to the tool that does their operation', () => {
  const add = tool('add', 'Adds two numbers.', { a: number, b: number });
  const multiply = tool('multiply', 'Multiplies two numbers.', { a: number, b: number });
  expect(plan('3 * 4', [add, multiply])).toEqual([{ name: 'multiply', input: { a: 3, b: 4 } }]);
  expect(plan('3 / 4', [add, multiply])).toEqual([]);
  expect(plan('3 + 4 + 5', [add])).toEqual([]);
});

test('a calculator with an operator parameter gets operands and operator', () => {
  const calc = tool('calculator', 'Simple maths.', {
    a: number,
    op: { type: 'string', enum: ['+', '-', '*', '/'] },
    b: number,
  });
  expect(plan('9 / 3', [calc])).toEqual([{ name: 'calculator', input: { a: 9, op: '/', b: 3 } }]);
});

test('a list of numbers is summed only if a sum was asked for', () => {
  const sum = tool('sum', 'The sum of numbers.', { numbers: { type: 'array', items: number } });
  expect(plan('1 + 2 + 3', [sum])).toEqual([{ name: 'sum', input: { numbers: [1, 2, 3] } }]);
  expect(plan('1 * 2 * 3', [sum])).toEqual([]);
  expect(plan('1 + 2 * 3', [sum])).toEqual([]);
});

test('a tool about something else is not taken for a rule', () => {
  expect(plan('What is 2 + 3?', [weather, readFile])).toEqual([]);
  expect(plan('Read notes.txt', [listFiles, weather])).toEqual([]);
  expect(plan('What time is it?', [calculate])).toEqual([]);
});

test('a message that names a file to change does not read it', () => {
  expect(plan('delete notes.txt', [readFile])).toEqual([]);
});
