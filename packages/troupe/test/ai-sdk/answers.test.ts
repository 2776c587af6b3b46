// Real packages of the AI SDK, in all versions of the specification, on real wires, seen through the bridge.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { getLogger, withRunConfig } from '../../src/config/run-config.ts';
import { Msg } from '../../src/message/msg.ts';
import type { ModelDelta } from '../../src/message/model-delta.ts';
import type { ModelRequest, ToolSchema } from '../../src/model/chat-model-base.ts';
import { AiSdkModel } from '../../src/providers/ai-sdk/index.ts';
import type { JsonObject } from '../../src/util/json.ts';
import { ENCRYPTED, SIGNATURE, type WireCall } from './bodies.ts';
import { Loopback } from './loopback.ts';
import { ANTHROPIC, CHAT_WIRES, GEMINI, RESPONSES_WIRES, WIRES } from './wires.ts';

const TOOLS: readonly ToolSchema[] = [
  {
    name: 'get_capital',
    description: 'The capital of a country',
    parameters: { type: 'object', properties: { country: { type: 'string' } }, required: ['country'] },
  },
  { name: 'get_time', parameters: { type: 'object', properties: {} } },
];
const CALLS: readonly WireCall[] = [
  { id: 'call_1', name: 'get_capital', json: '{"country":"Perú"}' },
  { id: 'call_2', name: 'get_time', json: '{}' },
];
const ASK: ModelRequest = { messages: [Msg.user('What is the capital of Peru?')], tools: TOOLS };

let server: Loopback;
beforeAll(async () => {
  server = await new Loopback().listen();
});
beforeEach(() => {
  server.requests.length = 0;
});
afterAll(() => server.close());

const resultsFor = (msg: Msg): Msg =>
  Msg.system(
    msg
      .getContentBlocks('tool_use')
      .map(({ id, name }) => ({ type: 'tool_result', id, name, output: `${name}: done`, status: 'ok' })),
  );

/** The messages of a request, under any of their names. */
const sentMessages = (): unknown => {
  const body = server.requests.at(-1)?.body;
  return body?.['messages'] ?? body?.['input'] ?? body?.['contents'];
};

describe.each(WIRES)('$title', ({ model: languageModel, body, reasons, responseId }) => {
  const makeModel = (): AiSdkModel => new AiSdkModel(languageModel(server.url));

  test('a plain answer, piece by piece', async () => {
    server.willAnswer(body({ text: ['¡Hola, ', '世界 ', '👋!'], reason: reasons.stop }));
    const texts: string[] = [];
    let last: ModelDelta | undefined;
    for await (const delta of makeModel().stream(ASK)) {
      if (delta.type === 'text' && delta.text !== '') texts.push(delta.text);
      last = delta;
    }
    expect(texts).toEqual(['¡Hola, ', '世界 ', '👋!']);
    expect(last).toEqual({ type: 'finish', reason: 'stop' });
    expect(server.requests).toHaveLength(1);
  });

  test('the usage and the id of the answer', async () => {
    server.willAnswer(body({ text: ['Lima.'], reason: reasons.stop }));
    const msg = await makeModel().call(ASK);
    expect(msg.text).toBe('Lima.');
    expect([msg.finishReason, msg.responseId, msg.metadata]).toEqual(['stop', responseId, {}]);
    expect(msg.usage).toMatchObject({
      inputTokens: 60,
      outputTokens: 20,
      seconds: expect.any(Number) as number,
    });
    expect(msg.usage?.cachedTokens).toBeGreaterThanOrEqual(30);
  });

  test('calls side by side, behind a text', async () => {
    server.willAnswer(body({ text: ['Let me see.'], calls: CALLS, reason: reasons.calls }));
    const msg = await makeModel().call(ASK);
    expect(msg.getContentBlocks().map((block) => block.type)).toEqual(['text', 'tool_use', 'tool_use']);
    expect(msg.getContentBlocks('tool_use').map(({ name, input }) => ({ name, input }))).toEqual([
      { name: 'get_capital', input: { country: 'Perú' } },
      { name: 'get_time', input: {} },
    ]);
    expect(msg.finishReason).toBe('tool_calls');
  });

  test('of an answer that is cut off, the last call is not made, even if it can be read', async () => {
    server.willAnswer(body({ calls: CALLS, reason: reasons.length }));
    const msg = await makeModel().call(ASK);
    expect(msg.getContentBlocks('tool_use').map((call) => call.name)).toEqual(['get_capital']);
    expect(msg.finishReason).toBe('length');
  });

  test('text that is cut off is kept', async () => {
    server.willAnswer(body({ text: ['The capital of'], reason: reasons.length }));
    const msg = await makeModel().call(ASK);
    expect([msg.text, msg.finishReason]).toEqual(['The capital of', 'length']);
  });

  test('connections are used again', async () => {
    const model = makeModel();
    const before = server.connectionCount;
    for (let i = 0; i < 4; i++) {
      server.willAnswer(body({ text: ['Lima.'], reason: reasons.stop }));
      await model.call(ASK);
    }
    expect(server.requests).toHaveLength(4);
    expect(server.connectionCount - before).toBeLessThanOrEqual(1);
  });
});

