import { AnthropicChatModel } from '../../src/providers/anthropic/anthropic-chat-model.ts';
import { anthropicFaults } from './anthropic-rules.ts';
import { describeWire } from './wire-suite.ts';

const call = (id: string, name: string, input = {}) => ({ type: 'tool_use', id, name, input }) as const;
const text = (text: string) => ({ type: 'text', text }) as const;
const thinking = (thinking: string, anthropic: { signature: string } | { redactedData: string }) =>
  ({ type: 'thinking', thinking, providerMeta: { anthropic } }) as const;
const usage = (inputTokens: number, outputTokens: number, more = {}) => ({
  inputTokens,
  outputTokens,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  ...more,
});

const responseId = 'msg_01XfDUDYJgAACzvnptvVoYEL';
const signature = 'EqQBCkYIBxgCKkCkVY7Lw+8rAq1RcGqBkZb0f+3VQ9Zt5sYzQvJx==';

describeWire({
  name: 'anthropic',
  makeModel: (options) =>
    new AnthropicChatModel({ modelName: 'claude-sonnet-4-5', apiKey: 'sk-ant-test', ...options }),
  contentType: 'text/event-stream',
  historyField: 'messages',
  endsWithUser: true,
  faultsIn(body, path, headers) {
    const faults = anthropicFaults(body);
    if (path !== '/v1/messages') faults.push(`no such path: ${path}`);
    if (headers['x-api-key'] !== 'sk-ant-test') faults.push('x-api-key header is required');
    if (headers['anthropic-version'] !== '2023-06-01') faults.push('anthropic-version: header is required');
    if (headers['content-type'] !== 'application/json') faults.push('content-type must be JSON');
    return faults;
  },
  errorBody: (message) => ({
    type: 'error',
    error: { type: 'invalid_request_error', message },
    request_id: 'req_011CfKWrFbXEEXnGHy3m6XDe',
  }),
  outcomes: {
    plain: { content: [text('Grüß dich, 世界 👋!')], usage: usage(12, 14), finishReason: 'stop', responseId },
    'parallel-tools': {
      content: [
        text('Einen Moment …'),
        call('toolu_01T1x1fJ34qAmk2tNTrN7Up6', 'get_capital', { country: 'Perú' }),
        call('toolu_01D7FLrfh4GYq7yT1ULFeyMV', 'get_time'),
      ],
      usage: usage(1455, 89, { cachedTokens: 1024 }),
      finishReason: 'tool_calls',
      responseId,
    },
    'thinking-and-tools': {
      content: [
        thinking('The user asks about 日本 🗾.', { signature }),
        text('Let me look.'),
        call('toolu_01A09q90qw90lq917835lq9', 'get_capital', { country: 'Japan' }),
      ],
      usage: usage(47, 96, { reasoningTokens: 22 }),
      finishReason: 'tool_calls',
      responseId,
    },
    'redacted-thinking': {
      content: [
        thinking('Öne.', { signature }),
        thinking('', {
          redactedData: 'EmwKAhgBEgy3va3pzix+LafPsn4aDFIT2Xlxh0L5L8rLVyIwxtE3rAFBa8cr3qpPkNRj2Yfw',
        }),
        thinking('Two', { signature: 'EtwoCkYIBxgCKkBSecondSignature==' }),
        thinking(' three.', { signature: 'EthreeCkYIBxgCKkBThirdSignature=' }),
        text('Gut.'),
      ],
      usage: usage(60, 77),
      finishReason: 'stop',
      responseId,
    },
    'omitted-thinking': {
      content: [thinking('', { signature }), text('Fertig.')],
      usage: usage(61, 48, { reasoningTokens: 40 }),
      finishReason: 'stop',
      responseId,
    },
    refusal: { content: [], usage: usage(18, 5), finishReason: 'refusal', responseId },
    'length-stop': {
      content: [text('Schön, ich sehe nach.')],
      usage: usage(377, 64),
      finishReason: 'length',
      responseId,
    },
    'content-filter': {
      content: [text('Once upon a tïme')],
      usage: usage(25, 9),
      finishReason: 'refusal',
      responseId,
    },
    'usage-only-tail': {
      content: [text('Ök')],
      usage: {
        inputTokens: 2134,
        outputTokens: 300,
        cachedTokens: 1920,
        cacheWriteTokens: 128,
        reasoningTokens: 256,
      },
      finishReason: 'stop',
      responseId,
    },
    'error-in-stream': { content: [text('Wéll')], usage: usage(12, 1), responseId, error: 'overloaded' },
    disconnect: { content: [text('Half an äns')], usage: usage(12, 1), responseId, error: 'network' },
    'server-tools': {
      content: [text("I'll search. It is 12 °C.")],
      usage: usage(10_682, 510),
      finishReason: 'stop',
      responseId,
    },
    'open-call': {
      content: [call('toolu_01Closed', 'get_time')],
      usage: usage(90, 30),
      finishReason: 'tool_calls',
      responseId,
    },
    'whole-input': {
      content: [call('toolu_01Whole', 'get_capital', { country: 'Österreich' })],
      usage: usage(90, 30),
      finishReason: 'tool_calls',
      responseId,
    },
  },
});
