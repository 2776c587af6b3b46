import { describe, expect, test } from 'vitest';
import { Msg } from '../../src/message/msg.ts';
import type { GenerationOptions } from '../../src/model/chat-model-base.ts';
import { OpenAIChatModel } from '../../src/providers/openai/openai-chat-model.ts';
import { EFFORTS } from '../../src/providers/openai/model-rules.ts';
import type { JsonObject } from '../../src/util/json.ts';
import { TOOLS } from './histories.ts';
import { MODELS, openAiChatFaults, STRICTNESS } from './openai-chat-rules.ts';
import { fetchOf, readFixtures, readOutcomes, type SentRequest } from './replay.ts';
import { describeWire } from './wire-suite.ts';

const call = (id: string, name: string, input = {}) => ({ type: 'tool_use', id, name, input }) as const;
const text = (text: string) => ({ type: 'text', text }) as const;

describeWire({
  name: 'openai-chat',
  makeModel: (options) =>
    new OpenAIChatModel({
      vendor: 'openai',
      modelName: 'gpt-4.1',
      apiKey: 'sk-test',
      capabilities: { audio: true },
      ...options,
    }),
  contentType: 'text/event-stream',
  historyField: 'messages',
  faultsIn(body, path, headers) {
    const faults = openAiChatFaults(body);
    if (!path.endsWith('/chat/completions')) faults.push(`no such path: ${path}`);
    if (headers['authorization'] !== 'Bearer sk-test') faults.push('no key');
    return faults;
  },
  errorBody: (message) => ({ error: { message, type: 'invalid_request_error', param: null, code: null } }),
  outcomes: {
    ...readOutcomes('openai-chat'),
    plain: {
      content: [text('Grüß dich, 世界 👋!')],
      usage: { inputTokens: 19, outputTokens: 10, cachedTokens: 16, reasoningTokens: 0 },
      finishReason: 'stop',
      responseId: 'chatcmpl-C1x',
    },
    'parallel-tools': {
      content: [call('call_Kf1', 'get_capital', { country: 'Perú' }), call('call_Kf2', 'get_time')],
      usage: { inputTokens: 82, outputTokens: 41, cachedTokens: 0, reasoningTokens: 0 },
      finishReason: 'tool_calls',
      responseId: 'chatcmpl-C1x',
    },
    'thinking-and-tools': {
      content: [
        { type: 'thinking', thinking: 'The user asks 日本?', providerMeta: { openai: {} } },
        text('Let me look.'),
        call('call_00_a', 'get_capital', { country: 'Japan' }),
      ],
      usage: { inputTokens: 300, outputTokens: 60, cachedTokens: 256, reasoningTokens: 24 },
      finishReason: 'tool_calls',
      responseId: 'as-1f2',
    },
    refusal: {
      content: [text("I'm sorry, I can't help with that.")],
      usage: { inputTokens: 20, outputTokens: 9, cachedTokens: 0, reasoningTokens: 0 },
      finishReason: 'refusal',
      responseId: 'chatcmpl-C1x',
    },
    'length-stop': {
      content: [],
      usage: { inputTokens: 20, outputTokens: 8, cachedTokens: 0, reasoningTokens: 0 },
      finishReason: 'length',
      responseId: 'chatcmpl-C1x',
    },
    'content-filter': {
      content: [text('Once upon')],
      finishReason: 'content_filter',
      responseId: 'chatcmpl-C1x',
    },
    'usage-only-tail': {
      content: [text('Ok')],
      usage: { inputTokens: 2006, outputTokens: 300, cachedTokens: 1920, reasoningTokens: 256 },
      finishReason: 'stop',
      responseId: 'chatcmpl-C1x',
    },
    'error-in-stream': { content: [text('Well')], responseId: 'chatcmpl-C1x', error: 'overloaded' },
    disconnect: { content: [text('Half an ans')], responseId: 'chatcmpl-C1x', error: 'network' },
    'careless-calls': {
      content: [
        call('x1', 'get_capital', { country: 'Peru' }),
        call('x2', 'get_time'),
        call('call_id-2', 'get_time'),
      ],
      finishReason: 'tool_calls',
      responseId: 'chatcmpl-C1x',
    },
  },
});

describe('requests with every option', () => {
  const plain = readFixtures('openai-chat').get('plain')!;
  const options: GenerationOptions = {
    maxTokens: 100,
    temperature: 0.5,
    topP: 0.9,
    stop: ['END'],
    seed: 7,
    presencePenalty: 1,
    frequencyPenalty: 1,
    parallelToolCalls: false,
  };
  const vendorOf = (modelName: string): 'xai' | 'moonshot' | 'openai' =>
    modelName.startsWith('grok') ? 'xai' : modelName.startsWith('kimi') ? 'moonshot' : 'openai';

  test.each(Object.keys(MODELS))('are accepted by %s, whatever the effort', async (modelName) => {
    const sent: SentRequest[] = [];
    const vendor = vendorOf(modelName);
    const model = new OpenAIChatModel({
      vendor,
      modelName,
      apiKey: 'k',
      fetch: fetchOf({ pieces: [plain] }, sent),
    });
    for (const reasoningEffort of [undefined, ...EFFORTS]) {
      for (const tools of [[], TOOLS]) {
        await model.call({ messages: [Msg.user('Hi.')], tools, generation: { ...options, reasoningEffort } });
      }
    }
    const faults = sent.flatMap(({ body }) =>
      openAiChatFaults(JSON.parse(body) as JsonObject, STRICTNESS[vendor]),
    );
    expect(faults).toEqual([]);
    expect(sent).toHaveLength(14);
  });

  test('would be rejected otherwise', () => {
    const faultsOf = (body: JsonObject): string[] =>
      openAiChatFaults({ messages: [{ role: 'user', content: 'Hi.' }], ...body });
    expect(faultsOf({ model: 'gpt-5', temperature: 1, reasoning_effort: 'minimal' })).toEqual([
      'temperature is not supported with gpt-5',
    ]);
    expect(faultsOf({ model: 'gpt-5.1', top_p: 1, reasoning_effort: 'none' })).toEqual([]);
    expect(faultsOf({ model: 'gpt-5.1', top_p: 1, reasoning_effort: 'low' })).toHaveLength(1);
    expect(faultsOf({ model: 'gpt-4o-mini', reasoning_effort: 'low', stop: ['x'] })).toHaveLength(1);
    expect(faultsOf({ model: 'o3', stop: ['x'], presence_penalty: 1 })).toHaveLength(2);
    expect(faultsOf({ model: 'x', user: 'half \ud83d' })).toEqual(['body.user holds half a character']);
    const tools = [{ type: 'function', function: { name: 'a', parameters: { '\udc00': 1 } } }];
    expect(faultsOf({ model: 'gpt-5.4-mini', tools, reasoning_effort: 'low' })).toEqual([
      'function tools with reasoning_effort',
      'body.tools.0.function.parameters has a key with half a character',
    ]);
  });
});
