import { expectLinear } from '../../../test/counted-work.ts';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { fetchOf, outcomeOf, readFixtures, toBytes, type SentRequest } from '../../../test/wire/replay.ts';
import { PNG, TOOLS } from '../../../test/wire/histories.ts';
import type { ContentBlock } from '../../message/blocks.ts';
import { Msg } from '../../message/msg.ts';
import type { ModelRequest } from '../../model/chat-model-base.ts';
import type { JsonObject } from '../../util/json.ts';
import { OpenAIChatModel, type OpenAIChatModelOptions } from './openai-chat-model.ts';
import { CHAT_VENDORS, vendorAt, type ChatVendorName } from './vendors.ts';

const plain = readFixtures('openai-chat').get('plain')!;
const ASK: ModelRequest = { messages: [Msg.user('Hi.')], tools: TOOLS };

async function send(
  options: Partial<OpenAIChatModelOptions>,
  request: Partial<ModelRequest> = {},
): Promise<SentRequest & { json: JsonObject }> {
  const sent: SentRequest[] = [];
  const fetch = fetchOf({ pieces: [plain] }, sent);
  await new OpenAIChatModel({ modelName: 'm', apiKey: 'k', fetch, ...options }).call({ ...ASK, ...request });
  const [first] = sent;
  return { ...first!, json: JSON.parse(first!.body) as JsonObject };
}

async function read(lines: readonly object[], vendor: ChatVendorName = 'openai', extra = {}) {
  const body = lines.map((line) => `data: ${JSON.stringify(line)}\n\n`).join('');
  const fetch = fetchOf({ pieces: [toBytes(body)] });
  const model = new OpenAIChatModel({
    vendor,
    modelName: 'm',
    apiKey: 'k',
    fetch,
    baseUrl: 'http://x.test',
    ...extra,
  });
  return outcomeOf(model, ASK);
}
const chunk = (delta: object, finish_reason: string | null = null, more = {}): object => ({
  id: 'r1',
  choices: [{ index: 0, delta, finish_reason }],
  ...more,
});

afterEach(() => vi.unstubAllEnvs());

