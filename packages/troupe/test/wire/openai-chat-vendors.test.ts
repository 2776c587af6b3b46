import type { ContentBlock } from '../../src/message/blocks.ts';
import { OpenAIChatModel } from '../../src/providers/openai/openai-chat-model.ts';
import type { ChatVendorName } from '../../src/providers/openai/vendors.ts';
import { openAiChatFaults, STRICTNESS, type ChatStrictness } from './openai-chat-rules.ts';
import { readOutcomes, type Outcome } from './replay.ts';
import { describeWire } from './wire-suite.ts';

const text = (text: string): ContentBlock => ({ type: 'text', text });
const call = (id: string, name: string, input = {}): ContentBlock => ({ type: 'tool_use', id, name, input });
/** The calls that all vendors make here, under their own ids. */
const calls = (first: string, second: string): ContentBlock[] => [
  call(first, 'get_capital', { country: 'Perú' }),
  call(second, 'get_time'),
];

interface Vendor {
  readonly modelName: string;
  readonly responseId: string;
  readonly plain: Pick<Outcome, 'content' | 'usage'>;
  /** Undefined for a vendor without tools. */
  readonly tools: Pick<Outcome, 'content' | 'usage'> | undefined;
  readonly endByMark?: readonly string[];
  readonly others?: Readonly<Record<string, Outcome>>;
}

const thought =
  (vendor: string) =>
  (thinking: string, meta = {}): ContentBlock => ({
    type: 'thinking',
    thinking,
    providerMeta: { [vendor]: meta },
  });
const usage = (inputTokens: number, outputTokens: number, more = {}): Outcome['usage'] & {} => ({
  inputTokens,
  outputTokens,
  ...more,
});

