import { expect, test } from 'vitest';
import { Msg } from '../../src/message/msg.ts';
import { EFFORTS } from '../../src/providers/openai/model-rules.ts';
import { OpenAIResponsesModel } from '../../src/providers/openai/openai-responses-model.ts';
import type { JsonObject } from '../../src/util/json.ts';
import { TOOLS } from './histories.ts';
import { MODELS } from './openai-chat-rules.ts';
import { openAiResponsesFaults } from './openai-responses-rules.ts';
import { fetchOf, readFixtures, readOutcomes, type SentRequest } from './replay.ts';
import { describeWire } from './wire-suite.ts';

const call = (id: string, name: string, input = {}) => ({ type: 'tool_use', id, name, input }) as const;
const text = (text: string) => ({ type: 'text', text }) as const;
const responseId = 'resp_68a1';

describeWire({
  name: 'openai-responses',
  makeModel: (options) =>
    new OpenAIResponsesModel({ vendor: 'openai', modelName: 'gpt-5.1', apiKey: 'sk-test', ...options }),
  contentType: 'text/event-stream',
  historyField: 'input',
  faultsIn(body, path, headers) {
    const faults = openAiResponsesFaults(body);
    if (!path.endsWith('/responses')) faults.push(`no such path: ${path}`);
    if (headers['authorization'] !== 'Bearer sk-test') faults.push('no key');
    return faults;
  },
  errorBody: (message) => ({ error: { message, type: 'invalid_request_error', param: null, code: null } }),
  outcomes: {
    ...readOutcomes('openai-responses'),
    plain: {
      content: [text('Grüß dich, 世界 👋!')],
      usage: { inputTokens: 19, outputTokens: 10, cachedTokens: 16, reasoningTokens: 0 },
      finishReason: 'stop',
      responseId,
    },
    'parallel-tools': {
      content: [call('call_Kf1', 'get_capital', { country: 'Perú' }), call('call_Kf2', 'get_time')],
      usage: { inputTokens: 82, outputTokens: 41, cachedTokens: 0, reasoningTokens: 0 },
      finishReason: 'tool_calls',
      responseId,
    },
    'thinking-and-tools': {
      content: [
        {
          type: 'thinking',
          thinking: 'Look up 日本.\n\nThen answer.',
          providerMeta: { openaiResponses: { id: 'rs_0a', encryptedContent: 'gAAAAABo-enc==' } },
        },
        call('call_J', 'get_capital', { country: 'Japan' }),
      ],
      usage: { inputTokens: 300, outputTokens: 60, cachedTokens: 256, reasoningTokens: 24 },
      finishReason: 'tool_calls',
      responseId,
    },
    'interleaved-tools': {
      content: [call('call_Kf1', 'get_capital', { country: 'Perú' }), call('call_Kf2', 'get_time')],
      usage: { inputTokens: 82, outputTokens: 41, cachedTokens: 0, reasoningTokens: 0 },
      finishReason: 'tool_calls',
      responseId,
    },
    'late-reasoning': {
      content: [
        {
          type: 'thinking',
          thinking: 'Look up 日本.',
          providerMeta: { openaiResponses: { id: 'rs_0b', encryptedContent: 'gAAAAABo-late==' } },
        },
        text('Let me look.'),
        call('call_J', 'get_capital', { country: 'Japan' }),
      ],
      usage: { inputTokens: 300, outputTokens: 60, cachedTokens: 256, reasoningTokens: 24 },
      finishReason: 'tool_calls',
      responseId,
    },
    'raw-reasoning': {
      content: [
        {
          type: 'thinking',
          thinking: 'Look up 日本.',
          providerMeta: { openaiResponses: { id: 'rs_lm1', isRaw: true } },
        },
        call('call_J', 'get_capital', { country: 'Japan' }),
      ],
      usage: { inputTokens: 88, outputTokens: 30, cachedTokens: 0, reasoningTokens: 12 },
      finishReason: 'tool_calls',
      responseId,
    },
    phases: {
      content: [
        { type: 'text', text: 'I look it up.', providerMeta: { openaiResponses: { phase: 'commentary' } } },
        { type: 'text', text: 'Tokyo 🗼.', providerMeta: { openaiResponses: { phase: 'final_answer' } } },
      ],
      usage: {
        inputTokens: 19,
        outputTokens: 105,
        cachedTokens: 0,
        cacheWriteTokens: 16,
        reasoningTokens: 44,
      },
      finishReason: 'stop',
      responseId,
    },
    refusal: {
      content: [text("I'm sorry, I can't help with that.")],
      usage: { inputTokens: 20, outputTokens: 9, cachedTokens: 0, reasoningTokens: 0 },
      finishReason: 'refusal',
      responseId,
    },
    'length-stop': {
      content: [],
      usage: { inputTokens: 20, outputTokens: 8, cachedTokens: 0, reasoningTokens: 0 },
      finishReason: 'length',
      responseId,
    },
    'content-filter': {
      content: [text('Once upon')],
      usage: { inputTokens: 20, outputTokens: 2, cachedTokens: 0, reasoningTokens: 0 },
      finishReason: 'content_filter',
      responseId,
    },
    'usage-only-tail': {
      content: [text('Ok')],
      usage: { inputTokens: 2006, outputTokens: 300, cachedTokens: 1920, reasoningTokens: 256 },
      finishReason: 'stop',
      responseId,
    },
    'error-in-stream': { content: [text('Well')], responseId, error: 'overloaded' },
    'failed-in-stream': { content: [text('Well')], responseId, error: 'rate_limit' },
    disconnect: { content: [text('Half an ans')], responseId, error: 'network' },
  },
});

const MODEL_NAMES = Object.keys(MODELS).filter((name) => !name.startsWith('kimi'));
test.each(MODEL_NAMES)(
  'requests with every option are accepted by %s, whatever the effort',
  async (modelName) => {
    const sent: SentRequest[] = [];
    const fetch = fetchOf({ pieces: [readFixtures('openai-responses').get('plain')!] }, sent);
    const vendor = modelName.startsWith('grok') ? 'xai' : 'openai';
    const model = new OpenAIResponsesModel({ vendor, modelName, apiKey: 'k', fetch });
    for (const reasoningEffort of [undefined, ...EFFORTS]) {
      const generation = { temperature: 0.5, topP: 0.9, stop: ['END'], presencePenalty: 1, reasoningEffort };
      await model.call({ messages: [Msg.user('Hi.')], tools: TOOLS, generation });
    }
    const bodies = sent.map(({ body }) => JSON.parse(body) as JsonObject);
    expect(bodies.flatMap(openAiResponsesFaults)).toEqual([]);
    expect(bodies).toHaveLength(7);
  },
);