describe('where a request goes', () => {
  test.each<[Partial<OpenAIChatModelOptions>, string]>([
    [{}, 'https://api.openai.com/v1/chat/completions'],
    [{ vendor: 'deepseek' }, 'https://api.deepseek.com/v1/chat/completions'],
    [{ baseUrl: 'http://127.0.0.1:9/v1/' }, 'http://127.0.0.1:9/v1/chat/completions'],
    [
      { vendor: 'azure', baseUrl: 'https://me.openai.azure.com/' },
      'https://me.openai.azure.com/openai/v1/chat/completions',
    ],
    [
      { baseUrl: 'https://me.openai.azure.com/openai/v1' },
      'https://me.openai.azure.com/openai/v1/chat/completions',
    ],
    [
      {
        vendor: 'azure',
        baseUrl: 'https://me.openai.azure.com',
        modelName: 'my 4o',
        apiVersion: '2024-10-21',
      },
      'https://me.openai.azure.com/openai/deployments/my%204o/chat/completions?api-version=2024-10-21',
    ],
  ])('%j', async (options, url) => {
    expect((await send(options)).url).toBe(url);
  });

  test('by the address of a vendor, its quirks are known', () => {
    for (const [name, { baseUrl }] of Object.entries(CHAT_VENDORS)) {
      if (baseUrl !== undefined && name !== 'vllm') expect(vendorAt(baseUrl)).toBe(name);
    }
    expect(vendorAt('https://dashscope-intl.aliyuncs.com/compatible-mode/v1')).toBe('dashscope');
    expect(vendorAt('https://me.openai.azure.com')).toBe('azure');
    expect(vendorAt('http://127.0.0.1:8000/v1')).toBe('compatible');
    expect(vendorAt('no address')).toBe('compatible');
  });

  test('with the key in the header of the vendor, and with headers of ones own', async () => {
    expect((await send({ headers: { 'x-team': 'a' } })).headers).toEqual({
      'content-type': 'application/json',
      authorization: 'Bearer k',
      'x-team': 'a',
    });
    expect((await send({ vendor: 'azure', baseUrl: 'https://me.openai.azure.com' })).headers).toEqual({
      'content-type': 'application/json',
      'api-key': 'k',
    });
  });

  test('with one header of each name: that of ones own, however it is written', async () => {
    const headers = { Authorization: 'Bearer mine', 'CONTENT-TYPE': 'application/json; charset=utf-8' };
    expect((await send({ headers })).headers).toEqual({
      authorization: 'Bearer mine',
      'content-type': 'application/json; charset=utf-8',
    });
  });

  test('with the key of the environment, of the very vendor only', async () => {
    vi.stubEnv('OPENAI_API_KEY', 'from-openai');
    vi.stubEnv('MOONSHOT_API_KEY', 'from-moonshot');
    const { apiKey: _, ...noKey } = { apiKey: 'x', vendor: 'moonshot' as const };
    expect((await send({ ...noKey, apiKey: undefined })).headers['authorization']).toBe(
      'Bearer from-moonshot',
    );
    expect((await send({ apiKey: undefined })).headers['authorization']).toBe('Bearer from-openai');
    expect((await send({ apiKey: undefined, baseUrl: 'http://elsewhere.test' })).headers).not.toHaveProperty(
      'authorization',
    );
  });

  test('is an error without a key, an address or a name that exists', () => {
    vi.stubEnv('OPENAI_API_KEY', '');
    vi.stubEnv('AZURE_OPENAI_ENDPOINT', undefined);
    const make = (options: object): OpenAIChatModel =>
      new OpenAIChatModel({ modelName: 'm', apiKey: undefined, ...options });
    expect(() => make({})).toThrow('OpenAI needs a key: set OPENAI_API_KEY, or give the option apiKey.');
    expect(() => make({ vendor: 'zhipu' })).toThrow('Zhipu needs a key: set ZHIPUAI_API_KEY or ZAI_API_KEY');
    expect(() => make({ vendor: 'azure', apiKey: 'k' })).toThrow(
      'Azure OpenAI needs a baseUrl, such as https://NAME.openai',
    );
    expect(() => make({ vendor: 'compatible' })).toThrow('OpenAI-compatible server needs a baseUrl');
    expect(() => make({ apiKey: '' })).toThrow('The key for OpenAI is empty.');
    expect(() => make({ apiKey: 'a\nb' })).toThrow('The key for OpenAI contains white space');
    expect(() => make({ vendor: 'vllm', apiKey: '' })).toThrow('The key for vLLM is empty.');
    expect(() => make({ apiKey: 'k', baseUrl: 'ftp://x' })).toThrow(
      'The baseUrl of OpenAI-compatible server must be',
    );
    expect(() => make({ apiKey: 'k', baseUrl: 'http://me:secret@x' })).toThrow('must not contain a user');
    expect(() => make({ vendor: 'nobody' })).toThrow('vendor must be one of openai, azure, dashscope');
    expect(() => make({ vendor: '__proto__' })).toThrow('vendor must be one of');
    expect(() => make({ modelName: '', apiKey: 'k' })).toThrow('needs a modelName');
  });
});

