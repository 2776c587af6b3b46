import { OllamaChatModel } from '../../src/providers/ollama/ollama-chat-model.ts';
import { ollamaFaults } from './ollama-rules.ts';
import { describeWire } from './wire-suite.ts';

const call = (id: string, name: string, input = {}) => ({ type: 'tool_use', id, name, input }) as const;
const text = (text: string) => ({ type: 'text', text }) as const;

describeWire({
  name: 'ollama',
  makeModel: (options) =>
    new OllamaChatModel({ modelName: 'qwen3:8b', capabilities: { vision: true }, ...options }),
  contentType: 'application/x-ndjson',
  historyField: 'messages',
  faultsIn: (body, path) => [
    ...ollamaFaults(body),
    ...(path === '/api/chat' ? [] : [`no such path: ${path}`]),
  ],
  errorBody: (problem) => ({ error: problem }),
  outcomes: {
    plain: {
      content: [text('Grüß dich, 世界 👋!')],
      usage: { inputTokens: 26, outputTokens: 11 },
      finishReason: 'stop',
    },
    'parallel-tools': {
      content: [call('call_id-2', 'get_capital', { country: 'Perú' }), call('call_id-3', 'get_time')],
      usage: { inputTokens: 169, outputTokens: 41 },
      finishReason: 'tool_calls',
    },
    'thinking-and-tools': {
      content: [
        { type: 'thinking', thinking: 'Okay, the user asks 日本.' },
        text('Let me look.'),
        call('call_x7k2', 'get_capital', { country: 'Japan' }),
      ],
      usage: { inputTokens: 210, outputTokens: 64 },
      finishReason: 'tool_calls',
    },
    refusal: {
      content: [text("I can't help with that.")],
      usage: { inputTokens: 18, outputTokens: 7 },
      finishReason: 'stop',
    },
    'length-stop': {
      content: [text('Once upon a tim')],
      usage: { inputTokens: 18, outputTokens: 4 },
      finishReason: 'length',
    },
    'content-filter': {
      content: [text('I am told not to say.')],
      usage: { inputTokens: 18, outputTokens: 4 },
      finishReason: 'stop',
    },
    'usage-only-tail': {
      content: [text('Ok')],
      usage: { inputTokens: 2006, outputTokens: 2 },
      finishReason: 'stop',
    },
    'error-in-stream': { content: [text('Well')], error: 'overloaded' },
    disconnect: { content: [text('Half an ans')], error: 'network' },
  },
});
