import { describe, expect, test } from 'vitest';
import { TOOLS } from '../../../test/wire/histories.ts';
import {
  fetchOf,
  outcomeOf,
  readFixtures,
  type Outcome,
  type SentRequest,
} from '../../../test/wire/replay.ts';
import { FormatterBase } from '../../formatter/formatter-base.ts';
import type { Prompt, PromptItem } from '../../formatter/prompt.ts';
import type { ContentBlock } from '../../message/blocks.ts';
import { Msg } from '../../message/msg.ts';
import type { ModelRequest } from '../../model/chat-model-base.ts';
import type { JsonObject } from '../../util/json.ts';
import { OpenAIResponsesModel, type OpenAIResponsesModelOptions } from './openai-responses-model.ts';

const fixtures = readFixtures('openai-responses');

async function send(
  options: Partial<OpenAIResponsesModelOptions>,
  request: Partial<ModelRequest>,
  sent: SentRequest[] = [],
): Promise<JsonObject> {
  const fetch = fetchOf({ pieces: [fixtures.get('plain')!] }, sent);
  const model = new OpenAIResponsesModel({ modelName: 'gpt-5.1', apiKey: 'k', fetch, ...options });
  await model.call({ messages: [Msg.user('Hi.')], ...request });
  return JSON.parse(sent[0]!.body) as JsonObject;
}

