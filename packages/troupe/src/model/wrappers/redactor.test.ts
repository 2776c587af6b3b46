import { countWork } from '../../../test/counted-work.ts';
import { expect, test } from 'vitest';

import { Redactor } from './redactor.ts';

const plain = new Redactor();
const R = '[redacted]';

/** Keys, written in two parts: a scanner for secrets would report whole keys. */
const keys: Record<string, string> = {
  OpenAI: ['sk', 'proj', 'Ab3_dEfGh1JkLmN0pQrStUvWx'].join('-'),
  'OpenAI, old': ['sk', 'abcdefghijklmnopqrstuvwx'].join('-'),
  Anthropic: ['sk', 'ant', 'api03', 'x9Yz_12-34'].join('-'),
  'a short canary': ['sk', 'canary', '123'].join('-'),
  Stripe: ['sk', 'live', '4eC39HqLyjWDarjtT1zdp7dc'].join('_'),
  Google: `AI${'za'}SyA-1234567890abcdefghijklmnopqrstu`,
  Slack: ['xoxb', '123456789012', 'abcdefABCDEF'].join('-'),
  'Slack, app': ['xapp', '1', 'A1', 'b'].join('-').replace('xapp', 'xoxa'),
  GitHub: ['ghp', 'abcdefghijklmnopqrstuvwxyz0123456789'].join('_'),
  'GitHub, fine': ['github_pat', '11ABCDEFG0abcdefghijkl'].join('_'),
  AWS: `AK${'IA'}IOSFODNN7EXAMPLE`,
  'Hugging Face': ['hf', 'abcdefghijklmnopqrstuvwxyz'].join('_'),
  Groq: ['gsk', 'abcdefghijklmnopqrstuvwxyz'].join('_'),
  xAI: ['xai', 'abcdefghijklmnopqrstuvwxyz'].join('-'),
  JWT: `ey${'J'}hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9`,
  PEM: `-----BEGIN RSA ${'PRIVATE'} KEY-----\nMIIEow+/=\nabc\n-----END RSA ${'PRIVATE'} KEY-----`,
};

test.each(Object.entries(keys))('takes out a key of %s, wherever it stands', (_name, key) => {
  for (const [before, after] of [
    ['', ''],
    ['use ', ' please'],
    ['"', '"'],
    ['key=', '&x=1'],
    ['(', ').'],
    ['漢', '漢'],
    ['a\n', '\nb'],
  ] as const) {
    expect(plain.text(before + key + after)).toBe(before + R + after);
  }
  expect(plain.text(`${key} and ${key}`)).toBe(`${R} and ${R}`);
});

test.each([
  ['Authorization: Bearer abc123def456', `Authorization: Bearer ${R}`],
  ['bearer  0aBc.dEf~gh+ij/kl==', `bearer  ${R}`],
  ['api_key=0123456789abcdef0123', `api_key=${R}`],
  ['"apiKey": "DEADBEEFDEADBEEFDEAD"', `"apiKey": "${R}"`],
  [String.raw`{\"token\":\"0123456789abcdef\"}`, String.raw`{\"token\":\"${R}\"}`],
  ['token 0123456789abcdef0123', `token ${R}`],
  ['My key is: 0123456789abcdef.', `My key is: ${R}.`],
  ['authorization: basic dXNlcjpwYXNz', `authorization: basic ${R}`],
  ['https://a.b/#access_token=abc&state=1', `https://a.b/#access_token=${R}&state=1`],
  ['postgres://bob:hunter2@db.local/x', `postgres://bob:${R}@db.local/x`],
])('keeps what stands around a secret: %s', (text, expected) => {
  expect(plain.text(text)).toBe(expected);
});

test.each([
  'sk-learn-pipeline',
  'the task-force-of-the-year-2026-and-more',
  'disk-0123456789abcdef',
  'the bearer of good news, bearer certificates',
  'commit 0123456789abcdef0123456789abcdef01234567',
  'a token is a piece of text',
  'keyboard: cafe',
  'xoxo, hugs and kisses',
  'AKIA is a prefix',
  'eyJ.a.b',
  'https://example.com:8080/a@b',
  'AIzawa',
  '{"token":1234567890123456,"key" : 1234567890123456}',
])('leaves alone: %s', (text) => {
  expect(plain.text(text)).toBe(text);
});

