// Settings of one HTTP request: for a model call, for a model, and by functions that are asked each time.
import { describe, expect, test } from 'vitest';

import { Msg } from '../../src/message/msg.ts';
import type { GenerationOptions } from '../../src/model/chat-model-base.ts';
import { AnthropicChatModel, AnthropicTokenCounter } from '../../src/providers/anthropic/index.ts';
import { GeminiChatModel, GeminiTokenCounter } from '../../src/providers/gemini/index.ts';
import {
  OpenAIChatModel,
  OpenAIResponsesModel,
  type ChatVendorName,
} from '../../src/providers/openai/index.ts';
import { ReActAgent } from '../../src/react/react-agent.ts';
import type { JsonObject } from '../../src/util/json.ts';
import { LOOPBACK_WIRES } from './loopback-wires.ts';
import { fetchOf, readFixtures, toBytes, type SentRequest } from './replay.ts';

const ASK = { messages: [Msg.user('Hi.')] };
const OWN = 'sk-own-key-of-the-model';
const CALLED = 'sk-key-of-one-customer';

describe.each(LOOPBACK_WIRES)('$name', ({ make, answers }) => {
  const pieces = [answers.get('plain')!];

  test('a model call has its own key, headers, query and base URL, and the next one has not', async () => {
    const sent: SentRequest[] = [];
    const headers = { 'x-team': 'a', 'X-Own': '1' };
    const model = make({ apiKey: OWN, headers, query: { a: '1', b: '2' }, fetch: fetchOf({ pieces }, sent) });
    await model.call(ASK);
    await model.call({
      ...ASK,
      http: {
        apiKey: CALLED,
        baseUrl: 'https://other.test/v1?a=0',
        headers: { 'X-Team': 'b' },
        query: { b: 'x y' },
      },
    });
    await model.call(ASK);
    const [first, other, last] = sent;
    expect(last).toEqual(first);
    expect(other!.body).toBe(first!.body);
    expect(JSON.stringify(first!.headers)).toContain(OWN);
    expect(JSON.stringify(other!.headers)).not.toContain(OWN);
    const ownUrl = new URL(first!.url);
    const url = new URL(other!.url);
    expect(url.host).toBe('other.test');
    const params = Object.fromEntries(url.searchParams);
    expect(params).toEqual({ ...Object.fromEntries(ownUrl.searchParams), a: '1', b: 'x y' });
    const swapped = Object.fromEntries(
      Object.entries(first!.headers).map(([name, value]) => [name, value.replace(OWN, CALLED)]),
    );
    expect(other!.headers).toEqual({ ...swapped, 'x-team': 'b', 'x-own': '1' });
  });

  test('a function is asked for a fresh key and for headers before each request', async () => {
    const sent: SentRequest[] = [];
    let asked = 0;
    const model = make({
      apiKey: async ({ signal }) => `token-${++asked}-${signal.aborted}`,
      headers: () => ({ 'x-try': `${asked}` }),
      fetch: fetchOf({ pieces }, sent),
    });
    expect(asked).toBe(0);
    await model.call(ASK);
    await model.call(ASK);
    await model.call({ ...ASK, http: { apiKey: () => 'token-of-the-call' } });
    const keys = sent.map(({ headers }) => /token-[\w-]+/.exec(JSON.stringify(headers))?.[0]);
    expect(keys).toEqual(['token-1-false', 'token-2-false', 'token-of-the-call']);
    expect(sent.map(({ headers }) => headers['x-try'])).toEqual(['1', '2', '2']);
  });

  test('a key of one call is in no error', async () => {
    const body = toBytes(
      JSON.stringify({ error: { message: `No such key: ${CALLED} or tenant-token-77 or query-token-88` } }),
    );
    const secrets = { apiKey: () => CALLED, headers: { 'x-tenant': 'tenant-token-77' } };
    const inQuery = { query: { access_token: 'query-token-88' } };
    for (const status of [401, 200]) {
      const model = make({ apiKey: OWN, fetch: fetchOf({ pieces: [body], status }) });
      const error: unknown = await model
        .call({ ...ASK, http: { ...secrets, ...inQuery } })
        .catch((thrown: unknown) => thrown);
      const { message, body: said } = error as { message: string; body: string };
      expect(message).toContain('No such key: [redacted] or [redacted] or [redacted]');
      expect(`${message} ${said} ${JSON.stringify(error)}`).not.toMatch(/customer|tenant-token|query-token/);
    }
  });

  test('a key that is no key is refused, and not shown', async () => {
    const sent: SentRequest[] = [];
    const model = make({ apiKey: () => 'sk secret\n', fetch: fetchOf({ pieces }, sent) });
    const error: unknown = await model.call(ASK).catch((thrown: unknown) => thrown);
    expect(String(error)).toContain('contains white space or other invalid characters');
    expect(String(error)).not.toContain('secret');
    expect(sent).toEqual([]);
  });

  test('a function that fails fails the call, and one that hangs is left when the call is aborted', async () => {
    const sent: SentRequest[] = [];
    const failure = new Error('The vault is closed.');
    const failing = make({ apiKey: () => Promise.reject(failure), fetch: fetchOf({ pieces }, sent) });
    await expect(failing.call(ASK)).rejects.toBe(failure);
    const stop = new AbortController();
    const hanging = make({
      apiKey: () => {
        queueMicrotask(() => stop.abort(new Error('enough')));
        return new Promise<string>(() => {});
      },
      fetch: fetchOf({ pieces }, sent),
    });
    await expect(hanging.call(ASK, { signal: stop.signal })).rejects.toThrow('enough');
    expect(sent).toEqual([]);
  });
});