describe('a request', () => {
  test('says no more than what was asked for, and asks for the thinking', async () => {
    expect(await send({}, {})).toEqual({
      input: [{ role: 'user', content: [{ type: 'input_text', text: 'Hi.' }] }],
      model: 'gpt-5.1',
      stream: true,
      store: false,
      include: ['reasoning.encrypted_content'],
    });
    expect(await send({ modelName: 'gpt-5.1', baseUrl: 'http://proxy.test/v1' }, {})).toHaveProperty(
      'include',
    );
    for (const modelName of ['gpt-4.1', 'gpt-5-chat-latest']) {
      expect(await send({ modelName }, {})).not.toHaveProperty('include');
    }
    expect(await send({ modelName: 'mine', isReasoning: true }, {})).toHaveProperty('include');
  });

  test('has the options in the words of the wire', async () => {
    const generation = {
      maxTokens: 9,
      temperature: 0,
      topP: 1,
      seed: 3,
      stop: ['x'],
      reasoningEffort: 'low',
      parallelToolCalls: false,
      extra: { truncation: 'auto' },
    } as const;
    const {
      input: _i,
      tools: _t,
      model: _m,
      stream: _s,
      include: _e,
      ...rest
    } = await send(
      { reasoningSummary: 'auto', store: true },
      { generation, tools: TOOLS, structured: { schema: { type: 'object' } } },
    );
    expect(rest).toEqual({
      store: true,
      max_output_tokens: 9,
      parallel_tool_calls: false,
      text: { format: { type: 'json_schema', name: 'answer', schema: { type: 'object' }, strict: false } },
      reasoning: { effort: 'low', summary: 'auto' },
      truncation: 'auto',
    });
  });

  test('has the options that the model takes', async () => {
    const generation = { temperature: 0, topP: 1, reasoningEffort: 'none', extra: { top_p: 0.5 } } as const;
    expect(await send({}, { generation })).toMatchObject({
      temperature: 0,
      top_p: 0.5,
      reasoning: { effort: 'none' },
    });
    const plain = await send({ modelName: 'gpt-4.1' }, { generation: { ...generation, extra: {} } });
    expect(plain).toMatchObject({ temperature: 0, top_p: 1 });
    expect(plain).not.toHaveProperty('reasoning');
    expect(await send({ modelName: 'o3' }, { generation })).toMatchObject({ reasoning: { effort: 'low' } });
    const tools = await send(
      { modelName: 'gpt-5.6' },
      { tools: TOOLS, generation: { reasoningEffort: 'high' } },
    );
    expect(tools).toMatchObject({ reasoning: { effort: 'high' } });
  });

  test.each([
    [
      { vendor: 'azure', apiVersion: '2025-04-01-preview' },
      '/openai/responses?api-version=2025-04-01-preview',
    ],
    [{ vendor: 'azure' }, '/openai/v1/responses'],
  ] as const)('of %j goes to %s', async (options, path) => {
    const sent: SentRequest[] = [];
    const body = await send(
      { ...options, modelName: 'my 5', baseUrl: 'https://me.openai.azure.com' },
      {},
      sent,
    );
    expect(sent[0]?.url).toBe(`https://me.openai.azure.com${path}`);
    expect(body['model']).toBe('my 5');
  });

  const own = { openaiResponses: { id: 'rs_1', encryptedContent: 'secret' } };
  const thinking: ContentBlock = { type: 'thinking', thinking: 'Hm \ud83d', providerMeta: own };
  const reasoning = {
    type: 'reasoning',
    id: 'rs_1',
    summary: [{ type: 'summary_text', text: 'Hm \ufffd' }],
    encrypted_content: 'secret',
  };
  const well: ContentBlock = { type: 'text', text: 'Well.' };
  const wellItem = { role: 'assistant', content: [{ type: 'output_text', text: 'Well.' }] };
  const inputOf = async (content: ContentBlock[], options = {}): Promise<unknown> =>
    (await send(options, { messages: [Msg.assistant(content), Msg.assistant('So.')] }))['input'];
  const so = { role: 'assistant', content: [{ type: 'output_text', text: 'So.' }] };

  test('has no thinking that nothing of the same message follows', async () => {
    expect(await inputOf([thinking, well])).toEqual([reasoning, wellItem, so]);
    expect(await inputOf([thinking, well, thinking, thinking])).toEqual([reasoning, wellItem, so]);
    const sound: ContentBlock = {
      type: 'audio',
      source: { type: 'base64', mediaType: 'audio/wav', data: 'UklGRg==' },
    };
    expect(await inputOf([thinking, sound])).toEqual([so]);
  });

  test('has no thinking that another vendor has encrypted', async () => {
    const azure = { vendor: 'azure', baseUrl: 'https://me.openai.azure.com' };
    expect(await inputOf([thinking, well], azure)).toEqual([wellItem, so]);
    const foreign = { azureResponses: { id: 'rs_1', encryptedContent: 'secret' } };
    expect(await inputOf([{ ...thinking, providerMeta: foreign }, well])).toEqual([wellItem, so]);
    expect(await inputOf([{ ...thinking, providerMeta: foreign }, well], azure)).toEqual([
      reasoning,
      wellItem,
      so,
    ]);
  });

  test('says again which phase a message was of', async () => {
    const model = new OpenAIResponsesModel({
      modelName: 'gpt-5.3-codex',
      apiKey: 'k',
      fetch: fetchOf({ pieces: [fixtures.get('phases')!] }),
    });
    const { content } = await outcomeOf(model, { messages: [Msg.user('Hi.')] });
    expect(await inputOf([...content])).toEqual([
      { role: 'assistant', content: [{ type: 'output_text', text: 'I look it up.' }], phase: 'commentary' },
      { role: 'assistant', content: [{ type: 'output_text', text: 'Tokyo 🗼.' }], phase: 'final_answer' },
      so,
    ]);
  });

  test('has the ids of calls as they came, unless they are too long, whoever formats it', async () => {
    const idsOf = async (id: string): Promise<unknown[]> => {
      const items: readonly PromptItem[] = [
        { role: 'assistant', name: 'a', content: [{ type: 'tool_use', id, name: 'a', input: {} }] },
        { role: 'tool', results: [{ type: 'tool_result', id, name: 'a', output: '9', status: 'ok' }] },
      ];
      class OwnFormatter extends FormatterBase {
        override async format(): Promise<Prompt> {
          return { items, repairs: [] };
        }
      }
      const { input } = await send({}, { formatter: new OwnFormatter() });
      return (input as JsonObject[]).map((item) => item['call_id']);
    };
    expect(await idsOf('functions.a:0')).toEqual(['functions.a:0', 'functions.a:0']);
    const [call, result] = await idsOf('x'.repeat(65));
    expect(call).toMatch(/^call_[0-9a-f]{16}$/);
    expect(result).toBe(call);
  });

  test('lets nobody look for images in our own network', async () => {
    const url = 'http://169.254.169.254/latest';
    const messages = [Msg.user([{ type: 'image', source: { type: 'url', url } }])];
    expect(JSON.stringify(await send({}, { messages }))).toContain(url);
    for (const options of [{ vendor: 'vllm' }, { baseUrl: 'http://x.test' }] as const) {
      expect(JSON.stringify(await send(options, { messages }))).not.toContain(url);
    }
  });

  test('may allow some of the tools, without hiding the others from the cache', async () => {
    const body = await send({}, { tools: TOOLS, toolChoice: { allowed: ['get_time'], mode: 'required' } });
    expect(body['tool_choice']).toEqual({
      type: 'allowed_tools',
      mode: 'required',
      tools: [{ type: 'function', name: 'get_time' }],
    });
    expect(body['tools']).toHaveLength(2);
    expect((await send({}, { tools: TOOLS, toolChoice: { name: 'get_time' } }))['tool_choice']).toEqual({
      type: 'function',
      name: 'get_time',
    });
  });

  test('gives the thinking back as it came, after it was saved and loaded; that of others stays out', async () => {
    const model = new OpenAIResponsesModel({
      modelName: 'gpt-5.1',
      apiKey: 'k',
      fetch: fetchOf({ pieces: [fixtures.get('thinking-and-tools')!] }),
    });
    const { content } = await outcomeOf(model, { messages: [Msg.user('Hi.')] });
    const saved = Msg.from(JSON.parse(JSON.stringify(Msg.assistant(content))));
    const result = Msg.system([
      { type: 'tool_result', id: 'call_J', name: 'get_capital', output: 'Tokyo', status: 'ok' },
    ]);
    const foreign = Msg.assistant([
      { type: 'thinking', thinking: 'Hm.', providerMeta: { anthropic: { signature: 'x' } } },
      { type: 'text', text: 'Well.' },
    ]);
    const { input } = await send({}, { messages: [Msg.user('Hi.'), foreign, saved, result] });
    expect(input).toEqual([
      { role: 'user', content: [{ type: 'input_text', text: 'Hi.' }] },
      { role: 'assistant', content: [{ type: 'output_text', text: 'Well.' }] },
      {
        type: 'reasoning',
        id: 'rs_0a',
        summary: [{ type: 'summary_text', text: 'Look up 日本.\n\nThen answer.' }],
        encrypted_content: 'gAAAAABo-enc==',
      },
      { type: 'function_call', call_id: 'call_J', name: 'get_capital', arguments: '{"country":"Japan"}' },
      { type: 'function_call_output', call_id: 'call_J', output: 'Tokyo' },
    ]);
  });

  test('shows media in the results themselves', async () => {
    const image = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } } as const;
    const messages = [
      Msg.assistant([{ type: 'tool_use', id: 'a', name: 'draw', input: {} }]),
      Msg.system([
        {
          type: 'tool_result',
          id: 'a',
          name: 'draw',
          output: [{ type: 'text', text: 'See:' }, image],
          status: 'ok',
        },
      ]),
    ];
    const { input } = await send({}, { messages });
    expect((input as JsonObject[])[1]).toEqual({
      type: 'function_call_output',
      call_id: 'a',
      output: [
        { type: 'input_text', text: 'See:' },
        { type: 'input_text', text: 'Image: https://example.com/a.png' },
        { type: 'input_image', image_url: 'https://example.com/a.png', detail: 'auto' },
      ],
    });
  });
});