test('redacting twice changes nothing', () => {
  const texts = [
    ...Object.values(keys),
    'Bearer abc123def456',
    'key=0123456789abcdef0123',
    'a://b:c@d',
    '{"password":"x"}',
    String.raw`"{\"password\":\"x\"}"`,
    '?token=x',
    'Authorization: Basic dXNlcjpwYXNz',
  ];
  for (const text of texts) {
    const once = plain.text(text);
    expect(once).toContain(R);
    expect(plain.text(once)).toBe(once);
  }
});

test('takes out given secrets, the longest first, also in their JSON form', () => {
  const redactor = new Redactor({ secrets: ['', 'hunter', 'hunter2', 'say "hi"\n'] });
  expect(redactor.text('hunter2, hunter')).toBe(`${R}, ${R}`);
  expect(redactor.text(JSON.stringify({ a: 'say "hi"\n' }))).toBe(`{"a":"${R}"}`);
  expect(redactor.text('say "hi"\n!')).toBe(`${R}!`);
  expect(redactor.text('nothing')).toBe('nothing');
});

const odd = 'p"a/s\\s\\\\w ö+😀\n&%';
const inJson = (text: string): string => JSON.stringify(text).slice(1, -1);
const inAscii = (text: string): string =>
  inJson(text).replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

test.each([
  ['as it is', odd],
  ['in JSON', inJson(odd)],
  ['in JSON in JSON', inJson(inJson(odd))],
  ['in JSON in JSON in JSON', inJson(inJson(inJson(odd)))],
  ['in JSON of ASCII', inAscii(odd)],
  ['in JSON of ASCII in JSON', inJson(inAscii(odd))],
  ['in JSON with capital digits', inAscii(odd).replace('00f6', '00F6').replace('ud83d', 'uD83D')],
  ['in JSON with escaped slashes', inJson(odd).replaceAll('/', '\\/')],
  ['in a URL', encodeURIComponent(odd)],
  ['in a URL with small digits', encodeURIComponent(odd).replaceAll(/%../g, (code) => code.toLowerCase())],
  ['in a form', new URLSearchParams({ a: odd }).toString().slice(2)],
  ['in a URL in JSON', inJson(encodeURI(odd))],
])('takes out a given secret %s', (_form, written) => {
  const redactor = new Redactor({ secrets: [odd, 'another'] });
  expect(redactor.text(`<${written}|${written}>`)).toBe(`<${R}|${R}>`);
  expect(redactor.text(written.slice(1))).toBe(written.slice(1));
});

test('a secret is taken for nothing but itself', () => {
  const redactor = new Redactor({ secrets: ['a.b', 'x*', '(y)', 'red', '$&', '\ud800'] });
  const others = 'acb, xx, y, RED, $ and &, \ud83d\ude00';
  expect(redactor.text(others)).toBe(others);
  expect(redactor.text('a.b x* (y) red $& \ud800')).toBe(Array(6).fill(R).join(' '));
  expect(redactor.text(`red ${keys['AWS']}`)).toBe(`${R} ${R}`);
});

const names = [
  'password',
  'db_password',
  'PASSWD',
  'passphrase',
  'secret',
  'clientSecret',
  'token',
  'access_token',
  'refreshToken',
  'authorization',
  'Proxy-Authorization',
  'api_key',
  'apiKey',
  'x-api-key',
  'APIKEY',
  'aws_secret_access_key',
  'privateKey',
  'Cookie',
  'set-cookie',
];