/** Answers in the shape of each vendor: its own fields, comments, and place for the usage. */
const VENDORS: Partial<Record<ChatVendorName, Vendor>> = {
  azure: {
    modelName: 'gpt-4.1',
    responseId: 'chatcmpl-Ab0Cd1Ef2Gh3Ij4Kl5Mn6Op7Qr8St',
    plain: {
      content: [text('Grüß dich, 世界!')],
      usage: usage(15, 78, { cachedTokens: 0, reasoningTokens: 64 }),
    },
    tools: {
      content: calls('call_Kf1', 'call_Kf2'),
      usage: usage(82, 41, { cachedTokens: 0, reasoningTokens: 0 }),
    },
    others: {
      thinking: {
        content: [thought('azure')('We greet.'), text('Hello 👋')],
        usage: usage(12, 18, { reasoningTokens: 11 }),
        finishReason: 'stop',
        responseId: 'c05a1b7d29e34f608d71a4b6e0f39c52',
      },
    },
  },
  dashscope: {
    modelName: 'qwen3-max',
    responseId: 'chatcmpl-0c41d7aa-52e1-9f30',
    plain: {
      content: [thought('dashscope')('用户在打招呼。'), text('你好，世界 👋')],
      usage: usage(15, 42, { cachedTokens: 0, reasoningTokens: 30 }),
    },
    tools: {
      content: [thought('dashscope')('两个问题。'), ...calls('call_5b1f0a77c2d84e4f9d3a60e1', 'call_2f0c8a')],
      usage: usage(295, 44, { cachedTokens: 0, reasoningTokens: 12 }),
    },
  },
  deepseek: {
    modelName: 'deepseek-v4-flash',
    responseId: '1d0b6f52-7c3e-4e0a-9a41-2f6c58d0b7e3',
    plain: {
      content: [thought('deepseek')('A greeting 👋.'), text('Grüß dich!')],
      usage: usage(10, 24, { cachedTokens: 0, reasoningTokens: 17 }),
    },
    tools: {
      content: [
        thought('deepseek')('Two tools.'),
        ...calls('call_00_mQ7LxT2vZr0KcW1dYb4N5h8P', 'call_01_Xy'),
      ],
      usage: usage(374, 61, { cachedTokens: 256, reasoningTokens: 17 }),
    },
  },
  moonshot: {
    modelName: 'kimi-k2.5',
    responseId: 'chatcmpl-5f02c6d1-33ab-90e4',
    plain: {
      content: [thought('moonshot')('The user says 你好.'), text('你好 👋')],
      usage: usage(90, 50, { cachedTokens: 90, reasoningTokens: 33 }),
    },
    tools: {
      content: [
        thought('moonshot')('Need both tools.'),
        ...calls('functions.get_capital:0', 'functions.get_time:1'),
      ],
      usage: usage(213, 99, { cachedTokens: 213, reasoningTokens: 46 }),
    },
    others: {
      'tools-without-index': {
        content: calls('get_capital_0', 'get_time_1'),
        usage: usage(61, 25),
        finishReason: 'tool_calls',
        responseId: 'chatcmpl-5f02c6d1-33ab-90e4',
      },
    },
  },
  zhipu: {
    modelName: 'glm-4.7',
    responseId: '2026032316040401d7c2a9be5f4068',
    plain: {
      content: [thought('zhipu')('The user greets.\n'), text('你好 👋')],
      usage: usage(13, 59, { cachedTokens: 1, reasoningTokens: 49 }),
    },
    tools: {
      content: [thought('zhipu')('Two tools.'), ...calls('call_-7614307840213', 'call_-7614307840212')],
      usage: usage(210, 48, { cachedTokens: 43, reasoningTokens: 9 }),
    },
    others: readOutcomes('openai-chat-zhipu'),
  },
  xai: {
    modelName: 'grok-3-mini',
    responseId: '4a7c01f2-90b3-5d1e-a6c8-0e2d3f4b5a69',
    plain: {
      content: [thought('xai')('First, greet.'), text('Grüß dich, 世界!')],
      usage: usage(14, 8 + 196, { cachedTokens: 5, reasoningTokens: 196 }),
    },
    tools: {
      content: [thought('xai')('First, call both.'), ...calls('call_44102360', 'call_44102361')],
      usage: usage(291, 26 + 196, { cachedTokens: 290, reasoningTokens: 196 }),
    },
    others: readOutcomes('openai-chat-xai'),
  },
  openrouter: {
    modelName: 'anthropic/claude-sonnet-4.6',
    responseId: 'gen-1773012759-Zk3Qp0Rt6Yw1Xv8Ns2Lm',
    plain: {
      content: [
        thought('openrouter')('A greeting 👋.', {
          reasoningDetails: [
            {
              type: 'reasoning.text',
              text: 'A greeting 👋.',
              format: 'anthropic-claude-v1',
              index: 0,
              signature: 'EqQBCkYIBxgC',
            },
          ],
        }),
        text('Grüß dich!'),
      ],
      usage: usage(254, 35, { cachedTokens: 100, cacheWriteTokens: 154, reasoningTokens: 20 }),
    },
    tools: {
      content: [
        thought('openrouter')('Both at once.', {
          reasoningDetails: [
            { type: 'reasoning.text', text: 'Both at once.', format: 'google-gemini-v1', index: 0 },
            {
              id: 'tool_0_get_capital',
              format: 'google-gemini-v1',
              index: 0,
              type: 'reasoning.encrypted',
              data: 'CiQBcsjafA==',
            },
          ],
        }),
        call('tool_0_get_capital', 'get_capital', { country: 'Perú' }),
        thought('openrouter')('', {
          reasoningDetails: [
            {
              id: 'tool_1_get_time',
              format: 'google-gemini-v1',
              index: 0,
              type: 'reasoning.encrypted',
              data: 'CiQBcsjafB==',
            },
          ],
        }),
        call('tool_1_get_time', 'get_time'),
      ],
      usage: usage(82, 41, { cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: 7 }),
    },
    others: {
      ...readOutcomes('openai-chat-openrouter'),
      'error-after-finish': {
        content: [text('Grüß dich!')],
        usage: usage(31, 7),
        finishReason: 'stop',
        responseId: 'gen-1773012759-Zk3Qp0Rt6Yw1Xv8Ns2Lm',
      },
    },
  },
  vllm: {
    modelName: 'Qwen/Qwen3-8B',
    responseId: 'chatcmpl-3b9e1f70c4d24a6e8f51a7d09c62be48',
    plain: {
      content: [thought('vllm')('\nA greeting 👋.\n'), text('\n\nGrüß dich!')],
      usage: usage(14, 33),
    },
    tools: {
      content: [
        thought('vllm')('Two tools.'),
        ...calls('chatcmpl-tool-6a2f9c01d3e84b57a0c1f4e2d7b39865', 'chatcmpl-tool-0d1f8f5b3f7a4f0e9b6f'),
      ],
      usage: usage(180, 59),
    },
  },
  // As Mistral answers.
  compatible: {
    modelName: 'mistral-small-latest',
    responseId: '90b1c7d5e2f34a6880d41c3b5a7e9f26',
    plain: {
      content: [
        thought('compatible')('Okay, the user greets 👋. So.', { field: 'content' }),
        text('Grüß dich!'),
      ],
      usage: usage(28, 139, { cachedTokens: 0 }),
    },
    tools: { content: calls('aB3dE5fG7', 'hJ9kL1mN3'), usage: usage(124, 46) },
    endByMark: ['done-without-finish', 'calls-without-finish', 'cut-call-without-finish'],
    others: {
      ...readOutcomes('openai-chat-compatible'),
      'done-without-finish': {
        content: [text('Grüß dich, 世界!')],
        usage: usage(12, 9),
        finishReason: 'stop',
        responseId: 'cmp-7',
      },
      'calls-without-finish': {
        content: calls('nv_1', 'nv_2'),
        finishReason: 'tool_calls',
        responseId: 'cmp-7',
      },
      'cut-call-without-finish': { content: [], finishReason: 'other', responseId: 'cmp-7' },
      'error-line': { content: [text('Well')], responseId: 'cmp-7', error: 'overloaded' },
      'error-line-of-text': { content: [text('Well')], responseId: 'cmp-7', error: 'rate_limit' },
      'second-choice': { content: [text('AB')], finishReason: 'stop', responseId: 'cmp-7' },
      'thinking-in-total': {
        content: [text('Grüß dich!')],
        usage: usage(9, 109, { reasoningTokens: 103 }),
        finishReason: 'stop',
        responseId: 'cmp-7',
      },
      'unsigned-thinking-blocks': {
        content: [
          thought('compatible')('Look up 日本.'),
          call('toolu_01UN', 'get_capital', { country: 'Japan' }),
        ],
        finishReason: 'tool_calls',
        responseId: 'cmp-8',
      },
      'reasoning-field': {
        content: [
          thought('compatible')('Look up 日本.', { field: 'reasoning' }),
          call('call_oc', 'get_capital', { country: 'Japan' }),
        ],
        finishReason: 'tool_calls',
        responseId: 'cmp-7',
      },
      'reasoning-content-field': {
        content: [
          thought('compatible')('Look up 日本.'),
          text('Let me look.'),
          call('call_gs', 'get_capital', { country: 'Japan' }),
        ],
        finishReason: 'tool_calls',
        responseId: 'cmp-7',
      },
    },
  },
  mistral: {
    modelName: 'magistral-medium-2509',
    responseId: '5f0f2c1a9d3e4b7c8a61',
    plain: {
      content: [thought('mistral')('A greeting 👋.'), text('Grüß dich!')],
      usage: usage(12, 30, { cachedTokens: 4 }),
    },
    tools: { content: calls('aB3dE5fG7', 'hJ9kL1mN3'), usage: usage(124, 46) },
    others: {
      ...readOutcomes('openai-chat-mistral'),
      'audio-usage': {
        content: [text('A dog barks.')],
        usage: usage(383, 27),
        finishReason: 'stop',
        responseId: '5f0f2c1a9d3e4b7c8a61',
      },
    },
  },
  groq: {
    modelName: 'openai/gpt-oss-20b',
    responseId: 'chatcmpl-6b1e0f4c',
    plain: {
      content: [thought('groq')('We should greet 👋.'), text('Grüß dich!')],
      usage: usage(72, 33, { reasoningTokens: 18 }),
    },
    tools: {
      content: [thought('groq')('Two tools.'), ...calls('fc_0a', 'fc_0b')],
      usage: usage(140, 60, { reasoningTokens: 20 }),
    },
    others: {
      ...readOutcomes('openai-chat-groq'),
      'tool-use-failed': { content: [text('Let me')], responseId: 'chatcmpl-6b1e0f4c', error: 'bad_request' },
    },
  },
  together: {
    modelName: 'zai-org/GLM-4.7',
    responseId: 'oBq7-4yUR-9c1d',
    plain: {
      content: [thought('together')('A greeting 👋.'), text('Grüß dich!')],
      usage: usage(11, 25, { cachedTokens: 2 }),
    },
    tools: {
      content: [thought('together')('Two.'), ...calls('call_tg1', 'call_tg2')],
      usage: usage(90, 31),
    },
  },
  fireworks: {
    modelName: 'accounts/fireworks/models/glm-4p7',
    responseId: '9f2d-fw-1',
    plain: {
      content: [thought('fireworks')('A greeting 👋.'), text('Grüß dich!')],
      usage: usage(9, 21, { cachedTokens: 3 }),
    },
    tools: {
      content: [thought('fireworks')('Two.'), ...calls('call_fw1', 'call_fw2')],
      usage: usage(80, 40),
    },
  },
  cerebras: {
    modelName: 'gpt-oss-120b',
    responseId: 'chatcmpl-cb-77',
    plain: {
      content: [thought('cerebras')('A greeting 👋.'), text('Grüß dich!')],
      usage: usage(70, 28, { cachedTokens: 64 }),
    },
    tools: {
      content: [thought('cerebras')('Two.'), ...calls('4c1e0a9b2', '8d2f1b3c4')],
      usage: usage(150, 44),
    },
  },
  perplexity: {
    modelName: 'sonar-pro',
    responseId: 'c1f0b7de-52a1-4b93',
    plain: {
      content: [{ type: 'text', text: 'Grüß dich 👋!', citations: [{ url: 'https://example.org/a' }] }],
      usage: usage(6, 5),
    },
    tools: undefined,
    others: {
      ...readOutcomes('openai-chat-perplexity'),
      'too-many-tokens': { content: [], error: 'context_overflow' },
    },
  },
  minimax: {
    modelName: 'MiniMax-M2.5',
    responseId: '05a1c2d3e4f5',
    plain: {
      content: [
        thought('minimax')('A greeting 👋.', {
          reasoningDetails: [
            {
              type: 'reasoning.text',
              id: 'reasoning-text-1',
              format: 'MiniMax-response-v1',
              index: 0,
              text: 'A greeting 👋.',
            },
          ],
        }),
        text('Grüß dich!'),
      ],
      usage: usage(42, 31, { reasoningTokens: 20 }),
    },
    tools: {
      content: [
        thought('minimax')('Two.', {
          reasoningDetails: [
            {
              type: 'reasoning.text',
              id: 'reasoning-text-1',
              format: 'MiniMax-response-v1',
              index: 0,
              text: 'Two.',
            },
          ],
        }),
        ...calls('call_function_1', 'call_function_2'),
      ],
      usage: usage(190, 50),
    },
    others: { 'no-balance': { content: [], responseId: '05a1', error: 'rate_limit' } },
  },
  hunyuan: {
    modelName: 'hunyuan-2.0-thinking',
    responseId: 'hy-3a2b1c',
    plain: {
      content: [thought('hunyuan')('用户在打招呼。'), text('你好 👋')],
      usage: usage(10, 24),
    },
    tools: {
      content: [thought('hunyuan')('两个问题。'), ...calls('call_hy1', 'call_hy2')],
      usage: usage(77, 38),
    },
    others: readOutcomes('openai-chat-hunyuan'),
  },
  volcengine: {
    modelName: 'doubao-seed-1-8-251228',
    responseId: '0217630000001234',
    plain: {
      content: [thought('volcengine')('用户在打招呼。'), text('你好 👋')],
      usage: usage(53, 40, { cachedTokens: 0, reasoningTokens: 31 }),
    },
    tools: {
      content: [thought('volcengine')('两个问题。'), ...calls('call_vc1', 'call_vc2')],
      usage: usage(201, 66, { cachedTokens: 0, reasoningTokens: 22 }),
    },
    others: readOutcomes('openai-chat-volcengine'),
  },
};

for (const [name, { modelName, responseId, plain, tools, others, endByMark }] of Object.entries(VENDORS)) {
  const strict: ChatStrictness = STRICTNESS[name as ChatVendorName];
  describeWire({
    name: `openai-chat-${name}`,
    isVariant: true,
    makeModel: (options) =>
      new OpenAIChatModel({
        vendor: name as ChatVendorName,
        modelName,
        apiKey: 'sk-test',
        baseUrl: 'http://127.0.0.1:9',
        ...options,
      }),
    contentType: 'text/event-stream',
    historyField: 'messages',
    hasNoTools: tools === undefined,
    endsWithUser: strict.roleOrder === 'alternating',
    endByMark: endByMark ?? [],
    faultsIn: (body) => openAiChatFaults(body, strict),
    errorBody: (message) => ({ error: { message, type: 'invalid_request_error', param: null, code: null } }),
    outcomes: {
      plain: { ...plain, finishReason: 'stop', responseId },
      ...(tools && { 'parallel-tools': { ...tools, finishReason: 'tool_calls', responseId } }),
      ...others,
    },
  });
}
