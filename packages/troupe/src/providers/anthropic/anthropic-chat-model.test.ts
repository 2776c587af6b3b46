import { afterEach, describe, expect, test, vi } from 'vitest';
import { anthropicFaults } from '../../../test/wire/anthropic-rules.ts';
import { HISTORIES, TOOLS } from '../../../test/wire/histories.ts';
import {
  fetchOf,
  readFixtures,
  toBytes,
  toText,
  type Delivery,
  type SentRequest,
} from '../../../test/wire/replay.ts';
import { withRunConfig } from '../../config/run-config.ts';
import type { Logger } from '../../config/logger.ts';
import { Msg } from '../../message/msg.ts';
import type { GenerationOptions, ModelRequest } from '../../model/chat-model-base.ts';
import type { ModelError } from '../../model/model-error.ts';
import { chatModelContract, CONTRACT_CALLS, CONTRACT_TEXT } from '../../testing/chat-model-contract.ts';
import { parseJson, type JsonObject } from '../../util/json.ts';
import { AnthropicChatModel, type AnthropicChatModelOptions } from './anthropic-chat-model.ts';

const fixtures = readFixtures('anthropic');
const ASK: ModelRequest = { messages: [Msg.user('Hi.')] };
const KEY = 'sk-ant-api03-secret';

interface Sent extends SentRequest {
  readonly json: JsonObject;
  readonly warnings: readonly string[];
}

async function send(
  options: Partial<AnthropicChatModelOptions> = {},
  request: Partial<ModelRequest> = {},
): Promise<Sent> {
  const sent: SentRequest[] = [];
  const warnings: string[] = [];
  const logger: Logger = { log: (level, message) => void (level === 'warn' && warnings.push(message)) };
  const fetch = fetchOf({ pieces: [fixtures.get('plain')!] }, sent);
  const model = new AnthropicChatModel({ modelName: 'claude-sonnet-4-5', apiKey: KEY, fetch, ...options });
  await withRunConfig({ logging: logger }, () => model.call({ ...ASK, ...request }));
  const [first] = sent;
  return { ...first!, warnings, json: JSON.parse(first!.body) as JsonObject };
}

afterEach(() => vi.unstubAllEnvs());

describe('where a request goes', () => {
  test.each([
    [undefined, 'https://api.anthropic.com/v1/messages'],
    ['http://127.0.0.1:9/anthropic/', 'http://127.0.0.1:9/anthropic/v1/messages'],
    ['https://gateway.test/v1', 'https://gateway.test/v1/messages'],
  ])('%s', async (baseUrl, url) => {
    expect((await send({ baseUrl })).url).toBe(url);
  });

  test('with the key, the version, the betas and further headers', async () => {
    vi.stubEnv('ANTHROPIC_API_KEY', 'sk-ant-env');
    const { headers } = await send({
      apiKey: undefined,
      betas: ['context-1m-2025-08-07', 'x', 'x'],
      headers: { 'x-team': 'blue' },
    });
    expect(headers).toEqual({
      'content-type': 'application/json',
      'x-api-key': 'sk-ant-env',
      'anthropic-version': '2023-06-01',
      'anthropic-beta': 'context-1m-2025-08-07,x',
      'x-team': 'blue',
    });
  });

  test('with headers of ones own instead of ours, however they are written, and with the betas of both', async () => {
    const { headers } = await send({
      modelName: 'claude-opus-5-5',
      betas: ['a'],
      headers: { 'X-Api-Key': 'of-the-gateway', 'Anthropic-Version': '2099-01-01', 'Anthropic-Beta': 'b, a' },
    });
    expect(headers).toEqual({
      'content-type': 'application/json',
      'x-api-key': 'of-the-gateway',
      'anthropic-version': '2099-01-01',
      'anthropic-beta': 'thinking-binding-controls-2026-08-01,a,b',
    });
  });

  test.each<[RegExp, Partial<AnthropicChatModelOptions>]>([
    [/ANTHROPIC_API_KEY, or give the option apiKey/, { apiKey: undefined }],
    [/^The key for Anthropic is empty/, { apiKey: '' }],
    [/^The key for Anthropic contains white space/, { apiKey: 'sk-ant\n' }],
    [/baseUrl of Anthropic must be a URL/, { baseUrl: 'api.anthropic.com' }],
    [/must not contain a user or a password/, { baseUrl: 'https://me:pw@gateway.test' }],
    [/modelName/, { modelName: '' }],
    [/caching must be/, { caching: { ttl: '2h' as '1h' } }],
  ])('is clear beforehand: %s', (problem, options) => {
    vi.stubEnv('ANTHROPIC_API_KEY', '');
    const make = () => new AnthropicChatModel({ modelName: 'claude-opus-5', apiKey: KEY, ...options });
    expect(make).toThrow(problem);
  });
});