const filtering = WIRES.filter(({ reasons }) => reasons.filter !== undefined);
test.each(filtering)('$title: a content filter, which makes no call', async ({ model, body, reasons }) => {
  server.willAnswer(body({ text: ['The '], calls: CALLS.slice(0, 1), reason: reasons.filter ?? '' }));
  const msg = await new AiSdkModel(model(server.url)).call(ASK);
  expect(msg.text).toBe('The ');
  expect(msg.getContentBlocks('tool_use')).toEqual([]);
  expect(msg.finishReason).toBe('content_filter');
});

test.each(CHAT_WIRES)('$title: arguments that are cut off are never a call', async (wire) => {
  const { model, body, reasons } = wire;
  const cut = { id: 'call_1', name: 'get_capital', json: '{"country":"Per' };
  server.willAnswer(body({ text: ['Well.'], calls: [cut], reason: reasons.length }));
  const msg = await new AiSdkModel(model(server.url)).call(ASK);
  expect(msg.content).toEqual([{ type: 'text', text: 'Well.' }]);
});

describe('a refusal', () => {
  const wires = [...CHAT_WIRES.slice(1), ...RESPONSES_WIRES.slice(1)]; // the package of v2 says nothing of it
  test.each(wires)('$title', async ({ model, body, reasons }) => {
    server.willAnswer(body({ refusal: "I can't help with that.", reason: reasons.stop }));
    const msg = await new AiSdkModel(model(server.url)).call(ASK);
    expect([msg.text, msg.finishReason]).toEqual(["I can't help with that.", 'refusal']);
  });

  test('Anthropic, v4', async () => {
    server.willAnswer(ANTHROPIC.body({ text: ['I can'], reason: 'refusal' }));
    const msg = await new AiSdkModel(ANTHROPIC.model(server.url)).call(ASK);
    expect([msg.text, msg.finishReason]).toEqual(['I can', 'refusal']);
  });
});

