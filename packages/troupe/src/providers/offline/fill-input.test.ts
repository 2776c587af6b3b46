import { expect, test } from 'vitest';

import type { JsonObject } from '../../util/json.ts';
import { readFacts } from './facts.ts';
import { fillInput } from './fill-input.ts';

function fill(
  text: string,
  properties: JsonObject,
  required: readonly string[] = Object.keys(properties),
  name = 'do_it',
) {
  return fillInput(
    { name, description: '', parameters: { type: 'object', properties, required } },
    readFacts(text),
  );
}

const string = { type: 'string' };
const number = { type: 'number' };

test('a tool without parameters needs nothing', () => {
  expect(fill('go', {})).toEqual({ input: {}, missing: [] });
  expect(fillInput({ name: 'odd', parameters: {} }, readFacts('go'))).toEqual({ input: {}, missing: [] });
});

test('numbers are given out in order, and none twice', () => {
  expect(fill('between 3 and 4', { a: number, b: number, c: number })).toEqual({
    input: { a: 3, b: 4 },
    missing: ['c'],
  });
});

test('an integer takes the first whole number', () => {
  expect(fill('3.5 or 4', { n: { type: 'integer' }, x: number })).toEqual({
    input: { n: 4, x: 3.5 },
    missing: [],
  });
});

test('strings get the quoted parts first, then the rest of the sentence', () => {
  expect(
    fill("translate 'good day' to French", { text: string, language: string }, undefined, 'translate'),
  ).toEqual({
    input: { text: 'good day', language: 'French' },
    missing: [],
  });
});

test('the rest of the sentence is given out once', () => {
  expect(fill('search for cats', { query: string, place: string }, undefined, 'search')).toEqual({
    input: { query: 'cats' },
    missing: ['place'],
  });
});

test('parameters get the fact that their name asks for', () => {
  const properties = {
    expression: string,
    file_path: string,
    folderName: string,
    url: string,
    timezone: string,
  };
  expect(fill('2+2 a.txt in docs/x https://x.org Asia/Tokyo', properties).input).toEqual({
    expression: '2 + 2',
    file_path: 'a.txt',
    folderName: 'docs/x',
    url: 'https://x.org',
    timezone: 'Asia/Tokyo',
  });
});

test('an enum is matched by word, an operator by its meaning', () => {
  const unit = { enum: ['celsius', 'fahrenheit'] };
  const operation = { enum: ['add', 'subtract', 'multiply'] };
  expect(fill('in Fahrenheit', { unit }).input).toEqual({ unit: 'fahrenheit' });
  expect(fill('in Kelvin', { unit }).missing).toEqual(['unit']);
  expect(fill('3 * 4', { operation, a: number, b: number }).input).toEqual({
    operation: 'multiply',
    a: 3,
    b: 4,
  });
  expect(fill('x', { kind: { const: 'only' } }).input).toEqual({ kind: 'only' });
});

test('a boolean is whether it is mentioned', () => {
  const properties = { recursive: { type: 'boolean' }, force: { type: 'boolean' } };
  expect(fill('a recursive search', properties).input).toEqual({ recursive: true, force: false });
});

test('lists take all numbers, all quoted parts, or the rest of the sentence at its commas', () => {
  const list = (type: string): JsonObject => ({ type: 'array', items: { type } });
  expect(fill('sum of 1 and 2 and 3', { numbers: list('number') }).input).toEqual({ numbers: [1, 2, 3] });
  expect(fill('"a" "b"', { names: list('string') }).input).toEqual({ names: ['a', 'b'] });
  expect(fill('invite Ann, Bob and Cy', { names: list('string') }, undefined, 'invite').input).toEqual({
    names: ['Ann', 'Bob', 'Cy'],
  });
  expect(fill('none', { numbers: list('number') }).missing).toEqual(['numbers']);
});

test('a default stands in for what is required and not said', () => {
  expect(fill('', { size: { type: 'number', default: 7 } }).input).toEqual({ size: 7 });
});

test('optional parameters stay empty unless the message clearly has them', () => {
  const properties = { limit: number, path: string, note: string, unit: { enum: ['km', 'mi'] } };
  expect(fill('show 5 things', properties, []).input).toEqual({});
  expect(fill('limit 5, in km, a.txt "hi"', properties, []).input).toEqual({
    limit: 5,
    path: 'a.txt',
    note: 'hi',
    unit: 'km',
  });
});

test('values beyond simple rules are missing', () => {
  expect(fill('x', { options: { type: 'object' }, ref: { $ref: '#/x' } }).missing).toEqual([
    'options',
    'ref',
  ]);
});

test('odd schemas do no harm', () => {
  const properties = {
    a: null,
    b: [],
    c: { type: ['null', 'number'] },
    d: { anyOf: [{ type: 'null' }, { type: 'string' }] },
  };
  expect(fill('"q" 3', properties, ['c', 'd']).input).toEqual({ c: 3, d: 'q' });
  expect(fill('"q"', JSON.parse('{"__proto__":{"type":"string"}}') as JsonObject).input).toEqual(
    JSON.parse('{"__proto__":"q"}'),
  );
});