describe('the body of a request', () => {
  test('by default', async () => {
    const { json } = await send(
      {},
      { messages: [Msg.system('A'), Msg.system('B'), Msg.user('Hi.')], tools: TOOLS },
    );
    const cache_control = { type: 'ephemeral' };
    expect(json).toEqual({
      model: 'claude-sonnet-4-5',
      max_tokens: 32_000,
      stream: true,
      cache_control,
      system: [
        { type: 'text', text: 'A' },
        { type: 'text', text: 'B', cache_control },
      ],
      tools: [
        {
          name: 'get_capital',
          description: 'The capital of a country',
          input_schema: TOOLS[0]!.parameters,
        },
        { name: 'get_time', input_schema: TOOLS[1]!.parameters, cache_control },
      ],
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi.' }] }],
    });
  });

  test.each<[AnthropicChatModelOptions['caching'], object | undefined]>([
    ['auto', { type: 'ephemeral' }],
    ['off', undefined],
    [{ ttl: '5m' }, { type: 'ephemeral', ttl: '5m' }],
    [{ ttl: '1h' }, { type: 'ephemeral', ttl: '1h' }],
  ])('caching: %j', async (caching, mark) => {
    const messages = [Msg.system('A'), Msg.user('Hi.'), Msg.assistant('Yes?'), Msg.user('Well?')];
    const { json, body } = await send({ caching }, { messages, tools: TOOLS.slice(0, 1) });
    expect(json['cache_control']).toEqual(mark);
    expect((json['system'] as JsonObject[])[0]!['cache_control']).toEqual(mark);
    expect((json['tools'] as JsonObject[])[0]!['cache_control']).toEqual(mark);
    expect(body.split('cache_control').length - 1).toBe(mark ? 3 : 0); // none inside of the history
  });

  test('a start and an end by the user, whatever the history', async () => {
    const { json } = await send(
      {},
      { messages: [Msg.assistant('Hello!'), Msg.user('Hi.'), Msg.assistant('So?')] },
    );
    expect(json['messages']).toEqual([
      { role: 'user', content: [{ type: 'text', text: '(The conversation begins.)' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'Hello!' }] },
      { role: 'user', content: [{ type: 'text', text: 'Hi.' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'So?' }] },
      { role: 'user', content: [{ type: 'text', text: '(Go on.)' }] },
    ]);
  });

  test.each<[GenerationOptions, object]>([
    [
      { maxTokens: 7, topK: 3, stop: ['END', ' '] },
      { max_tokens: 7, top_k: 3, stop_sequences: ['END'] },
    ],
    [{ stop: ['\n'] }, { stop_sequences: undefined }],
    [
      { temperature: 1.5, topP: 0.9 },
      { temperature: 1, top_p: undefined },
    ],
    [{ topP: 0.9 }, { temperature: undefined, top_p: 0.9 }],
    [
      { seed: 1, presencePenalty: 1 },
      { seed: undefined, presence_penalty: undefined },
    ],
    [{ extra: { max_tokens: 9, service_tier: 'auto' } }, { max_tokens: 9, service_tier: 'auto' }],
  ])('generation: %j', async (generation, fields) => {
    const { json } = await send({}, { generation });
    expect(Object.fromEntries(Object.keys(fields).map((key) => [key, json[key]]))).toEqual(fields);
    expect(anthropicFaults(json)).toEqual([]);
  });

  test.each<[Partial<ModelRequest>, object | undefined]>([
    [{}, undefined],
    [{ toolChoice: 'auto' }, { type: 'auto' }],
    [{ toolChoice: 'none', generation: { parallelToolCalls: false } }, { type: 'none' }],
    [{ toolChoice: 'required' }, { type: 'any' }],
    [{ toolChoice: { name: 'get_time' } }, { type: 'tool', name: 'get_time' }],
    [{ toolChoice: { allowed: ['get_time'] } }, { type: 'auto' }],
    [{ toolChoice: { allowed: ['get_time'], mode: 'required' } }, { type: 'any' }],
    [{ generation: { parallelToolCalls: false } }, { type: 'auto', disable_parallel_tool_use: true }],
    [
      { toolChoice: 'required', generation: { parallelToolCalls: false } },
      { type: 'any', disable_parallel_tool_use: true },
    ],
  ])('choice: %j', async (request, choice) => {
    const { json, warnings } = await send({}, { tools: TOOLS, ...request });
    expect(json['tool_choice']).toEqual(choice);
    expect(json['tools']).toHaveLength(
      typeof request.toolChoice === 'object' && 'allowed' in request.toolChoice ? 1 : 2,
    );
    expect(warnings).toEqual([]);
  });

  test.each<[string, GenerationOptions, Partial<AnthropicChatModelOptions>, string]>([
    ['claude-sonnet-4-5', { reasoningEffort: 'low' }, {}, 'auto'],
    ['claude-opus-4-7', { reasoningEffort: 'low' }, {}, 'auto'],
    ['claude-opus-4-7', {}, {}, 'any'],
    ['claude-opus-5', { reasoningEffort: 'low' }, {}, 'any'],
    ['claude-opus-5-5', {}, {}, 'auto'],
    ['claude-opus-5-5', {}, { capabilities: { forcedTools: 'always' } }, 'any'],
  ])(
    'a forced choice of %s with %j is made where it can be',
    async (modelName, generation, options, type) => {
      const { json, warnings } = await send(
        { modelName, ...options },
        { tools: TOOLS, toolChoice: 'required', generation },
      );
      expect(json['tool_choice']).toEqual({ type });
      expect(warnings).toEqual(
        type === 'any'
          ? []
          : [expect.stringMatching(/^This Claude model does not support forced tool calls/)],
      );
    },
  );

  test('a schema, in the words that Claude takes', async () => {
    const structured = { schema: { type: 'object', properties: { n: { type: 'integer', minimum: 1 } } } };
    const { json } = await send(
      { modelName: 'claude-opus-4-6' },
      { structured, generation: { reasoningEffort: 'xhigh' } },
    );
    const schema = { type: 'object', properties: { n: { type: 'integer' } }, additionalProperties: false };
    expect(json['output_config']).toEqual({ effort: 'max', format: { type: 'json_schema', schema } });
    const open = send({}, { structured: { schema: { type: 'object' } } });
    await expect(open).rejects.toMatchObject({ kind: 'bad_request', isRetryable: false });
  });
});