test('a hook gives a model call of an agent the key of one customer', async () => {
  const sent: SentRequest[] = [];
  const fetch = fetchOf({ pieces: [readFixtures('openai-chat').get('plain')!] }, sent);
  const model = new OpenAIChatModel({ modelName: 'm', apiKey: OWN, fetch });
  const agent = new ReActAgent({ name: 'Friday', model, console: false });
  agent.registerInstanceHook('preReasoning', 'customer', (_agent, args) => ({
    ...args,
    http: { apiKey: CALLED },
  }));
  await agent.call('Hi.');
  expect(sent.map(({ headers }) => headers['authorization'])).toEqual([`Bearer ${CALLED}`]);
  expect(JSON.stringify(agent.stateDict())).not.toContain(CALLED);
});

test('token counters ask for a fresh key, too', async () => {
  const sent: SentRequest[] = [];
  const fetch = fetchOf({ pieces: [toBytes('{"input_tokens":3,"totalTokens":3}')] }, sent);
  const options = { apiKey: () => 'fresh-token', query: { a: '1' }, fetch };
  const counters = [
    new AnthropicTokenCounter({ modelName: 'claude-sonnet-4-5', ...options }),
    new GeminiTokenCounter({ modelName: 'gemini-2.5-flash', ...options }),
  ];
  for (const counter of counters) expect(await counter.count(ASK.messages)).toBe(3);
  expect(sent.map(({ headers }) => headers['x-api-key'] ?? headers['x-goog-api-key'])).toEqual([
    'fresh-token',
    'fresh-token',
  ]);
});