describe('the body of a request', () => {
  test('is no more than what was asked for', async () => {
    expect((await send({}, { tools: [] })).json).toEqual({
      messages: [{ role: 'user', content: 'Hi.' }],
      model: 'm',
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  const generation = {
    maxTokens: 9,
    temperature: 0,
    topP: 0.5,
    topK: 3,
    stop: ['x'],
    seed: 4,
    presencePenalty: 1,
    frequencyPenalty: 2,
    parallelToolCalls: false,
  };

  test('are the options in the words of the wire; those of a call win, extras win over all', async () => {
    const { json } = await send(
      { generation: { ...generation, temperature: 1, extra: { a: 1, b: 1 } } },
      { generation: { temperature: 0, extra: { b: 2, seed: 5 } } },
    );
    expect(json).toMatchObject({
      max_completion_tokens: 9,
      temperature: 0,
      top_p: 0.5,
      stop: ['x'],
      seed: 5,
      presence_penalty: 1,
      frequency_penalty: 2,
      parallel_tool_calls: false,
      a: 1,
      b: 2,
    });
    expect(json).not.toHaveProperty('top_k');
    expect((await send({ vendor: 'vllm', generation })).json).toMatchObject({ max_tokens: 9, top_k: 3 });
  });

  test('are no options that the model would reject', async () => {
    const { json } = await send(
      { modelName: 'gpt-5-mini' },
      { tools: [], generation: { ...generation, reasoningEffort: 'none', extra: { top_p: 1 } } },
    );
    const { messages: _m, stream: _s, stream_options: _o, ...rest } = json;
    expect(rest).toEqual({
      model: 'gpt-5-mini',
      max_completion_tokens: 9,
      seed: 4,
      reasoning_effort: 'minimal',
      top_p: 1,
    });
  });

  test.each<[string, object, object]>([
    ['kimi-k2.5', { reasoningEffort: 'none' }, { thinking: { type: 'disabled' } }],
    ['kimi-k2.7-code', { reasoningEffort: 'none' }, {}],
    ['kimi-k3', { reasoningEffort: 'none' }, { reasoning_effort: 'low' }],
    ['kimi-k3', { reasoningEffort: 'medium', temperature: 0 }, { reasoning_effort: 'high' }],
  ])('%s is told to think by %j in its own way', async (modelName, generation, fields) => {
    const { json } = await send({ vendor: 'moonshot', modelName }, { generation, tools: [] });
    const { messages: _m, model: _n, stream: _s, stream_options: _o, ...rest } = json;
    expect(rest).toEqual(fields);
  });

  test.each<[ChatVendorName, object, object]>([
    ['openai', { reasoningEffort: 'low' }, { reasoning_effort: 'low' }],
    ['openai', { thinkingTokens: 100 }, {}],
    ['dashscope', { reasoningEffort: 'none' }, { enable_thinking: false }],
    ['dashscope', { thinkingTokens: 100 }, { enable_thinking: true, thinking_budget: 100 }],
    ['deepseek', { reasoningEffort: 'high' }, { thinking: { type: 'enabled' } }],
    ['zhipu', { thinkingTokens: 0 }, { thinking: { type: 'disabled' } }],
    ['openrouter', { reasoningEffort: 'high' }, { reasoning: { effort: 'high' } }],
    ['openrouter', { thinkingTokens: 100 }, { reasoning: { max_tokens: 100 } }],
    ['openrouter', { thinkingTokens: 0 }, { reasoning: { enabled: false } }],
    ['compatible', { reasoningEffort: 'high' }, {}],
  ])('%s is told to think by %j', async (vendor, generation, fields) => {
    const { json } = await send({ vendor, baseUrl: 'http://x.test' }, { generation, tools: [] });
    const { messages: _m, model: _n, stream: _s, stream_options: _o, ...rest } = json;
    expect(rest).toEqual(fields);
  });

  test.each<[ChatVendorName, ModelRequest['toolChoice'], unknown]>([
    ['openai', undefined, undefined],
    ['openai', 'none', 'none'],
    ['openai', 'required', 'required'],
    ['openai', { name: 'get_time' }, { type: 'function', function: { name: 'get_time' } }],
    ['openai', { allowed: ['get_time'], mode: 'required' }, 'required'],
    ['openai', { allowed: ['get_time'] }, 'auto'],
    ['dashscope', 'required', 'auto'],
    ['dashscope', { name: 'get_time' }, { type: 'function', function: { name: 'get_time' } }],
    ['moonshot', 'required', 'auto'],
    ['zhipu', { name: 'get_time' }, 'auto'],
  ])('%s takes the choice %j as %j', async (vendor, toolChoice, wire) => {
    expect((await send({ vendor }, { toolChoice })).json['tool_choice']).toEqual(wire);
  });

  test('is a shape for the answer', async () => {
    const schema = { type: 'object', properties: { a: { type: 'number' } } };
    expect((await send({}, { structured: { schema, name: 'sum' } })).json['response_format']).toEqual({
      type: 'json_schema',
      json_schema: { name: 'sum', schema, strict: false },
    });
  });

  const thinking = (thinking: string, vendor?: string): ContentBlock => ({
    type: 'thinking',
    thinking,
    ...(vendor !== undefined && { providerMeta: { [vendor]: {} } }),
  });
  const asked: ContentBlock = { type: 'tool_use', id: 'a', name: 'get_time', input: {} };
  test.each<[ChatVendorName, object, object]>([
    ['openai', {}, {}],
    ['dashscope', {}, {}],
    ['deepseek', {}, { reasoning_content: 'Hm.\nSo.' }],
    ['moonshot', {}, { reasoning_content: 'Hm.\nSo.' }],
    ['zhipu', { reasoning_content: 'Hm.' }, { reasoning_content: 'Hm.\nSo.' }],
    ['openrouter', { reasoning: 'Hm.' }, { reasoning: 'Hm.\nSo.' }],
  ])('%s gets its own thinking back as it wants it', async (vendor, plainly, withCalls) => {
    const thought = Msg.assistant([thinking('Hm.', vendor), { type: 'text', text: 'Well.' }]);
    const thoughtAndCall = Msg.assistant([
      thinking('Hm.', vendor),
      thinking('Not mine.', 'elsewhere'),
      thinking("Nobody's."),
      thinking('So.', vendor),
      asked,
    ]);
    const { json } = await send(
      { vendor, modelName: vendor === 'moonshot' ? 'kimi-k2-thinking' : 'm' },
      { messages: [Msg.user('Hi.'), thought, Msg.user('So?'), thoughtAndCall] },
    );
    const [, first, , second] = json['messages'] as JsonObject[];
    expect(first).toEqual({ role: 'assistant', content: 'Well.', ...plainly });
    const { tool_calls: _, ...rest } = second!;
    expect(rest).toEqual({ role: 'assistant', content: null, ...withCalls });
  });

  test.each<[ChatVendorName, object]>([
    ['deepseek', { reasoning_content: '(not recorded)' }],
    ['zhipu', {}],
    ['openrouter', {}],
    ['openai', {}],
  ])('%s never gets the thinking of others', async (vendor, fields) => {
    const details = [{ type: 'reasoning.text', text: 'Hm.', index: 0 }];
    const foreign: ContentBlock[] = [
      thinking('Hm.', 'anthropic'),
      thinking('Hm.', vendor === 'deepseek' ? 'zhipu' : 'deepseek'),
      thinking('Hm.'),
      { type: 'thinking', thinking: 'Hm.', providerMeta: { nobody: { reasoningDetails: details } } },
    ];
    const { body, json } = await send({ vendor }, { messages: [Msg.assistant([...foreign, asked])] });
    const { tool_calls: _, ...rest } = (json['messages'] as JsonObject[])[0]!;
    expect(rest).toEqual({ role: 'assistant', content: null, ...fields });
    expect(body).not.toContain('Hm.');
  });

  test('is thinking without half characters, though it is kept as it came', async () => {
    const messages = [Msg.assistant([thinking('Hm \ud83d', 'deepseek'), asked])];
    const { json } = await send({ vendor: 'deepseek' }, { messages });
    expect((json['messages'] as JsonObject[])[0]?.['reasoning_content']).toBe('Hm \ufffd');
  });

  test.each<[ChatVendorName, string, boolean]>([
    ['moonshot', 'kimi-k2.5', true],
    ['moonshot', 'moonshot-v1-8k', false],
    ['deepseek', 'deepseek-chat', true],
    ['openai', 'gpt-4.1', false],
  ])(
    '%s (%s) gets a word in the place of thinking that it misses: %s',
    async (vendor, modelName, isGiven) => {
      const { json } = await send(
        { vendor, modelName },
        { messages: [Msg.assistant([{ type: 'tool_use', id: 'a', name: 'get_time', input: {} }])] },
      );
      const [message] = json['messages'] as JsonObject[];
      expect(message?.['reasoning_content']).toBe(isGiven ? '(not recorded)' : undefined);
    },
  );

  test('are names where the vendor takes them', async () => {
    const messages = [
      Msg.user('Hi.', { name: 'Ann Lee' }),
      Msg.assistant('Hi.', { name: '世界' }),
      Msg.user('So?'),
    ];
    const namesOf = async (vendor: ChatVendorName): Promise<unknown> =>
      ((await send({ vendor }, { messages })).json['messages'] as JsonObject[]).map(({ name }) => name);
    expect(await namesOf('openai')).toEqual(['Ann_Lee', undefined, undefined]);
    expect(await namesOf('deepseek')).toEqual([undefined, undefined, undefined]);
  });

  test.each<[ChatVendorName, string, string]>([
    ['moonshot', 'functions.get_time:0', 'functions.get_time:0'],
    ['openai', 'functions.get_time:0', 'functions.get_time:0'],
    ['vllm', `chatcmpl-tool-${'x'.repeat(40)}`, `chatcmpl-tool-${'x'.repeat(40)}`],
    ['openai', `chatcmpl-tool-${'x'.repeat(40)}`, 'call_fingerprint'],
    ['azure', `chatcmpl-tool-${'x'.repeat(40)}`, 'call_fingerprint'],
  ])('to %s is the id %s of a call and of its result %s', async (vendor, id, sent) => {
    const messages = [
      Msg.assistant([{ ...asked, id }]),
      Msg.system([{ type: 'tool_result', id, name: 'get_time', output: '9', status: 'ok' }]),
    ];
    const { json } = await send({ vendor, baseUrl: 'http://x.test' }, { messages });
    const [call, result] = json['messages'] as JsonObject[];
    const ids = [(call!['tool_calls'] as JsonObject[])[0]?.['id'], result?.['tool_call_id']];
    expect(ids.map((own) => String(own).replace(/^call_[0-9a-f]{16}$/, 'call_fingerprint'))).toEqual([
      sent,
      sent,
    ]);
    expect(ids[0]).toBe(ids[1]);
  });

  test.each<[ChatVendorName, boolean]>([
    ['openai', true],
    ['azure', true],
    ['xai', true],
    ['openrouter', true],
    ['moonshot', false],
    ['vllm', false],
    ['compatible', false],
  ])(
    'to %s is an address of an image only if it is no server in our own network: %s',
    async (vendor, isSent) => {
      const url = 'http://169.254.169.254/latest/meta-data';
      const messages = [
        Msg.user([
          { type: 'image', source: { type: 'url', url } },
          { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: PNG } },
        ]),
      ];
      const { body, json } = await send(
        { vendor, baseUrl: 'http://x.test', capabilities: { vision: true } },
        { messages },
      );
      expect(body.includes(url)).toBe(isSent);
      const parts = (json['messages'] as JsonObject[])[0]?.['content'] as JsonObject[];
      expect(parts.map(({ type }) => type)).toEqual([isSent ? 'image_url' : 'text', 'image_url']);
    },
  );

  test('is sound in the way of the vendor', async () => {
    const messages = [
      Msg.user([{ type: 'audio', source: { type: 'base64', mediaType: 'audio/wav', data: 'UklGRg==' } }]),
    ];
    const partOf = async (options: Partial<OpenAIChatModelOptions>): Promise<unknown> =>
      ((await send(options, { messages })).json['messages'] as JsonObject[])[0]?.['content'];
    expect(await partOf({ modelName: 'gpt-audio' })).toEqual([
      { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } },
    ]);
    expect(await partOf({ vendor: 'dashscope', modelName: 'qwen-omni' })).toEqual([
      { type: 'input_audio', input_audio: { data: 'data:;base64,UklGRg==', format: 'wav' } },
    ]);
    const url = 'https://example.com/a.WAV';
    const atUrl = [Msg.user([{ type: 'audio', source: { type: 'url', url } }])];
    const { json } = await send({ vendor: 'dashscope', modelName: 'qwen-omni' }, { messages: atUrl });
    expect((json['messages'] as JsonObject[])[0]?.['content']).toEqual([
      { type: 'input_audio', input_audio: { data: url, format: 'wav' } },
    ]);
    expect(await partOf({ modelName: 'gpt-4.1' })).toBe(
      "[An audio was left out here: this model can't take it.]",
    );
  });
});

describe('an answer', () => {
  test('has its usage where the vendor puts it', async () => {
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
    const moonshot = [
      {
        id: 'r1',
        choices: [{ delta: { content: 'Hi' }, finish_reason: 'stop', usage: { ...usage, cached_tokens: 4 } }],
      },
    ];
    expect((await read(moonshot, 'moonshot')).usage).toEqual({
      inputTokens: 10,
      outputTokens: 5,
      cachedTokens: 4,
    });
    const xai = [
      chunk({ content: 'Hi' }, 'stop', {
        usage: { ...usage, completion_tokens_details: { reasoning_tokens: 20 } },
      }),
    ];
    expect((await read(xai, 'xai')).usage).toEqual({
      inputTokens: 10,
      outputTokens: 25,
      reasoningTokens: 20,
    });
    const deepseek = [chunk({ content: 'Hi' }, 'stop', { usage: { ...usage, prompt_cache_hit_tokens: 8 } })];
    expect((await read(deepseek, 'deepseek')).usage).toEqual({
      inputTokens: 10,
      outputTokens: 5,
      cachedTokens: 8,
    });
  });

  test('costs what the pricing says', async () => {
    const usage = {
      prompt_tokens: 1000,
      completion_tokens: 100,
      prompt_tokens_details: { cached_tokens: 400 },
    };
    const pricing = { input: 2, output: 8, cachedInput: 0.5 };
    const outcome = await read([chunk({ content: 'Hi' }, 'stop', { usage })], 'openai', { pricing });
    expect(outcome.usage?.cost).toBeCloseTo((600 * 2 + 400 * 0.5 + 100 * 8) / 1e6, 12);
  });

  test.each([
    ['stop', 'stop'],
    ['length', 'length'],
    ['sensitive', 'content_filter'],
    ['model_context_window_exceeded', 'length'],
    ['something new', 'other'],
    ['__proto__', 'other'],
  ])('that ends by %s ends by %s', async (said, reason) => {
    expect((await read([chunk({ content: 'Hi' }, said)])).finishReason).toBe(reason);
  });

  test('that the vendor breaks off is a failure', async () => {
    const outcome = await read(
      [chunk({ content: 'Hi' }), chunk({}, 'insufficient_system_resource')],
      'deepseek',
    );
    expect(outcome).toMatchObject({ content: [{ text: 'Hi' }], error: 'overloaded' });
    const error = { error: { code: 429, message: 'Upstream is busy' }, id: 'r1', choices: [] };
    expect(await read([chunk({ content: 'Hi' }), error], 'openrouter')).toMatchObject({
      error: 'rate_limit',
    });
  });

  test('that ends twice ended the first time', async () => {
    const call = { index: 0, id: 'a', function: { name: 'get_time', arguments: '{}' } };
    expect(
      await read([chunk({ tool_calls: [call] }), chunk({}, 'tool_calls'), chunk({}, 'stop')]),
    ).toMatchObject({
      content: [{ type: 'tool_use', id: 'a' }],
      finishReason: 'tool_calls',
    });
    expect(await read([chunk({ tool_calls: [call] }), chunk({}, 'length'), chunk({}, 'stop')])).toMatchObject(
      {
        content: [],
        finishReason: 'length',
      },
    );
  });

  test('tells what it cost as soon as that is known, even if it fails later', async () => {
    const usage = { prompt_tokens: 10, completion_tokens: 1 };
    const lines = [chunk({ content: 'Hi' }, null, { usage }), { error: { message: 'Busy', code: 429 } }];
    expect(await read(lines, 'openrouter')).toMatchObject({
      content: [{ text: 'Hi' }],
      usage: { inputTokens: 10, outputTokens: 1 },
      error: 'rate_limit',
    });
  });

  test('that is spoken has its sound and its words', async () => {
    const outcome = await read(
      [
        chunk({ role: 'assistant', content: null, refusal: null, audio: { id: 'a1' } }),
        chunk({ audio: { id: 'a1', transcript: 'Hel' } }),
        chunk({ audio: { id: 'a1', data: 'AAA=' } }),
        chunk({ audio: { id: 'a1', transcript: 'lo ' } }),
        chunk({ audio: { id: 'a1', data: 'BBBB' } }),
        chunk({ audio: { id: 'a1', transcript: 'you' } }),
        chunk({ audio: { id: 'a1', data: 'CCCC', transcript: '' } }),
        chunk({ audio: { id: 'a1', expires_at: 1763000000 } }),
        chunk({}, 'stop'),
      ],
      'openai',
      {
        generation: { extra: { modalities: ['text', 'audio'], audio: { format: 'pcm16', voice: 'alloy' } } },
      },
    );
    const data = Buffer.concat(['AAA=', 'BBBB', 'CCCC'].map((piece) => Buffer.from(piece, 'base64')));
    expect(outcome.content).toEqual([
      { type: 'text', text: 'Hello you' },
      { type: 'audio', source: { type: 'base64', mediaType: 'audio/pcm', data: data.toString('base64') } },
    ]);
  });

  test.each(['no base64!', 'A', 'AA=A'])('with the sound %j is malformed', async (data) => {
    const lines = [
      chunk({ audio: { transcript: 'Hi', data } }),
      chunk({ audio: { data: 'A' } }),
      chunk({}, 'stop'),
    ];
    expect(await read(lines)).toMatchObject({ error: 'malformed' });
  });

  test('keeps what OpenRouter wants back with its thinking, also when it comes in pieces', async () => {
    const detail = (text: string, more = {}): object => ({ type: 'reasoning.text', index: 0, text, ...more });
    const lines = [
      chunk({ reasoning: 'Let ', reasoning_details: [detail('Let ')] }),
      chunk({ reasoning: 'me.', reasoning_details: [detail('me.', { signature: 'sig' })] }),
      chunk({ reasoning_details: [{ type: 'reasoning.encrypted', index: 1, data: 'xyz' }] }),
      chunk({ content: 'Hi' }),
      chunk({}, 'stop'),
    ];
    const { content } = await read(lines, 'openrouter');
    const details = [
      detail('Let me.', { signature: 'sig' }),
      { type: 'reasoning.encrypted', index: 1, data: 'xyz' },
    ];
    expect(content).toEqual([
      { type: 'thinking', thinking: 'Let me.', providerMeta: { openrouter: { reasoningDetails: details } } },
      { type: 'text', text: 'Hi' },
    ]);
    const saved = Msg.from(JSON.parse(JSON.stringify(Msg.assistant(content))));
    const { json } = await send(
      { vendor: 'openrouter' },
      { messages: [Msg.user('Hi.'), saved, Msg.user('So?')] },
    );
    expect((json['messages'] as JsonObject[])[1]).toEqual({
      role: 'assistant',
      content: 'Hi',
      reasoning_details: details,
    });
  });

  test('keeps what OpenRouter tells apart by an id, or encrypts, apart', async () => {
    const text = (id: string | null, text: string): object => ({
      type: 'reasoning.text',
      index: 0,
      id,
      text,
    });
    const secret = (data: string): object => ({ type: 'reasoning.encrypted', index: 0, data });
    const { content } = await read(
      [
        chunk({ reasoning: 'Let', reasoning_details: [text('r1', 'Let')] }),
        chunk({ reasoning: ' me.', reasoning_details: [text(null, ' me.'), text('r2', 'So.')] }),
        chunk({ reasoning_details: [secret('xx'), secret('yy')] }),
        chunk({ content: 'Hi' }, 'stop'),
      ],
      'openrouter',
    );
    expect(content[0]?.providerMeta?.['openrouter']).toEqual({
      reasoningDetails: [text('r1', 'Let me.'), text('r2', 'So.'), secret('xx'), secret('yy')],
    });
  });

  test('may be a list of parts', async () => {
    const thinking = (thinking: unknown): object => ({ type: 'thinking', thinking });
    const { content } = await read(
      [
        chunk({ content: [thinking([{ type: 'text', text: 'Let' }])] }),
        chunk({ content: [thinking(' me.'), { type: 'text', text: 'H' }, { type: 'reference', ids: [1] }] }),
        chunk({ content: 'i' }, 'stop'),
      ],
      'compatible',
    );
    expect(content).toEqual([
      { type: 'thinking', thinking: 'Let me.', providerMeta: { compatible: { field: 'content' } } },
      { type: 'text', text: 'Hi' },
    ]);
  });

  test('with two calls that nothing but their names tell apart makes two', async () => {
    const one = { function: { name: 'get_capital', arguments: '{"country":"Peru"}' } };
    const two = { function: { name: 'get_time', arguments: '{"zone":"CET"}' } };
    for (const lines of [
      [chunk({ tool_calls: [one, two] })],
      [chunk({ tool_calls: [{ index: 0, ...one }] }), chunk({ tool_calls: [{ index: 0, ...two }] })],
    ]) {
      expect((await read([...lines, chunk({}, 'tool_calls')], 'compatible')).content).toMatchObject([
        { type: 'tool_use', name: 'get_capital', input: { country: 'Peru' } },
        { type: 'tool_use', name: 'get_time', input: { zone: 'CET' } },
      ]);
    }
  });

  test('has its calls where they were made, though they say nothing but their names', async () => {
    const call = (name: string): object => chunk({ tool_calls: [{ index: 0, function: { name } }] });
    const lines = [
      call('get_time'),
      chunk({ reasoning: 'Hm.' }),
      call('get_capital'),
      chunk({ content: 'So.' }),
      call('get_time'),
      call('get_capital'),
      chunk({}, 'stop'),
    ];
    expect((await read(lines)).content).toMatchObject([
      { type: 'tool_use', name: 'get_time' },
      { type: 'thinking', thinking: 'Hm.' },
      { type: 'tool_use', name: 'get_capital' },
      { type: 'text', text: 'So.' },
      { type: 'tool_use', name: 'get_time' },
      { type: 'tool_use', name: 'get_capital' },
    ]);
  });

  test('of a careless server does no harm', async () => {
    const calls = (...tool_calls: unknown[]): object => chunk({ tool_calls });
    const outcome = await read([
      { object: 'ping' },
      chunk({ content: 7, tool_calls: 'x' }),
      calls(null, 7, { index: 3 }, { index: 3, function: { arguments: '{"lost":1}' } }),
      calls({ index: 0, id: 'a', function: { name: 'get_time', arguments: { zone: 'CET' } } }),
      calls({ function: { name: 'get_time' } }),
      { id: 'r1', choices: [null, 7] },
      { id: 'r1', choices: [{ delta: null, finish_reason: '' }] },
      chunk({}, 'tool_calls'),
    ]);
    expect(outcome).toEqual({
      content: [{ type: 'tool_use', id: 'a', name: 'get_time', input: { zone: 'CET' } }],
      finishReason: 'tool_calls',
      responseId: 'r1',
    });
  });
});

test('arguments in pieces of 4 characters are read in linear time', async () => {
  const readInPieces = async (size: number): Promise<void> => {
    const json = `{"a":"${'x'.repeat(size)}"}`;
    const lines = [
      chunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'get_time', arguments: '' } }] }),
    ];
    for (let i = 0; i < json.length; i += 4)
      lines.push(chunk({ tool_calls: [{ index: 0, function: { arguments: json.slice(i, i + 4) } }] }));
    lines.push(chunk({}, 'tool_calls'));
    const { content } = await read(lines);
    expect(content).toEqual([
      { type: 'tool_use', id: 'a', name: 'get_time', input: { a: 'x'.repeat(size) } },
    ]);
  };
  await expectLinear(25_000, readInPieces);
});

test('an error behind a complete answer does not take it away', async () => {
  const error = { error: { code: 400, message: 'Token limit reached' } };
  expect(await read([chunk({ content: 'Hi' }, 'length'), error], 'openrouter')).toMatchObject({
    content: [{ type: 'text', text: 'Hi' }],
    finishReason: 'length',
  });
});