describe('thinking', () => {
  const binding = { block_binding: { prefix_mismatch_behavior: 'drop_block' } };
  test.each<[string, GenerationOptions, object]>([
    ['claude-3-5-sonnet-20241022', { reasoningEffort: 'high' }, { max_tokens: 8192 }],
    ['claude-sonnet-4-5', { reasoningEffort: 'none' }, { max_tokens: 32_000 }],
    [
      'claude-sonnet-4-5',
      { reasoningEffort: 'medium', temperature: 0.5, topK: 3 },
      {
        max_tokens: 32_000,
        thinking: { type: 'enabled', budget_tokens: 8192 },
      },
    ],
    [
      'claude-sonnet-4-5',
      { thinkingTokens: 5, maxTokens: 100 },
      {
        max_tokens: 1124,
        thinking: { type: 'enabled', budget_tokens: 1024 },
      },
    ],
    [
      'claude-opus-4-1',
      { thinkingTokens: 99_000 },
      {
        max_tokens: 32_000,
        thinking: { type: 'enabled', budget_tokens: 30_976 },
      },
    ],
    [
      'claude-opus-4-1',
      { thinkingTokens: 30_000, maxTokens: 5000 },
      { max_tokens: 32_000, thinking: { type: 'enabled', budget_tokens: 30_000 } },
    ],
    [
      'glm-4.6',
      { thinkingTokens: 99_000 },
      {
        max_tokens: 107_192,
        thinking: { type: 'enabled', budget_tokens: 99_000 },
      },
    ],
    ['claude-opus-4-6', {}, { max_tokens: 64_000 }],
    ['claude-opus-4-6', { thinkingTokens: 0, temperature: 0.5 }, { max_tokens: 64_000, temperature: 0.5 }],
    [
      'claude-opus-4-8',
      { thinkingTokens: 9000, temperature: 0.5 },
      {
        max_tokens: 64_000,
        thinking: { type: 'adaptive', display: 'summarized' },
      },
    ],
    [
      'claude-sonnet-5',
      { reasoningEffort: 'minimal', topP: 0.9 },
      {
        max_tokens: 64_000,
        thinking: { type: 'adaptive', display: 'summarized' },
        output_config: { effort: 'low' },
      },
    ],
    ['claude-sonnet-5', { reasoningEffort: 'none' }, { max_tokens: 64_000, thinking: { type: 'disabled' } }],
    ['claude-fable-5', { reasoningEffort: 'none' }, { max_tokens: 64_000, output_config: { effort: 'low' } }],
    ['claude-sonnet-5-5', { thinkingTokens: 0 }, { max_tokens: 64_000, thinking: { type: 'between_tools' } }],
    ['claude-opus-5-5', {}, { max_tokens: 64_000, thinking: { type: 'adaptive', ...binding } }],
    [
      'claude-opus-5-5',
      { reasoningEffort: 'xhigh' },
      {
        max_tokens: 64_000,
        thinking: { type: 'adaptive', display: 'summarized', ...binding },
        output_config: { effort: 'xhigh' },
      },
    ],
    [
      'claude-opus-5-5',
      { reasoningEffort: 'none' },
      {
        max_tokens: 64_000,
        thinking: { type: 'adaptive', ...binding },
        output_config: { effort: 'low' },
      },
    ],
  ])('%s, asked by %j', async (modelName, generation, fields) => {
    const { json, headers } = await send({ modelName }, { generation });
    const { model: _m, stream: _s, cache_control: _c, messages: _h, ...rest } = json;
    expect(rest).toEqual(fields);
    expect(headers['anthropic-beta']).toBe(
      /5-5/.test(modelName) ? 'thinking-binding-controls-2026-08-01' : undefined,
    );
  });

  /** Thinking and tool calls of Claude, saved and loaded, followed by their results. */
  async function toolTurn(fixture: string): Promise<Msg[]> {
    const fetch = fetchOf({ pieces: [fixtures.get(fixture)!] });
    const answer = await new AnthropicChatModel({ modelName: 'claude-sonnet-5', apiKey: KEY, fetch }).call(
      ASK,
    );
    const results = answer
      .getContentBlocks('tool_use')
      .map(({ id, name }) => ({ type: 'tool_result', id, name, output: 'Tokyo', status: 'ok' }) as const);
    const turn = [
      ...ASK.messages,
      answer,
      ...(results.length > 0 ? [Msg.system(results)] : [Msg.user('And?')]),
    ];
    return turn.map((msg) => Msg.from(JSON.parse(JSON.stringify(msg)) as JsonObject));
  }
  const assistantIn = (json: JsonObject): unknown =>
    (json['messages'] as JsonObject[]).find(({ role }) => role === 'assistant')?.['content'];

  test('goes back as it came, even after a save', async () => {
    const { json } = await send(
      { modelName: 'claude-sonnet-5' },
      { messages: await toolTurn('thinking-and-tools') },
    );
    const signature = 'EqQBCkYIBxgCKkCkVY7Lw+8rAq1RcGqBkZb0f+3VQ9Zt5sYzQvJx==';
    expect(assistantIn(json)).toEqual([
      { type: 'thinking', thinking: 'The user asks about 日本 🗾.', signature },
      { type: 'text', text: 'Let me look.' },
      {
        type: 'tool_use',
        id: 'toolu_01A09q90qw90lq917835lq9',
        name: 'get_capital',
        input: { country: 'Japan' },
      },
    ]);
    const redacted = await send({}, { messages: await toolTurn('redacted-thinking') });
    expect(assistantIn(redacted.json)).toEqual([
      { type: 'thinking', thinking: 'Öne.', signature },
      {
        type: 'redacted_thinking',
        data: 'EmwKAhgBEgy3va3pzix+LafPsn4aDFIT2Xlxh0L5L8rLVyIwxtE3rAFBa8cr3qpPkNRj2Yfw',
      },
      { type: 'thinking', thinking: 'Two', signature: 'EtwoCkYIBxgCKkBSecondSignature==' },
      { type: 'thinking', thinking: ' three.', signature: 'EthreeCkYIBxgCKkBThirdSignature=' },
      { type: 'text', text: 'Gut.' },
    ]);
  });

  test.each([
    ['claude-3-5-sonnet-20241022', {}],
    ['claude-sonnet-5-5', { reasoningEffort: 'none' as const }],
  ])('does not go back where there must be none (%s)', async (modelName, generation) => {
    const messages = await toolTurn('thinking-and-tools');
    const { json } = await send({ modelName }, { messages, generation });
    expect(assistantIn(json)).toMatchObject([{ type: 'text' }, { type: 'tool_use' }]);
  });

  test('up to a budget does not start in the middle of a turn', async () => {
    const thought = await toolTurn('thinking-and-tools');
    const plain = await toolTurn('parallel-tools');
    const generation: GenerationOptions = { reasoningEffort: 'low' };
    const on = { type: 'enabled', budget_tokens: 2048 };
    const thinkingIn = async (...messages: Msg[]) =>
      (await send({}, { messages, generation })).json['thinking'];
    expect(await thinkingIn(...thought)).toEqual(on);
    expect(await thinkingIn(...plain)).toBe(undefined);
    expect(await thinkingIn(...plain, Msg.user('And?'))).toEqual(on);
    expect(await thinkingIn(...plain, Msg.assistant('Lima.'))).toEqual(on);
    expect(await thinkingIn(...plain, Msg.system('Hint: think.'), ...thought.slice(1))).toEqual(on);
    expect(await thinkingIn(...thought, ...plain.slice(1))).toEqual(on); // the model thinks only once a turn
  });
});

