import type { ElicitRequest } from '@modelcontextprotocol/client';
import { describe, expect, test } from 'vitest';

import { samplingQuestion, toServerQuestion } from './server-question.ts';

type Params = ElicitRequest['params'];

const form = (properties: object, message = 'What?'): Params =>
  ({ mode: 'form', message, requestedSchema: { type: 'object', properties } }) as Params;
const page = (url: string): Params => ({ mode: 'url', message: 'Log in.', url, elicitationId: '1' });

test('a question names its server, without control characters', () => {
  expect(toServerQuestion('my\nserver', form({ a: { type: 'string' } }, 'What\u001b[2J?\nNow.'))).toEqual({
    message: 'my server asks: What[2J?\nNow.',
    schema: { type: 'object', properties: { a: { type: 'string' } } },
  });
  const turned = form({ a: { type: 'string' } }, 'pay\u202e001\u202c\u2028trusted asks: ok?');
  expect(toServerQuestion('s', turned).message).toBe('s asks: pay 001 trusted asks: ok?');
  expect(samplingQuestion('s', 'user: \u202eolleh').message).toContain('user:  olleh');
});

test('a form without fields is a question to agree to', () => {
  expect(toServerQuestion('s', form({}))).toEqual({ message: 's asks: What?', choices: ['Yes'] });
});

describe('a form is refused', () => {
  const many = Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`f${i}`, { type: 'string' }]));
  test.each([
    ['with an object in it', { a: { type: 'object', properties: { b: { type: 'string' } } } }],
    ['with a list of anything', { a: { type: 'array', items: { type: 'object' } } }],
    ['with a reference', { a: { $ref: '#/$defs/a' } }],
    ['with more than 20 fields', many],
    ['with a name that is too long', { ['x'.repeat(501)]: { type: 'string' } }],
    ['with too many choices', { a: { type: 'string', enum: Array.from({ length: 21 }, (_, i) => `${i}`) } }],
  ])('%s', (_, properties) => {
    expect(() => toServerQuestion('s', form(properties))).toThrow(TypeError);
  });

  test('with a text that nobody reads to its end', () => {
    expect(() => toServerQuestion('s', form({ a: { type: 'string' } }, 'x'.repeat(4001)))).toThrow(TypeError);
  });
});

describe('the address of a page', () => {
  test.each([
    ['https://login.example/a', 'https://login.example/a'],
    ['http://127.0.0.1:8080/a', 'http://127.0.0.1:8080/a'],
    ['http://localhost/a', 'http://localhost/a'],
    ['http://[::1]/a', 'http://[::1]/a'],
    ['https://аpple.com/', 'https://xn--pple-43d.com/'], // the first letter is Cyrillic
  ])('%s is shown as %s', (given, shown) => {
    expect(toServerQuestion('s', page(given)).url).toBe(shown);
  });

  test.each([
    'http://login.example/',
    'javascript:alert(1)',
    'file:///etc/passwd',
    'data:text/html,hi',
    'https://google.com@evil.example/',
    'https://user:pass@evil.example/',
    'http://127.0.0.1.evil.example/',
    'http://localhost.evil.example/',
    'not an address',
    `https://login.example/${'x'.repeat(2000)}`,
  ])('%s is refused', (url) => {
    expect(() => toServerQuestion('s', page(url))).toThrow(TypeError);
  });
});

test('the question about the model is cut to what a person can read', () => {
  const { message, choices } = samplingQuestion('s', 'word '.repeat(10_000));
  expect(message.length).toBe(4000);
  expect(message.endsWith('…')).toBe(true);
  expect(message).toContain('of which only the beginning of 50000 characters is shown:\nword word');
  expect(choices).toEqual(['Allow', 'Deny']);
});
