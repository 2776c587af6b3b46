import { afterEach, describe, expect, test, vi } from 'vitest';
import { anthropicCountFaults } from '../../../test/wire/anthropic-rules.ts';
import { HISTORIES, TOOLS, TRAVEL } from '../../../test/wire/histories.ts';
import { fetchOf, toBytes, type SentRequest } from '../../../test/wire/replay.ts';
import { Msg } from '../../message/msg.ts';
import type { JsonObject } from '../../util/json.ts';
import { AnthropicChatModel } from './anthropic-chat-model.ts';
import { AnthropicTokenCounter, type AnthropicTokenCounterOptions } from './anthropic-token-counter.ts';

function counting(options: Partial<AnthropicTokenCounterOptions> = {}, answer = '{"input_tokens":42}') {
  const sent: SentRequest[] = [];
  const fetch = fetchOf({ pieces: [toBytes(answer)] }, sent);
  const counter = new AnthropicTokenCounter({
    modelName: 'claude-sonnet-4-5',
    apiKey: 'sk-ant-1',
    fetch,
    ...options,
  });
  const bodies = (): JsonObject[] => sent.map(({ body }) => JSON.parse(body) as JsonObject);
  return { counter, sent, bodies };
}

afterEach(() => vi.unstubAllEnvs());

test('asks for the count of a prompt with its tools', async () => {
  const { counter, sent, bodies } = counting();
  expect(await counter.count([Msg.system('Be short.'), Msg.user('Hi.')], TOOLS.slice(1))).toBe(42);
  expect(sent).toHaveLength(1);
  expect(sent[0]).toMatchObject({
    url: 'https://api.anthropic.com/v1/messages/count_tokens',
    headers: { 'x-api-key': 'sk-ant-1', 'anthropic-version': '2023-06-01' },
  });
  expect(bodies()).toEqual([
    {
      model: 'claude-sonnet-4-5',
      system: [{ type: 'text', text: 'Be short.' }],
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi.' }] }],
      tools: [{ name: 'get_time', input_schema: { type: 'object', properties: {} } }],
    },
  ]);
});

test('counts the prompt that the model sends, and leaves it as it is', async () => {
  const messages = Object.freeze([...TRAVEL]);
  const before = JSON.stringify(messages);
  const { counter, bodies } = counting();
  await counter.count(messages, TOOLS);
  await counter.count(messages, TOOLS);
  const sent: SentRequest[] = [];
  const fetch = fetchOf({ pieces: [] }, sent);
  const options = { modelName: 'claude-sonnet-4-5', apiKey: 'k', fetch, caching: 'off' } as const;
  await new AnthropicChatModel(options).call({ messages, tools: TOOLS }).catch(() => {});
  const { system, messages: history, tools } = JSON.parse(sent[0]!.body) as JsonObject;
  expect(bodies()).toEqual(Array(2).fill({ model: 'claude-sonnet-4-5', system, messages: history, tools }));
  expect(JSON.stringify(messages)).toBe(before);
});

test.each([['claude-sonnet-4-5'], ['claude-opus-5-5'], ['claude-3-5-haiku-latest']])(
  'is understood, whatever the history (%s)',
  async (modelName) => {
    const { counter, bodies } = counting({ modelName });
    for (const messages of [[], ...Object.values(HISTORIES)]) await counter.count(messages, TOOLS);
    expect(bodies().flatMap(anthropicCountFaults)).toEqual([]);
    expect(bodies().length).toBeGreaterThan(20);
  },
);

test('does not fail over thinking that no longer fits the history', async () => {
  const { counter, sent, bodies } = counting({ modelName: 'claude-opus-5-5' });
  await counter.count([Msg.user('Hi.')]);
  expect(bodies()[0]!['thinking']).toEqual({
    type: 'adaptive',
    block_binding: { prefix_mismatch_behavior: 'drop_block' },
  });
  expect(sent[0]!.headers['anthropic-beta']).toBe('thinking-binding-controls-2026-08-01');
});

test('counts results by themselves, which can only be sent with their calls', async () => {
  const { counter, bodies } = counting();
  const output = 'Tokyo';
  const result = Msg.system([{ type: 'tool_result', id: 'a', name: 'get_capital', output, status: 'ok' }]);
  expect(await counter.countEach([result, Msg.user('Hi.'), result])).toEqual([42, 42, 42]);
  expect(bodies()).toHaveLength(2); // each message once
  expect(bodies().flatMap(anthropicCountFaults)).toEqual([]);
  expect(JSON.stringify(bodies()[0])).toContain('Tokyo');
});

describe('fails clearly', () => {
  test('when there is no count in the answer', async () => {
    const { counter } = counting({}, '{"input_tokens":"many"}');
    await expect(counter.count([Msg.user('Hi.')])).rejects.toMatchObject({ kind: 'malformed' });
  });

  test('when Anthropic says no, without the key', async () => {
    const error = { type: 'authentication_error', message: 'invalid x-api-key sk-ant-1' };
    const fetch = fetchOf({ pieces: [toBytes(JSON.stringify({ type: 'error', error }))], status: 401 });
    const failure: unknown = await counting({ fetch })
      .counter.count([Msg.user('Hi.')])
      .catch((thrown: unknown) => thrown);
    expect(failure).toMatchObject({ kind: 'auth', status: 401, providerCode: 'authentication_error' });
    expect((failure as Error).message + (failure as { body: string }).body).not.toContain('sk-ant-1');
  });

  test('when it is aborted, with the reason', async () => {
    const reason = new Error('enough');
    const counted = counting().counter.count([Msg.user('Hi.')], [], { signal: AbortSignal.abort(reason) });
    await expect(counted).rejects.toBe(reason);
  });

  test('without a key', () => {
    vi.stubEnv('ANTHROPIC_API_KEY', '');
    expect(() => new AnthropicTokenCounter({ modelName: 'claude-sonnet-4-5' })).toThrow(/ANTHROPIC_API_KEY/);
  });
});
