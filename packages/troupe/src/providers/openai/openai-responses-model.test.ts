import { describe, expect, test } from 'vitest';
import { TOOLS } from '../../../test/wire/histories.ts';
import { fetchOf, outcomeOf, readFixtures, type SentRequest } from '../../../test/wire/replay.ts';
import { Msg } from '../../message/msg.ts';
import type { ModelRequest } from '../../model/chat-model-base.ts';
import type { JsonObject } from '../../util/json.ts';
import { OpenAIResponsesModel, type OpenAIResponsesModelOptions } from './openai-responses-model.ts';

const fixtures = readFixtures('openai-responses');

async function send(
  options: Partial<OpenAIResponsesModelOptions>,
  request: Partial<ModelRequest>,
): Promise<JsonObject> {
  const sent: SentRequest[] = [];
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
      temperature: 0,
      top_p: 1,
      parallel_tool_calls: false,
      text: { format: { type: 'json_schema', name: 'answer', schema: { type: 'object' }, strict: false } },
      reasoning: { effort: 'low', summary: 'auto' },
      truncation: 'auto',
    });
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
        { type: 'input_image', image_url: 'https://example.com/a.png', detail: 'auto' },
      ],
    });
  });
});

test('thinking without a summary is kept, each piece of it by itself', async () => {
  const item = (id: string): object => ({
    type: 'reasoning',
    id,
    summary: [],
    encrypted_content: `secret ${id}`,
  });
  const events = [
    { type: 'response.output_item.done', output_index: 0, item: item('rs_1') },
    { type: 'response.output_item.done', output_index: 1, item: item('rs_2') },
    { type: 'response.output_text.delta', output_index: 2, delta: 'Hi.' },
    { type: 'response.completed', response: {} },
  ];
  const body = new TextEncoder().encode(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
  const model = new OpenAIResponsesModel({
    modelName: 'gpt-5.1',
    apiKey: 'k',
    fetch: fetchOf({ pieces: [body] }),
  });
  const { content } = await model.call({ messages: [Msg.user('Hi.')] });
  const meta = (id: string): object => ({ openaiResponses: { id, encryptedContent: `secret ${id}` } });
  expect(content).toEqual([
    { type: 'thinking', thinking: '', providerMeta: meta('rs_1') },
    { type: 'thinking', thinking: '', providerMeta: meta('rs_2') },
    { type: 'text', text: 'Hi.' },
  ]);
});
