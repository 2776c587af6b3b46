import { GeminiChatModel } from '../../src/providers/gemini/gemini-chat-model.ts';
import { geminiFaults } from './gemini-rules.ts';
import { PNG } from './histories.ts';
import { readOutcomes } from './replay.ts';
import { describeWire } from './wire-suite.ts';

const MODEL = 'gemini-3-flash-preview';
const SIGNATURE = 'CiQBjz1rX0ilumvPg6k0sMMUtISoQCLJv2bPJ7Vv9r+Xw0oKXgGPPWtfxQ==';
const OLD_SIGNATURE = 'EokBCoYBAb4+9vtq7Z1c0VxkQn3L8u1Yh2oT5rJwKg==';
const call = (id: string, name: string, input = {}) => ({ type: 'tool_use', id, name, input }) as const;
const text = (text: string) => ({ type: 'text', text }) as const;
const signed = (thoughtSignature: string) => ({ providerMeta: { gemini: { thoughtSignature } } });
const responseId = 'k3tXaZ-5Dq2pxN8P4tK2-Ak';

describeWire({
  name: 'gemini',
  makeModel: (options) => new GeminiChatModel({ modelName: MODEL, apiKey: 'AIza-test', ...options }),
  contentType: 'text/event-stream',
  historyField: 'contents',
  endsWithUser: true,
  faultsIn(body, path, headers) {
    const faults = geminiFaults(body, MODEL);
    if (!path.startsWith(`/v1beta/models/${MODEL}:streamGenerateContent`))
      faults.push(`no such path: ${path}`);
    if (path.includes('AIza')) faults.push('the key is in the address');
    if (headers['x-goog-api-key'] !== 'AIza-test') faults.push('no key');
    return faults;
  },
  errorBody: (message) => ({ error: { code: 400, message, status: 'INVALID_ARGUMENT' } }),
  outcomes: {
    ...readOutcomes('gemini'),
    plain: {
      content: [text('Grüß dich, 世界 👋!')],
      usage: { inputTokens: 2053, outputTokens: 31, cachedTokens: 2040, reasoningTokens: 21 },
      finishReason: 'stop',
      responseId,
    },
    'parallel-tools': {
      content: [
        { ...call('nqzxm6hz', 'get_capital', { country: 'Perú' }), ...signed(SIGNATURE) },
        call('i9mnrwk2', 'get_time'),
      ],
      usage: { inputTokens: 154, outputTokens: 134, reasoningTokens: 88 },
      finishReason: 'tool_calls',
      responseId,
    },
    'partial-args': {
      content: [
        {
          ...call('call_id-2', 'get_capital', { country: 'Perú', years: [1821] }),
          ...signed('CiQBcsjafA=='),
        },
        call('call_id-3', 'get_time'),
      ],
      usage: { inputTokens: 30, outputTokens: 12 },
      finishReason: 'tool_calls',
      responseId: 'QpXaZ9q_Ft-xYQ-7mT4Bg',
    },
    'thinking-and-tools': {
      content: [
        {
          type: 'thinking',
          thinking: '**Finding the Capital**\n\nThe user asks about 日本. I look it up.\n\n\n',
        },
        text('Let me look.'),
        { ...call('call_id-2', 'get_capital', { country: 'Japan' }), ...signed(OLD_SIGNATURE) },
      ],
      usage: { inputTokens: 130, outputTokens: 79, reasoningTokens: 59 },
      finishReason: 'tool_calls',
      responseId,
    },
    refusal: {
      content: [],
      usage: { inputTokens: 19, outputTokens: 0 },
      responseId: 'QpXaZ9q_Ft-xYQ-7mT4Bg',
      error: 'content_filter',
    },
    'length-stop': {
      content: [text('Gut, ')],
      usage: { inputTokens: 60, outputTokens: 16 },
      finishReason: 'length',
      responseId,
    },
    'content-filter': {
      content: [text('Es war einmal…')],
      usage: { inputTokens: 22, outputTokens: 5 },
      finishReason: 'content_filter',
      responseId,
    },
    'usage-only-tail': {
      content: [text('Ok 👌')],
      usage: { inputTokens: 2006, outputTokens: 259, reasoningTokens: 256 },
      finishReason: 'stop',
      responseId,
    },
    'error-in-stream': {
      content: [text('Nun, ähm')],
      usage: { inputTokens: 20, outputTokens: 3 },
      responseId,
      error: 'overloaded',
    },
    disconnect: {
      content: [text('Eine halbe Antwört')],
      usage: { inputTokens: 20, outputTokens: 6 },
      responseId,
      error: 'network',
    },
    'signed-text': {
      content: [
        { type: 'thinking', thinking: '**Greeting**\n\nA warm 挨拶.\n' },
        { ...text('こんにちは。'), ...signed(SIGNATURE) },
      ],
      usage: { inputTokens: 9, outputTokens: 64, reasoningTokens: 60 },
      finishReason: 'stop',
      responseId,
    },
    'stop-in-every-chunk': {
      content: [
        text('Vor '),
        call('call_id-2', 'get_time'),
        call('call_id-3', 'get_capital', { country: 'Österreich' }),
      ],
      usage: { inputTokens: 40, outputTokens: 16 },
      finishReason: 'tool_calls',
      responseId,
    },
    'malformed-call': {
      content: [{ type: 'thinking', thinking: '**Calling**\n\nIch rufe auf…' }],
      usage: { inputTokens: 80, outputTokens: 30, reasoningTokens: 30 },
      responseId,
      error: 'malformed',
    },
    'image-answer': {
      content: [
        text('Voilà ✨'),
        {
          type: 'image',
          source: { type: 'base64', mediaType: 'image/png', data: PNG },
          ...signed(OLD_SIGNATURE),
        },
      ],
      usage: { inputTokens: 7, outputTokens: 1293 },
      finishReason: 'stop',
      responseId,
    },
  },
});