describe('every generation accepts', () => {
  const GENERATIONS: readonly GenerationOptions[] = [
    {},
    { reasoningEffort: 'none', temperature: 0.3, topP: 0.5 },
    { reasoningEffort: 'high', temperature: 0.3, topK: 3, maxTokens: 200 },
    { thinkingTokens: 4000, parallelToolCalls: false },
  ];
  test.each([
    ['claude-3-7-sonnet-latest'],
    ['claude-opus-4-1'],
    ['claude-haiku-4-5'],
    ['claude-sonnet-4-6'],
    ['claude-opus-4-8'],
    ['claude-sonnet-5'],
    ['claude-sonnet-5-5'],
    ['claude-opus-5-5'],
  ])('a request to %s', async (modelName) => {
    let requests = 0;
    for (const messages of Object.values(HISTORIES)) {
      for (const generation of GENERATIONS) {
        for (const toolChoice of ['auto', 'required', { name: 'get_time' }] as const) {
          const { json } = await send(
            { modelName, onRepair: () => {} },
            { messages, generation, tools: TOOLS, toolChoice },
          );
          expect(anthropicFaults(json), JSON.stringify(generation)).toEqual([]);
          requests++;
        }
      }
    }
    expect(requests).toBeGreaterThan(200);
  });
});