describe('thinking and calls go back as they came', () => {
  /** Asks, saves and loads the answer, and asks again with the results. */
  async function secondRequest(
    model: AiSdkModel,
    first: string,
    second: string,
    next: AiSdkModel = model,
  ): Promise<JsonObject> {
    server.willAnswer(first, second);
    const answer = await model.call(ASK);
    const loaded = Msg.from(JSON.parse(JSON.stringify(answer)) as JsonObject);
    const msg = await next.call({ ...ASK, messages: [...ASK.messages, loaded, resultsFor(loaded)] });
    expect(msg.text).toBe('Lima.');
    return server.requests.at(-1)?.body ?? {};
  }

  test.each(RESPONSES_WIRES)('$title', async ({ model, body }) => {
    const thinking = ['I look it up.', 'And the time.'];
    const request = await secondRequest(
      new AiSdkModel(model(server.url)),
      body({ thinking, calls: CALLS, reason: 'completed' }),
      body({ text: ['Lima.'], reason: 'completed' }),
    );
    expect(request['store']).toBe(false);
    expect(request['input']).toEqual([
      { role: 'user', content: [{ type: 'input_text', text: 'What is the capital of Peru?' }] },
      {
        type: 'reasoning',
        id: 'rs_6',
        encrypted_content: ENCRYPTED,
        summary: thinking.map((text) => ({ type: 'summary_text', text })),
      },
      expect.objectContaining({ type: 'function_call', call_id: 'call_1', arguments: '{"country":"Perú"}' }),
      expect.objectContaining({ type: 'function_call', call_id: 'call_2', arguments: '{}' }),
      { type: 'function_call_output', call_id: 'call_1', output: 'get_capital: done' },
      { type: 'function_call_output', call_id: 'call_2', output: 'get_time: done' },
    ]);
  });

  test.each(RESPONSES_WIRES)('$title, thinking that shows nothing of itself', async ({ model, body }) => {
    const request = await secondRequest(
      new AiSdkModel(model(server.url)),
      body({ thinking: [''], calls: CALLS.slice(0, 1), reason: 'completed' }),
      body({ text: ['Lima.'], reason: 'completed' }),
    );
    expect((request['input'] as readonly JsonObject[])[1]).toMatchObject({
      type: 'reasoning',
      id: 'rs_6',
      encrypted_content: ENCRYPTED,
    });
  });

  test('Anthropic, v4', async () => {
    const { model, body } = ANTHROPIC;
    const request = await secondRequest(
      new AiSdkModel(model(server.url)),
      body({ thinking: ['I look it up.', ''], text: ['Well.'], calls: CALLS, reason: 'tool_use' }),
      body({ text: ['Lima.'], reason: 'end_turn' }),
    );
    expect(request['messages']).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'What is the capital of Peru?' }] },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'I look it up.', signature: SIGNATURE },
          { type: 'redacted_thinking', data: ENCRYPTED },
          { type: 'text', text: 'Well.' },
          { type: 'tool_use', id: 'call_1', name: 'get_capital', input: { country: 'Perú' } },
          { type: 'tool_use', id: 'call_2', name: 'get_time', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'call_1', content: 'get_capital: done' },
          { type: 'tool_result', tool_use_id: 'call_2', content: 'get_time: done' },
        ],
      },
    ]);
  });

  test('Gemini, v4', async () => {
    const { model, body } = GEMINI;
    const request = await secondRequest(
      new AiSdkModel(model(server.url)),
      body({ thinking: ['I look it up.'], calls: CALLS, reason: 'STOP' }),
      body({ text: ['Lima.'], reason: 'STOP' }),
    );
    const [, answer, results] = request['contents'] as readonly JsonObject[];
    expect(answer).toEqual({
      role: 'model',
      parts: [
        { text: 'I look it up.', thought: true },
        {
          functionCall: { id: expect.any(String) as string, name: 'get_capital', args: { country: 'Perú' } },
          thoughtSignature: SIGNATURE,
        },
        { functionCall: { id: expect.any(String) as string, name: 'get_time', args: {} } },
      ],
    });
    expect(results?.['parts']).toHaveLength(2);
  });

  test('but not to another provider', async () => {
    const claude = new AiSdkModel(ANTHROPIC.model(server.url));
    const gemini = new AiSdkModel(GEMINI.model(server.url));
    const body = ANTHROPIC.body({ thinking: ['I look it up.'], calls: CALLS, reason: 'tool_use' });
    const end = GEMINI.body({ text: ['Lima.'], reason: 'STOP' });
    const request = await secondRequest(claude, body, end, gemini);
    expect(JSON.stringify(request)).toContain('get_capital: done');
    expect(JSON.stringify(request)).not.toMatch(/I look it up|EqQBCgIYAhIM1gbc/);
  });

  test('where the Responses API may store an answer, it is sent references', async () => {
    for (const { model, body } of RESPONSES_WIRES) {
      const request = await secondRequest(
        new AiSdkModel(model(server.url), { generation: { extra: { openai: { store: true } } } }),
        body({ thinking: ['I look it up.'], calls: CALLS, reason: 'completed' }),
        body({ text: ['Lima.'], reason: 'completed' }),
      );
      expect((request['input'] as readonly JsonObject[])[1]).toEqual({ type: 'item_reference', id: 'rs_6' });
    }
  });
});

