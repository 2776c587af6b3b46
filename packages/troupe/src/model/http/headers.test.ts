import { expect, test } from 'vitest';
import { checkBaseUrl, checkKey, joinUrl, mergeHeaders } from './headers.ts';

test('given headers win, in any case', () => {
  expect(mergeHeaders({ authorization: 'a', 'x-own': '1' }, { Authorization: 'b', 'X-Team': 't' })).toEqual({
    authorization: 'b',
    'x-own': '1',
    'x-team': 't',
  });
  expect(mergeHeaders({ A: '1' }, undefined)).toEqual({ a: '1' });
});

test('a key is shown to nobody, not even if it is none', () => {
  expect(checkKey('Acme', 'sk-1')).toBe('sk-1');
  expect(() => checkKey('Acme', '')).toThrow('The key for Acme is empty.');
  for (const key of ['sk-secret\n', 'sk secret', 'sk-sécret', 'sk-\u0000secret']) {
    expect(() => checkKey('Acme', key)).toThrow(
      /^The key for Acme contains white space or other invalid characters\.$/,
    );
  }
});

test('an address is one, and holds no password', () => {
  expect(checkBaseUrl('Acme', 'https://acme.test/v1//')).toBe('https://acme.test/v1');
  expect(checkBaseUrl('Acme', 'https://acme.test/v1/?a=1/#part')).toBe('https://acme.test/v1?a=1/');
  for (const url of ['', 'acme', 'ftp://acme.test', 'javascript:alert(1)']) {
    expect(() => checkBaseUrl('Acme', url)).toThrow('The baseUrl of Acme must be a URL');
  }
  expect(() => checkBaseUrl('Acme', 'https://me:hunter2@acme.test')).toThrow(
    /^The baseUrl of Acme must not contain a user or a password\. Use the option headers\.$/,
  );
});

test('a path stands before the query, and a parameter replaces those of its name', () => {
  expect(joinUrl('https://acme.test/v1', '/chat')).toBe('https://acme.test/v1/chat');
  expect(joinUrl('https://acme.test/v1?a=b?c', '/chat')).toBe('https://acme.test/v1/chat?a=b?c');
  expect(joinUrl('https://acme.test', '/chat', { alt: 'sse' })).toBe('https://acme.test/chat?alt=sse');
  expect(joinUrl('https://acme.test?alt=json&a=1&alt', '/chat', { alt: 's e' })).toBe(
    'https://acme.test/chat?a=1&alt=s%20e',
  );
});