describe('an answer that is over', () => {
  const modelOf = (delivery: Delivery) =>
    new AnthropicChatModel({ modelName: 'claude-opus-5', apiKey: KEY, fetch: fetchOf(delivery) });

  test('holds nobody up, though the connection stays open', async () => {
    const { text } = await modelOf({ pieces: [fixtures.get('plain')!], stalls: true }).call(ASK);
    expect(text).toBe('Grüß dich, 世界 👋!');
  });

  test('is whole, though the connection breaks before it says so', async () => {
    const plain = toText(fixtures.get('plain')!).replace(/event: message_stop[^]*$/, '');
    const answer = await modelOf({ pieces: [toBytes(plain)], breaks: true }).call(ASK);
    expect([answer.text, answer.metadata, answer.finishReason, answer.responseId]).toEqual([
      'Grüß dich, 世界 👋!',
      {},
      'stop',
      'msg_01XfDUDYJgAACzvnptvVoYEL',
    ]);
  });
});

describe('errors', () => {
  const body = (type: string, message: string): string =>
    JSON.stringify({ type: 'error', error: { type, message }, request_id: 'req_1' });
  async function failure(status: number, text: string, headers = {}): Promise<ModelError> {
    const fetch = fetchOf({
      pieces: [toBytes(text)],
      status,
      headers: { 'request-id': 'req_1', ...headers },
    });
    const model = new AnthropicChatModel({ modelName: 'claude-opus-5', apiKey: KEY, fetch });
    return model.call(ASK).then(
      () => expect.fail('it should fail'),
      (error: unknown) => error as ModelError,
    );
  }

  test.each<[number, string, string, object]>([
    [
      400,
      'invalid_request_error',
      'messages: at least one message is required',
      { kind: 'bad_request', isRetryable: false },
    ],
    [
      400,
      'invalid_request_error',
      'prompt is too long: 208310 tokens > 200000 maximum',
      { kind: 'context_overflow' },
    ],
    [
      400,
      'invalid_request_error',
      'input length and `max_tokens` exceed context limit: 199000 + 32000 > 200000, decrease input length or `max_tokens` and try again',
      { kind: 'context_overflow' },
    ],
    [
      400,
      'invalid_request_error',
      'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.',
      { kind: 'rate_limit', isRetryable: false },
    ],
    [401, 'authentication_error', `invalid x-api-key ${KEY}`, { kind: 'auth', isRetryable: false }],
    [
      403,
      'permission_error',
      'Your API key does not have permission to use the specified resource.',
      { kind: 'auth' },
    ],
    [404, 'not_found_error', 'model: claude-opus-5', { kind: 'bad_request' }],
    [
      429,
      'rate_limit_error',
      'This request would exceed your account’s rate limit.',
      { kind: 'rate_limit', isRetryable: true },
    ],
    [500, 'api_error', 'Internal server error', { kind: 'overloaded', isRetryable: true }],
    [529, 'overloaded_error', 'Overloaded', { kind: 'overloaded', isRetryable: true }],
  ])('%s %s: %s', async (status, type, message, expected) => {
    const error = await failure(status, body(type, message));
    expect(error).toMatchObject({ status, providerCode: type, requestId: 'req_1', ...expected });
    expect(`${error.message} ${error.body}`).not.toContain(KEY);
  });

  test('the time to wait', async () => {
    const error = await failure(429, body('rate_limit_error', 'Slow down.'), { 'retry-after': '17' });
    expect(error).toMatchObject({ kind: 'rate_limit', retryAfterMs: 17_000 });
  });
});

