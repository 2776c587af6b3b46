import { expect, test } from 'vitest';

import { Redactor } from './redactor.ts';

const plain = new Redactor();
const R = '[redacted]';

/** Split, so that no scanner takes them for real ones. */
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

test('what was redacted once is left alone the next time', () => {
  const texts = [...Object.values(keys), 'Bearer abc123def456', 'key=0123456789abcdef0123', 'a://b:c@d'];
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

test('what else to take out can be decided, and the rest is taken out as well', () => {
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

test('reads a megabyte of anything in no time to speak of', () => {
  const nasty = [
    'sk-',
    '://a',
    'Bearer ',
    'eyJaaaaaaa.',
    'key: ',
    '-----BEGIN PRIVATE KEY-----',
    'a',
    '0',
    '-',
  ];
  const started = performance.now();
  for (const piece of nasty) {
    const text = piece.repeat(Math.ceil(1_000_000 / piece.length));
    expect(plain.text(text).length).toBeGreaterThan(0);
  }
  expect(performance.now() - started).toBeLessThan(5_000);
});