describe('caching and the service tier of one call', () => {
  const bodyOf = async (
    make: (options: { apiKey: string; fetch: ReturnType<typeof fetchOf> }) => {
      call: OpenAIChatModel['call'];
    },
    recording: Uint8Array,
    generation: GenerationOptions,
  ): Promise<JsonObject> => {
    const sent: SentRequest[] = [];
    const model = make({ apiKey: 'k', fetch: fetchOf({ pieces: [recording] }, sent) });
    await model.call({ messages: [Msg.system('Be short.'), ...ASK.messages], generation });
    return JSON.parse(sent[0]!.body) as JsonObject;
  };
  const pick = (body: JsonObject): JsonObject =>
    Object.fromEntries(Object.entries(body).filter(([key]) => /cache|tier/i.test(key)));
  const chat = readFixtures('openai-chat').get('plain')!;

  test.each<[ChatVendorName, GenerationOptions, JsonObject]>([
    [
      'openai',
      { caching: { key: 'ann', ttl: '24h' }, serviceTier: 'flex' },
      { prompt_cache_key: 'ann', prompt_cache_retention: '24h', service_tier: 'flex' },
    ],
    ['openai', { caching: 'off' }, {}],
    ['openrouter', { caching: 'auto' }, { cache_control: { type: 'ephemeral' } }],
    [
      'openrouter',
      { caching: { ttl: '1h' }, serviceTier: 'flex' },
      { cache_control: { type: 'ephemeral', ttl: '1h' }, service_tier: 'flex' },
    ],
    ['groq', { caching: { key: 'ann' }, serviceTier: 'flex' }, { service_tier: 'flex' }],
    ['deepseek', { caching: { key: 'ann' }, serviceTier: 'flex' }, {}],
  ])('%s, %j', async (vendor, generation, fields) => {
    const make = (options: object) => new OpenAIChatModel({ vendor, modelName: 'm', ...options });
    expect(pick(await bodyOf(make, chat, generation))).toEqual(fields);
  });

  test('Responses', async () => {
    const make = (options: object) =>
      new OpenAIResponsesModel({ vendor: 'openai', modelName: 'gpt-5', ...options });
    const recording = readFixtures('openai-responses').get('plain')!;
    const generation = { caching: { key: 'ann' }, serviceTier: 'priority' };
    expect(pick(await bodyOf(make, recording, generation))).toEqual({
      prompt_cache_key: 'ann',
      service_tier: 'priority',
    });
  });

  test('Anthropic: the marker of one call is at the system prompt, too', async () => {
    const make = (options: object) => new AnthropicChatModel({ modelName: 'claude-sonnet-4-5', ...options });
    const recording = readFixtures('anthropic').get('plain')!;
    const marked = async (generation: GenerationOptions): Promise<unknown> => {
      const body = await bodyOf(make, recording, generation);
      return [pick(body), body['system']];
    };
    const system = (cache_control?: JsonObject) => [
      { type: 'text', text: 'Be short.', ...(cache_control && { cache_control }) },
    ];
    const plain = { type: 'ephemeral' };
    expect(await marked({})).toEqual([{ cache_control: plain }, system(plain)]);
    expect(await marked({ caching: 'off', serviceTier: 'standard_only' })).toEqual([
      { service_tier: 'standard_only' },
      system(),
    ]);
    const hour = { type: 'ephemeral', ttl: '1h' };
    expect(await marked({ caching: { ttl: '1h' } })).toEqual([{ cache_control: hour }, system(hour)]);
    await expect(marked({ caching: { ttl: '24h' } })).rejects.toThrow("caching must be 'auto', 'off'");
  });

  test('Gemini', async () => {
    const make = (options: object) => new GeminiChatModel({ modelName: 'gemini-2.5-flash', ...options });
    const recording = readFixtures('gemini').get('plain')!;
    expect(pick(await bodyOf(make, recording, { serviceTier: 'flex' }))).toEqual({ serviceTier: 'flex' });
  });
});

test('several answers in one are refused before the request', async () => {
  const sent: SentRequest[] = [];
  const fetch = fetchOf({ pieces: [] }, sent);
  const chat = new OpenAIChatModel({ modelName: 'm', apiKey: 'k', fetch, generation: { extra: { n: 2 } } });
  await expect(chat.call(ASK)).rejects.toThrow('generation.extra.n must be 1');
  const gemini = new GeminiChatModel({ modelName: 'gemini-2.5-flash', apiKey: 'k', fetch });
  const extra = { generationConfig: { candidateCount: 2 } };
  await expect(gemini.call({ ...ASK, generation: { extra } })).rejects.toThrow('candidateCount must be 1');
  expect(sent).toEqual([]);
});
