import { OpenAIChatModel } from '../../src/providers/openai/openai-chat-model.ts';
import { openAiChatFaults } from './openai-chat-rules.ts';
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
        { type: 'thinking', thinking: 'The user asks 日本?' },
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