describe('the request', () => {
  const generation = {
    maxTokens: 1000,
    temperature: 0.5,
    topP: 0.9,
    topK: 40,
    stop: ['END'],
    seed: 7,
    presencePenalty: 0.1,
    frequencyPenalty: 0.2,
  };

  test.each(CHAT_WIRES)('$title', async ({ model, body, reasons }) => {
    server.willAnswer(body({ text: ['{}'], reason: reasons.stop }));
    const { topK: _unknown, ...known } = generation;
    await new AiSdkModel(model(server.url), { generation: known, headers: { 'x-team': 'blue' } }).call({
      ...ASK,
      toolChoice: { name: 'get_time' },
      generation: { temperature: 0.25, extra: { openai: { user: 'ann', parallelToolCalls: false } } },
      structured: {
        name: 'city',
        schema: { type: 'object', properties: {}, additionalProperties: false },
      },
    });
    expect(server.requests[0]?.headers['x-team']).toBe('blue');
    expect(server.requests[0]?.body).toMatchObject({
      model: 'gpt-4.1',
      max_tokens: 1000,
      temperature: 0.25,
      top_p: 0.9,
      stop: ['END'],
      seed: 7,
      presence_penalty: 0.1,
      frequency_penalty: 0.2,
      user: 'ann',
      parallel_tool_calls: false,
      tools: [
        {
          type: 'function',
          function: {
            name: 'get_capital',
            description: 'The capital of a country',
            parameters: TOOLS[0]?.parameters,
          },
        },
        { type: 'function', function: { name: 'get_time', parameters: TOOLS[1]?.parameters } },
      ],
      tool_choice: { type: 'function', function: { name: 'get_time' } },
      response_format: { type: 'json_schema', json_schema: { name: 'city' } },
    });
  });

  test(`${GEMINI.title}, with how much to think`, async () => {
    server.willAnswer(GEMINI.body({ text: ['Lima.'], reason: 'STOP' }));
    const { presencePenalty: _a, frequencyPenalty: _b, ...known } = generation;
    await new AiSdkModel(GEMINI.model(server.url)).call({
      ...ASK,
      messages: [Msg.system('Be short.'), ...ASK.messages],
      toolChoice: { allowed: ['get_time'], mode: 'required' },
      generation: { ...known, reasoningEffort: 'low' },
    });
    expect(server.requests[0]?.body).toMatchObject({
      generationConfig: {
        maxOutputTokens: 1000,
        temperature: 0.5,
        topP: 0.9,
        topK: 40,
        stopSequences: ['END'],
        seed: 7,
        thinkingConfig: { thinkingLevel: 'low' },
      },
      systemInstruction: { parts: [{ text: 'Be short.' }] },
      tools: [{ functionDeclarations: [{ name: 'get_time' }] }],
      toolConfig: { functionCallingConfig: { mode: 'ANY' } },
    });
  });

  test('a warning of the package goes into the log', async () => {
    const lines: string[] = [];
    const logger = {
      ...getLogger(),
      log: (level: string, line: string) => void lines.push(`${level}: ${line}`),
    };
    for (const { model, body, reasons } of CHAT_WIRES) {
      server.willAnswer(body({ text: ['Lima.'], reason: reasons.stop }));
      await withRunConfig({ logging: logger }, () =>
        new AiSdkModel(model(server.url)).call({ ...ASK, generation: { topK: 40 } }),
      );
    }
    expect(lines).toEqual([
      'warn: openai.chat warns: unsupported-setting, topK',
      'warn: openai.chat warns: unsupported, topK',
      'warn: openai.chat warns: unsupported, topK',
    ]);
  });
});

describe('media', () => {
  const PNG =
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  const image = { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: PNG } } as const;
  const link = { type: 'image', source: { type: 'url', url: 'https://example.com/map.png' } } as const;
  const historyWith = (status: 'ok' | 'error'): Msg[] => [
    Msg.user([{ type: 'text', text: 'Compare:' }, image, link]),
    Msg.assistant([{ type: 'tool_use', id: 'a', name: 'get_time', input: {} }]),
    Msg.system([
      {
        type: 'tool_result',
        id: 'a',
        name: 'get_time',
        output: [{ type: 'text', text: 'A clock:' }, image],
        status,
      },
    ]),
  ];

  test.each(CHAT_WIRES)('$title', async ({ model, body, reasons }) => {
    server.willAnswer(body({ text: ['Fine.'], reason: reasons.stop }));
    await new AiSdkModel(model(server.url)).call({ messages: historyWith('ok') });
    const shown = { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } };
    expect(sentMessages()).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Compare:' },
          shown,
          { type: 'image_url', image_url: { url: 'https://example.com/map.png' } },
        ],
      },
      {
        role: 'assistant',
        content: expect.toSatisfy((content) => content === '' || content === null) as unknown,
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'get_time', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'a', content: '- A clock:\n- The image is shown below.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: "<system-info>The tool 'get_time' returned:" },
          shown,
          { type: 'text', text: '</system-info>' },
        ],
      },
    ]);
  });

  test('Anthropic, v4', async () => {
    server.willAnswer(ANTHROPIC.body({ text: ['Fine.'], reason: 'end_turn' }));
    await new AiSdkModel(ANTHROPIC.model(server.url)).call({ messages: historyWith('error') });
    const shown = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } };
    const [user, , results] = sentMessages() as readonly JsonObject[];
    expect(user?.['content']).toEqual([
      { type: 'text', text: 'Compare:' },
      shown,
      { type: 'image', source: { type: 'url', url: 'https://example.com/map.png' } },
    ]);
    expect(results?.['content']).toEqual([
      {
        type: 'tool_result',
        tool_use_id: 'a',
        content: '- A clock:\n- The image is shown below.',
        is_error: true,
      },
      { type: 'text', text: "<system-info>The tool 'get_time' returned:" },
      shown,
      { type: 'text', text: '</system-info>' },
    ]);
  });

  test('files that a provider does not fetch and nobody may download are left out', async () => {
    server.willAnswer(GEMINI.body({ text: ['Fine.'], reason: 'STOP' }));
    const page = { type: 'image', source: { type: 'url', url: 'http://10.0.0.1/map.png' } } as const;
    await new AiSdkModel(GEMINI.model(server.url)).call({ messages: [Msg.user([page])] });
    expect(JSON.stringify(sentMessages())).toMatch(/An image was left out here/);
  });
});