describe('the contract', () => {
  const event = (data: JsonObject): Uint8Array =>
    toBytes(`event: ${String(data['type'])}\ndata: ${JSON.stringify(data)}\n\n`);
  const start = (index: number, content_block: JsonObject) =>
    event({ type: 'content_block_start', index, content_block });
  const delta = (index: number, delta: JsonObject) => event({ type: 'content_block_delta', index, delta });
  const stop = (index: number) => event({ type: 'content_block_stop', index });
  const begin = event({
    type: 'message_start',
    message: { id: 'msg_1', usage: { input_tokens: 9, output_tokens: 1 } },
  });
  const end = (stop_reason: string): Uint8Array[] => [
    event({ type: 'message_delta', delta: { stop_reason }, usage: { output_tokens: 9 } }),
    event({ type: 'message_stop' }),
  ];
  const text = (...pieces: string[]): Uint8Array[] => [
    begin,
    start(0, { type: 'text', text: '' }),
    ...pieces.map((piece) => delta(0, { type: 'text_delta', text: piece })),
  ];
  const calls = CONTRACT_CALLS.flatMap(({ name, input }, i) => [
    start(i, { type: 'tool_use', id: `toolu_${i}`, name, input: {} }),
    ...JSON.stringify(input)
      .match(/.{1,5}/gsu)!
      .map((partial_json) => delta(i, { type: 'input_json_delta', partial_json })),
    stop(i),
  ]);
  const answers = {
    text: {
      pieces: [...text(CONTRACT_TEXT.slice(0, 9), CONTRACT_TEXT.slice(9)), stop(0), ...end('end_turn')],
    },
    tools: { pieces: [begin, ...calls, ...end('tool_use')] },
    stall: { pieces: text('Well, ', 'let me'), stalls: true },
    failure: {
      pieces: [toBytes(`{"type":"error","error":{"type":"api_error","message":"${KEY}"}}`)],
      status: 500,
    },
    breaks: { pieces: text('Well, ', 'let me'), breaks: true },
  };
  let work = 0;
  const cases = chatModelContract(
    (scenario) => {
      const answer = fetchOf(answers[scenario]);
      const fetch: typeof answer = (...args) => (work++, answer(...args));
      return new AnthropicChatModel({ modelName: 'claude-opus-5-5', apiKey: KEY, fetch });
    },
    { secret: KEY, workOf: () => work },
  );
  test('has cases', () => expect(cases.length).toBeGreaterThan(25));
  test.each(cases)('$name', ({ run }) => run());
});

test('a history with tool calls is sent with the tools, also when no tool may be called any more', async () => {
  const bodies: JsonObject[] = [];
  const model = new AnthropicChatModel({
    modelName: 'claude-sonnet-4-5',
    apiKey: 'k',
    fetch: async (_url, init) => {
      bodies.push(parseJson(String(init?.body)) as JsonObject);
      throw new TypeError('not sent');
    },
  });
  const call = { type: 'tool_use', id: 'c1', name: 'look', input: {} } as const;
  const result = { type: 'tool_result', id: 'c1', name: 'look', output: 'x', status: 'ok' } as const;
  const messages = [
    Msg.user('Look.'),
    Msg.assistant([call, { ...call, id: 'c2' }]),
    Msg.system([result, { ...result, id: 'c2' }]),
  ];
  await model.call({ messages: [...messages, Msg.user('Sum up.')] }).catch(() => {});
  await model.call({ messages: [Msg.user('Hi.')] }).catch(() => {});
  expect(bodies.map(({ tools, tool_choice }) => [tools, tool_choice])).toMatchObject([
    [[{ name: 'look', input_schema: { type: 'object' } }], { type: 'none' }],
    [undefined, undefined],
  ]);
});
