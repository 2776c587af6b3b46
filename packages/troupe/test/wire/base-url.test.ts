// A base URL with a path and a query, as gateways want it, over real connections.
import { inspect } from 'node:util';

import { describe, expect, test } from 'vitest';

import { Msg } from '../../src/message/msg.ts';
import { AnthropicTokenCounter } from '../../src/providers/anthropic/index.ts';
import { GeminiTokenCounter } from '../../src/providers/gemini/index.ts';
import { OpenAIChatModel } from '../../src/providers/openai/index.ts';
import { LOOPBACK_WIRES, serve } from './loopback-wires.ts';

const ASK = { messages: [Msg.user('Hi.')] };

const PATHS: Readonly<Record<string, string>> = {
  'openai-chat': '/chat/completions',
  'openai-responses': '/responses',
  anthropic: '/v1/messages',
  gemini: '/v1beta/models/gemini-2.5-flash:streamGenerateContent',
  ollama: '/api/chat',
};

describe.each(LOOPBACK_WIRES)('$name', ({ name, make, answers, contentType }) => {
  const own = name === 'gemini' ? '&alt=sse' : '';

  test.each([
    ['', '?api-version=1', `?api-version=1${own}`],
    ['/', '?api-version=1', `?api-version=1${own}`],
    ['/gateway/', '?api-version=1&team=a%20b/c?d', `?api-version=1&team=a%20b/c?d${own}`],
    ['/gateway', '#part', own.replace('&', '?')],
    ['/gateway', '?', own.replace('&', '?')],
  ])('asks below %s with the query %s', async (path, query, sent) => {
    const urls: (string | undefined)[] = [];
    await using there = await serve(({ url }, response) => {
      urls.push(url);
      response.writeHead(200, { 'content-type': contentType }).end(answers.get('plain'));
    });
    const model = make({ apiKey: 'k', baseUrl: `http://${there.host}${path}${query}` });
    expect((await model.call(ASK)).finishReason).toBe('stop');
    expect(urls).toEqual([`${path.replace(/\/$/, '')}${PATHS[name]}${sent}`]);
  });

  test('shows no secret of its query in an error', async () => {
    await using there = await serve(({ url }, response) => {
      response.writeHead(400).end(JSON.stringify({ error: { message: `Bad address: ${url}` } }));
    });
    const query = '?subscription-key=hunter2-4711&sig=a%2Bb%2Bc%2Bd%2Be&api-version=2024-10-21';
    const model = make({ apiKey: 'k', baseUrl: `http://${there.host}${query}` });
    const error: unknown = await model.call(ASK).catch((thrown: unknown) => thrown);
    const shown = inspect(error, { depth: 9, showHidden: true });
    expect(shown).toContain('api-version=2024-10-21');
    expect(shown).not.toContain('hunter2-4711');
    expect(shown).not.toContain('a%2Bb%2Bc%2Bd%2Be');
  });
});

test.each([
  ['/openai/v1?api-version=preview', {}, '/openai/v1/chat/completions?api-version=preview'],
  ['?api-version=preview', {}, '/openai/v1/chat/completions?api-version=preview'],
  ['?api-version=2024-10-21', {}, '/openai/deployments/my%204o/chat/completions?api-version=2024-10-21'],
  [
    '/openai/deployments/other?api-version=2024-10-21',
    {},
    '/openai/deployments/other/chat/completions?api-version=2024-10-21',
  ],
  [
    '?api-version=1&x=2',
    { apiVersion: '2024-10-21' },
    '/openai/deployments/my%204o/chat/completions?x=2&api-version=2024-10-21',
  ],
])('Azure asks for %s with %o at %s', async (base, options, expected) => {
  const urls: (string | undefined)[] = [];
  await using there = await serve(({ url }, response) => {
    urls.push(url);
    response
      .writeHead(200, { 'content-type': 'text/event-stream' })
      .end(LOOPBACK_WIRES[0]!.answers.get('plain'));
  });
  const model = new OpenAIChatModel({
    vendor: 'azure',
    modelName: 'my 4o',
    apiKey: 'k',
    baseUrl: `http://${there.host}${base}`,
    ...options,
  });
  await model.call(ASK);
  expect(urls).toEqual([expected]);
});

test('token counters keep the query of their base URL', async () => {
  const urls: (string | undefined)[] = [];
  await using there = await serve(({ url }, response) => {
    urls.push(url);
    response.writeHead(200).end('{"input_tokens":3,"totalTokens":3}');
  });
  const baseUrl = `http://${there.host}/gateway?api-version=1`;
  const counters = [
    new AnthropicTokenCounter({ modelName: 'claude-sonnet-4-5', apiKey: 'k', baseUrl }),
    new GeminiTokenCounter({ modelName: 'gemini-2.5-flash', apiKey: 'k', baseUrl }),
  ];
  for (const counter of counters) expect(await counter.count(ASK.messages)).toBe(3);
  expect(urls).toEqual([
    '/gateway/v1/messages/count_tokens?api-version=1',
    '/gateway/v1beta/models/gemini-2.5-flash:countTokens?api-version=1',
  ]);
});

test('token counters show no secret of their query in an error', async () => {
  await using there = await serve(({ url }, response) => {
    response.writeHead(400).end(JSON.stringify({ error: { message: `Bad address: ${url}` } }));
  });
  const baseUrl = `http://${there.host}?subscription-key=hunter2-4711`;
  for (const counter of [
    new AnthropicTokenCounter({ modelName: 'claude-sonnet-4-5', apiKey: 'k', baseUrl }),
    new GeminiTokenCounter({ modelName: 'gemini-2.5-flash', apiKey: 'k', baseUrl }),
  ]) {
    const error: unknown = await counter.count(ASK.messages).catch((thrown: unknown) => thrown);
    const shown = inspect(error, { depth: 9, showHidden: true });
    expect(shown).toContain('Bad address');
    expect(shown).not.toContain('hunter2-4711');
  }
});