test.each(names)('the text of a property %s is a secret, in any form', (name) => {
  const secrets = ['hunter2', 'correct horse', 'with "quotes" and \\', '\\', 'Ünï\ncode'];
  for (const secret of secrets) {
    const object = { before: 'kept', [name]: secret, list: { [name]: [secret] }, after: 'kept' };
    const safe = { before: 'kept', [name]: R, list: { [name]: [R] }, after: 'kept' };
    expect(plain.json(object)).toEqual(safe);
    for (const indent of [0, 2]) {
      const text = JSON.stringify(object, null, indent);
      const safeText = JSON.stringify(safe, null, indent);
      expect(plain.text(text)).toBe(safeText);
      expect(plain.text(`The log says ${JSON.stringify(text)}.`)).toBe(
        `The log says ${JSON.stringify(safeText)}.`,
      );
      const cut = text.slice(0, text.indexOf(inJson(secret)) + 1); // an answer that was cut off
      expect(plain.text(cut).endsWith(`"${R}`)).toBe(true);
    }
    expect(plain.text(`https://a.b/c?x=1&${name}=${encodeURIComponent(secret)}&y=2`)).toBe(
      `https://a.b/c?x=1&${name}=${R}&y=2`,
    );
  }
});

test('a list of texts has one name for all of them', () => {
  const object = { 'set-cookie': ['a=1', 'b=" ]'], path: ['x', 'y'] };
  const safe = { 'set-cookie': [R], path: ['x', 'y'] };
  expect(plain.json(object)).toEqual({ ...safe, 'set-cookie': [R, R] });
  for (const indent of [0, 2]) {
    const [text, safeText] = [object, safe].map((value) => JSON.stringify(value, null, indent));
    expect(plain.text(text!)).toBe(safeText);
    expect(plain.text(JSON.stringify(text))).toBe(JSON.stringify(safeText));
  }
});

test('a property of another name, and a value that is no text, stay as they are', () => {
  const object = {
    key: 'a',
    name: 'password',
    tokens: 'many',
    tokenizer: 'bpe',
    secretary: 'Ann',
    passwordHint: 'a dog',
    token: 5,
    password: '',
    secret: { type: 'string', description: 'What nobody knows.' },
    api_key: null,
    authorization: [true, ''],
  };
  expect(plain.json(object)).toEqual(object);
  expect(plain.text(JSON.stringify(object))).toBe(JSON.stringify(object));
  expect(plain.text(JSON.stringify(JSON.stringify(object)))).toBe(JSON.stringify(JSON.stringify(object)));
});

test('further patterns can be given in addition to the built-in ones', () => {
  const redactor = new Redactor({
    redact: (text) => text.replaceAll(/\d{4} \d{4}/g, 'CARD'),
    secrets: ['pin'],
  });
  expect(redactor.text(`1234 5678 pin ${keys['AWS']}`)).toBe(`CARD ${R} ${R}`);
});

test('goes through a whole JSON value, keys included', () => {
  const redactor = new Redactor({ secrets: ['hunter2'] });
  expect(
    redactor.json({
      a: ['hunter2', { b: `x ${keys['GitHub']}` }, 5, null, true],
      hunter2: 1,
      api_key: '0123456789abcdef',
      id: '0123456789abcdef',
    }),
  ).toEqual({
    a: [R, { b: `x ${R}` }, 5, null, true],
    [R]: 1,
    api_key: R,
    id: '0123456789abcdef',
  });
});

test('reads a long text of anything in no time to speak of', async () => {
  const nasty = [
    'sk-',
    '://a',
    'Bearer ',
    'eyJaaaaaaa.',
    'eyJ-',
    `${'eyJ-'.repeat(99)}.${'eyJ-'.repeat(1_999)}`,
    'key: ',
    'token":  ',
    'token":["",',
    String.raw`token\":[\"a\",`,
    String.raw`token\":\"`,
    '?token',
    'authorization: basic ',
    '\\',
    '%5c',
    '-----BEGIN PRIVATE KEY-----',
    'a',
    '0',
    '-',
  ];
  const redactor = new Redactor({ secrets: [String.raw`a\\\\\b`, String.raw`\"\"\"`] });
  for (const piece of nasty) {
    const text = piece.repeat(Math.ceil(200_000 / piece.length));
    const { steps } = await countWork(() => expect(redactor.text(text).length).toBeGreaterThan(0));
    expect(steps, piece.slice(0, 30)).toBeLessThan(10 * text.length);
  }
});
