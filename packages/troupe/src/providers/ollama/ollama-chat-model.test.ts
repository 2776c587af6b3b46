import { afterEach, describe, expect, test, vi } from 'vitest';
import { TOOLS } from '../../../test/wire/histories.ts';
import { fetchOf, outcomeOf, readFixtures, toBytes, type SentRequest } from '../../../test/wire/replay.ts';
import { Msg } from '../../message/msg.ts';
import type { ModelRequest } from '../../model/chat-model-base.ts';
import type { ModelError } from '../../model/model-error.ts';
import type { JsonObject } from '../../util/json.ts';
import { OllamaChatModel, type OllamaChatModelOptions } from './ollama-chat-model.ts';

const plain = readFixtures('ollama').get('plain')!;

async function send(
  options: Partial<OllamaChatModelOptions> = {},
  request: Partial<ModelRequest> = {},
): Promise<SentRequest & { json: JsonObject }> {
  const sent: SentRequest[] = [];
  const model = new OllamaChatModel({
    modelName: 'm',
    fetch: fetchOf({ pieces: [plain] }, sent),
    ...options,
  });
  await model.call({ messages: [Msg.user('Hi.')], ...request });
  return { ...sent[0]!, json: JSON.parse(sent[0]!.body) as JsonObject };
}

afterEach(() => vi.unstubAllEnvs());

describe('a request', () => {
  test.each([
    [undefined, undefined, 'http://127.0.0.1:11434/api/chat'],
    [undefined, '', 'http://127.0.0.1:11434/api/chat'],
    [undefined, '0.0.0.0', 'http://127.0.0.1:11434/api/chat'],
    [undefined, '0.0.0.0:4711', 'http://127.0.0.1:4711/api/chat'],
    [undefined, 'https://ollama.test/', 'https://ollama.test/api/chat'],
    ['http://box:4711', 'elsewhere', 'http://box:4711/api/chat'],
  ])('with the baseUrl %s and OLLAMA_HOST %s goes to %s', async (baseUrl, host, url) => {
    vi.stubEnv('OLLAMA_HOST', host);
    expect((await send({ baseUrl })).url).toBe(url);
  });

  test('has a key only where there is one, and headers of ones own instead of ours', async () => {
    vi.stubEnv('OLLAMA_API_KEY', '');
    const json = { 'content-type': 'application/json' };
    expect((await send()).headers).toEqual(json);
    vi.stubEnv('OLLAMA_API_KEY', 'of-env');
    expect((await send()).headers).toEqual({ ...json, authorization: 'Bearer of-env' });
    const { headers } = await send({ apiKey: 'k', headers: { Authorization: 'Basic x', 'X-Team': 'a' } });
    expect(headers).toEqual({ ...json, authorization: 'Basic x', 'x-team': 'a' });
    expect(() => new OllamaChatModel({ modelName: 'm', apiKey: '' })).toThrow('The key for Ollama is empty.');
  });

  test('says no more than what was asked for', async () => {
    expect((await send()).json).toEqual({
      messages: [{ role: 'user', content: 'Hi.' }],
      model: 'm',
      stream: true,
    });
  });

  test('has the options in the words of the wire', async () => {
    const generation = {
      maxTokens: 9,
      temperature: 0,
      topK: 3,
      extra: { options: { num_ctx: 4096 }, raw: true },
    };
    const structured = { schema: { type: 'object' } };
    expect((await send({ keepAlive: -1 }, { generation, structured })).json).toMatchObject({
      keep_alive: -1,
      format: { type: 'object' },
      raw: true,
      options: { num_predict: 9, temperature: 0, top_k: 3, num_ctx: 4096 },
    });
  });

  test.each([
    ['qwen3:8b', { reasoningEffort: 'none' }, false],
    ['qwen3:8b', { thinkingTokens: 0 }, false],
    ['qwen3:8b', { reasoningEffort: 'low' }, true],
    ['qwen3:8b', { reasoningEffort: 'xhigh' }, true],
    ['qwen3:8b', { thinkingTokens: 100 }, true],
    ['qwen3:8b', {}, undefined],
    ['gpt-oss:20b', { reasoningEffort: 'none' }, 'low'],
    ['gpt-oss:20b', { thinkingTokens: 0 }, 'low'],
    ['gpt-oss:20b', { reasoningEffort: 'medium' }, 'medium'],
    ['hf.co/unsloth/GPT-OSS-20b-GGUF', { reasoningEffort: 'xhigh' }, 'high'],
    ['gpt-oss:20b', { thinkingTokens: 100 }, undefined],
    ['gpt-oss:20b', {}, undefined],
  ] as const)('to %s with %j has think %s', async (modelName, generation, think) => {
    expect((await send({ modelName }, { generation })).json['think']).toBe(think);
  });

  test('offers the tools that the choice leaves', async () => {
    const offered = async (toolChoice: ModelRequest['toolChoice']): Promise<unknown> =>
      ((await send({}, { tools: TOOLS, toolChoice })).json['tools'] as JsonObject[] | undefined)?.map(
        (tool) => (tool['function'] as JsonObject)['name'],
      );
    expect(await offered('auto')).toEqual(['get_capital', 'get_time']);
    expect(await offered('none')).toBe(undefined);
    expect(await offered({ name: 'get_time' })).toEqual(['get_time']);
    expect(await offered({ allowed: ['get_capital'] })).toEqual(['get_capital']);
  });

  test('gives thinking back with the calls that it led to, and only there', async () => {
    const thinking = { type: 'thinking', thinking: 'Hm.' } as const;
    const messages = [
      Msg.assistant([thinking, { type: 'text', text: 'Well.' }]),
      Msg.assistant([thinking, { type: 'tool_use', id: 'a', name: 'get_time', input: { zone: 'CET' } }]),
    ];
    expect((await send({}, { messages })).json['messages']).toEqual([
      { role: 'assistant', content: 'Well.' },
      {
        role: 'assistant',
        content: '',
        thinking: 'Hm.',
        tool_calls: [{ id: 'a', function: { name: 'get_time', arguments: { zone: 'CET' } } }],
      },
      {
        role: 'tool',
        content: 'There is no result: the tool call was interrupted.',
        tool_name: 'get_time',
        tool_call_id: 'a',
      },
    ]);
  });
});