/** Answer decoded from events. */
async function read(events: readonly object[]): Promise<Outcome> {
  const body = new TextEncoder().encode(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
  const fetch = fetchOf({ pieces: [body] });
  const model = new OpenAIResponsesModel({ modelName: 'gpt-5.1', apiKey: 'k', fetch });
  return outcomeOf(model, { messages: [Msg.user('Hi.')] });
}
const event = (type: string, output_index?: number, more: object = {}): object => ({
  type: `response.${type}`,
  ...(output_index !== undefined && { output_index }),
  ...more,
});
const completed = event('completed', undefined, { response: {} });
const reasoningItem = (id: string, more = {}): object => ({
  item: { type: 'reasoning', id, summary: [], encrypted_content: `secret ${id}`, ...more },
});
const thought = (id: string, thinking = ''): object => ({
  type: 'thinking',
  thinking,
  providerMeta: { openaiResponses: { id, encryptedContent: `secret ${id}` } },
});
const callItem = (n: number, status = 'completed'): object => ({
  item: { type: 'function_call', call_id: `c${n}`, name: 'a', arguments: `{"n":${n}}`, status },
});
const called = (n: number): object => ({ type: 'tool_use', id: `c${n}`, name: 'a', input: { n } });
const args = (n: number): object => event('function_call_arguments.delta', n, { delta: `{"n":${n}}` });

describe('an answer', () => {
  test('keeps thinking without a summary, each piece of it by itself', async () => {
    const { content } = await read([
      event('output_item.done', 0, reasoningItem('rs_1')),
      event('output_item.done', 1, reasoningItem('rs_2')),
      event('output_text.delta', 2, { delta: 'Hi.' }),
      completed,
    ]);
    expect(content).toEqual([thought('rs_1'), thought('rs_2'), { type: 'text', text: 'Hi.' }]);
  });

  test('has its blocks in the order of its items, whenever they are told to the end', async () => {
    const { content } = await read([
      event('output_item.added', 0, { item: { type: 'reasoning', id: 'rs_1', summary: [] } }),
      event('reasoning_summary_text.delta', 0, { summary_index: 0, delta: 'One.' }),
      event('output_item.added', 1, { item: { type: 'message' } }),
      event('output_text.delta', 1, { delta: 'Hi' }),
      event('output_item.added', 2, { item: { type: 'reasoning', id: 'rs_2', summary: [] } }),
      event('reasoning_summary_text.delta', 2, { summary_index: 0, delta: 'Two.' }),
      event('output_item.added', 3, { item: { type: 'function_call', call_id: 'c3', name: 'a' } }),
      args(3),
      event('output_text.delta', 1, { delta: '.' }),
      event('output_item.done', 3, callItem(3)),
      event('output_item.done', 2, reasoningItem('rs_2')),
      event('output_item.done', 1, { item: { type: 'message' } }),
      event('output_item.done', 0, reasoningItem('rs_1')),
      completed,
    ]);
    expect(content).toEqual([
      thought('rs_1', 'One.'),
      { type: 'text', text: 'Hi.' },
      thought('rs_2', 'Two.'),
      called(3),
    ]);
  });

  test('makes all calls of an answer that is complete, however they are mixed', async () => {
    const added = [0, 1, 2].map((n) => event('output_item.added', n, callItem(n, 'in_progress')));
    const done = [2, 0, 1].map((n) => event('output_item.done', n, callItem(n)));
    expect(await read([...added, args(1), args(0), args(2), ...done, completed])).toEqual({
      content: [called(0), called(1), called(2)],
      finishReason: 'tool_calls',
    });
  });

  test('that is cut off makes no call that may be cut off with it', async () => {
    const added = [0, 1, 2].map((n) => event('output_item.added', n, callItem(n, 'in_progress')));
    const cutOff = event('incomplete', undefined, {
      response: { incomplete_details: { reason: 'max_output_tokens' } },
    });
    const done = (n: number, status?: string): object => event('output_item.done', n, callItem(n, status));
    const contentOf = async (...events: object[]): Promise<unknown> => {
      const { content, finishReason } = await read([...added, args(0), args(1), ...events, cutOff]);
      expect(finishReason).toBe('length');
      return content;
    };
    expect(await contentOf()).toEqual([]);
    expect(await contentOf(done(0))).toEqual([]);
    expect(await contentOf(done(0), done(1))).toEqual([called(0)]);
    expect(await contentOf(done(0), done(1, 'incomplete'))).toEqual([]);
    expect(await contentOf(done(0), event('output_item.added', 3, { item: { type: 'message' } }))).toEqual([
      called(0),
    ]);
  });

  test('that fails keeps what was told, and what it cost', async () => {
    const usage = { input_tokens: 5, output_tokens: 6 };
    const outcome = await read([
      event('output_item.added', 0, { item: { type: 'reasoning', id: 'rs_1', summary: [] } }),
      event('output_text.delta', 1, { delta: 'Hi.' }),
      event('failed', undefined, {
        response: { error: { code: 'rate_limit_exceeded', message: 'No.' }, usage },
      }),
    ]);
    expect(outcome).toEqual({
      content: [{ type: 'text', text: 'Hi.' }],
      usage: { inputTokens: 5, outputTokens: 6, cachedTokens: 0, reasoningTokens: 0 },
      error: 'rate_limit',
    });
  });

  test('of a server that tells neither where an item begins nor its number is read as it comes', async () => {
    const { content } = await read([
      event('output_item.added', 0, { item: { type: 'reasoning', id: 'rs_1' } }),
      event('output_item.done', 0, reasoningItem('rs_1')),
      event('output_text.delta', undefined, { delta: 'Hi' }),
      event('output_text.delta', undefined, { delta: '.' }),
      event('output_item.done', undefined, { item: { type: 'message', phase: 'final_answer' } }),
      completed,
    ]);
    const providerMeta = { openaiResponses: { phase: 'final_answer' } };
    expect(content).toEqual([thought('rs_1'), { type: 'text', text: 'Hi.', providerMeta }]);
  });

  test('of a server that leaves out what can be guessed is read all the same', async () => {
    const { content } = await read([
      event('output_item.added', 0, { item: { type: 'reasoning', id: 'rs_1' } }),
      event('reasoning_summary_text.delta', undefined, { delta: 'Hm.' }),
      event('output_item.done', 0, reasoningItem('rs_1')),
      event('output_item.done', 1, reasoningItem('rs_2', { summary: [{ text: 'One.' }, { text: 'Two.' }] })),
      event(
        'output_item.done',
        2,
        reasoningItem('rs_3', { encrypted_content: null, summary: [{ text: 'X.' }] }),
      ),
      event('output_item.added', 3, { item: { type: 'message', id: 'msg_1' } }),
      event('output_text.delta', undefined, { delta: 'Hi' }),
      event('output_text.delta', undefined, { delta: '.' }),
      event('output_item.done', 3, {
        item: { type: 'message', content: [{ type: 'output_text', text: 'Hi.' }] },
      }),
      event('output_item.done', 4, callItem(4)),
      event('output_item.done', 5, {
        item: { type: 'message', phase: 'final_answer', content: [{ type: 'output_text', text: 'So.' }] },
      }),
      event('output_item.done', 6, { item: { type: 'message', phase: 'commentary', content: [] } }),
      completed,
    ]);
    expect(content).toEqual([
      thought('rs_1', 'Hm.'),
      thought('rs_2', 'One.\n\nTwo.'),
      { type: 'thinking', thinking: 'X.' },
      { type: 'text', text: 'Hi.' },
      called(4),
      { type: 'text', text: 'So.', providerMeta: { openaiResponses: { phase: 'final_answer' } } },
    ]);
  });
});