test('thinking that somebody else has signed does not go to Ollama', async () => {
  const foreign = { providerMeta: { anthropic: { signature: 'E1' } } };
  const messages = [
    Msg.assistant([
      { type: 'thinking', thinking: 'Theirs.', ...foreign },
      { type: 'thinking', thinking: 'Ours.' },
      { type: 'tool_use', id: 'functions.get_time:0', name: 'get_time', input: {} },
    ]),
  ];
  expect((await send({}, { messages })).json['messages']).toMatchObject([
    { role: 'assistant', thinking: 'Ours.', tool_calls: [{ id: 'functions.get_time:0' }] },
    { role: 'tool', tool_call_id: 'functions.get_time:0' },
  ]);
});

test.each([
  ['an object', { zone: 'CET' }],
  ['text', '{"zone":"CET"}'],
])('arguments that come as %s are read', async (_, args) => {
  const call = { function: { name: 'get_time', arguments: args } };
  const lines = [
    { message: { role: 'assistant', content: '', tool_calls: [call] }, done: false },
    { message: { role: 'assistant', content: '' }, done: true, done_reason: 'stop', eval_count: 3 },
  ];
  const body = toBytes(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const model = new OllamaChatModel({ modelName: 'm', fetch: fetchOf({ pieces: [body], stalls: true }) });
  expect(await outcomeOf(model, { messages: [Msg.user('Hi.')] })).toEqual({
    content: [{ type: 'tool_use', id: 'call_id-2', name: 'get_time', input: { zone: 'CET' } }],
    usage: { inputTokens: 0, outputTokens: 3 },
    finishReason: 'tool_calls',
  });
});

test('a model that is not there is named', async () => {
  const body = toBytes('{"error":"model \'nope\' not found"}');
  const model = new OllamaChatModel({ modelName: 'nope', fetch: fetchOf({ pieces: [body], status: 404 }) });
  const error = await model.call({ messages: [Msg.user('Hi.')] }).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ kind: 'bad_request', status: 404 });
  expect((error as ModelError).message).toBe(
    "Ollama (nope at 127.0.0.1:11434) rejected the request (404). It said: model 'nope' not found. Check the name of the model and the baseUrl.",
  );
});
