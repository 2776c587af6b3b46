import { expect, test } from 'vitest';
import { MsgDraft } from '../../src/message/msg-draft.ts';
import { Msg } from '../../src/message/msg.ts';
import { chatProviderTools, OpenAIChatModel, type ChatVendorName } from '../../src/providers/openai/index.ts';
import type { JsonObject } from '../../src/util/json.ts';
import { TOOLS } from './histories.ts';
import { openAiChatFaults, STRICTNESS } from './openai-chat-rules.ts';
import { describeProviderTools, type ProviderToolCase } from './provider-tools-suite.ts';
import { fetchOf, readFixtures, toBytes, type SentRequest } from './replay.ts';

const SSE = { 'content-type': 'text/event-stream' };
const file = {
  type: 'file',
  file: { hash: 'ab12', name: 'a.pdf', content: [{ type: 'text', text: 'Inhalt' }] },
};

const sourced = (text: string, ...sources: string[]): JsonObject => ({
  role: 'assistant',
  content: [`${text}\n\nSources:`, ...sources].join('\n'),
});

/** The messages that stand for the answer: sources as text, because no vendor takes citations back. */
const CASES: Partial<Record<ChatVendorName, readonly ProviderToolCase[]>> = {
  openrouter: [
    {
      name: 'web-and-file',
      sentBack: [
        {
          role: 'assistant',
          content: 'Es sind 12 °C.\n\nSources:\n[1] Wetter <https://example.com/koeln>',
          annotations: [file],
        },
      ],
      inWords: ['https://example.com/koeln'],
    },
    {
      name: 'sources-first',
      sentBack: [
        {
          role: 'assistant',
          content:
            'Es sind 12 °C.\n\nSources:\n[1] Wetter <https://example.com/koeln>\n[2] https://example.org/',
        },
      ],
      inWords: ['https://example.org/'],
    },
    { name: 'image', sentBack: [{ role: 'assistant', content: 'Ein Bär:' }] },
    {
      name: 'sources-in-pieces',
      sentBack: [
        sourced('Es sind 12 °C.', '[1] Wetter <https://example.com/koeln>', '[2] https://example.org/'),
      ],
      inWords: ['https://example.org/'],
    },
  ],
  mistral: [
    {
      name: 'references',
      sentBack: [
        sourced(
          'Laut Bericht sind es 12 °C, sagt man.',
          '[1] document 0',
          '[2] document 1',
          '[3] wetter',
          '[4] Klima <https://example.org/>',
        ),
      ],
      inWords: ['https://example.org/'],
    },
  ],
  zhipu: [
    {
      name: 'web-search',
      sentBack: [
        sourced(
          'Es sind 12 °C[ref_1].',
          '[1] Wetter <https://example.com/koeln>',
          '[2] https://example.org/',
        ),
      ],
      inWords: ['https://example.org/'],
    },
  ],
  hunyuan: [
    {
      name: 'search-info',
      sentBack: [sourced('Es sind 12 °C[^1].', '[1] Wetter <https://example.com/koeln>')],
      inWords: ['https://example.com/koeln'],
    },
  ],
  volcengine: [
    {
      name: 'bot-references',
      sentBack: [sourced('Es sind 12 °C。', '[1] Wetter <https://example.com/koeln>')],
      inWords: ['https://example.com/koeln'],
    },
  ],
  xai: [
    {
      name: 'live-search',
      sentBack: [
        {
          role: 'assistant',
          content: 'Es sind 12 °C.\n\nSources:\n[1] https://example.com/koeln\n[2] https://x.com/i/status/1',
        },
      ],
      inWords: ['https://x.com/i/status/1'],
    },
  ],
  perplexity: [
    {
      name: 'searched',
      sentBack: [
        {
          role: 'assistant',
          content:
            'Es sind 12 °C[1].\n\nSources:\n[1] Wetter <https://example.com/koeln>\n[2] Klima <https://example.org/>',
        },
      ],
      inWords: ['https://example.org/'],
    },
  ],
  groq: [
    {
      name: 'executed-tools',
      sentBack: [
        {
          role: 'assistant',
          reasoning:
            '<think>\nIch suche.\n<tool>\nsearch(Wetter Köln)\n\n</tool>\n<output>Title: Wetter\n12 °C\n</output>\n</think>\n',
          content: 'Es sind 12 °C.',
        },
      ],
      inWords: ['Wetter Köln'],
    },
    {
      name: 'tool-in-one-chunk',
      sentBack: [{ role: 'assistant', content: 'Es sind 12 °C.' }],
      inWords: ['Wetter Köln', '0.98'],
    },
  ],
  openai: [{ name: 'sound-and-more', sentBack: [{ role: 'assistant', content: 'Hallö' }] }],
};

for (const [vendor, cases] of Object.entries(CASES) as [ChatVendorName, readonly ProviderToolCase[]][]) {
  describeProviderTools({
    wire: {
      folder: vendor === 'openai' ? 'openai-chat' : `openai-chat-${vendor}`,
      contentType: SSE['content-type'],
      faultsIn: (body) => openAiChatFaults(body, STRICTNESS[vendor]),
    },
    makeModel: (options) =>
      new OpenAIChatModel({
        vendor,
        modelName: vendor === 'openai' ? 'gpt-4.1' : 'some-model',
        apiKey: 'key',
        baseUrl: 'http://127.0.0.1:9',
        ...options,
      }),
    answerIn: ({ messages }) =>
      (messages as JsonObject[]).slice(1, 2).map(({ name: _, ...message }) => message),
    cases,
  });
}

const answer = (folder: string, name: string): Uint8Array =>
  readFixtures(folder).get(name) ?? new Uint8Array();

test.each([
  [
    chatProviderTools.xaiSearch({ maxResults: 5, sources: [{ type: 'web' }] }),
    {
      search_parameters: {
        mode: 'auto',
        return_citations: true,
        max_search_results: 5,
        sources: [{ type: 'web' }],
      },
    },
  ],
  [
    chatProviderTools.groqCompound(['web_search']),
    { compound_custom: { tools: { enabled_tools: ['web_search'] } } },
  ],
  [
    chatProviderTools.openaiSearch({ searchContextSize: 'low' }),
    { web_search_options: { search_context_size: 'low' } },
  ],
  [chatProviderTools.openrouterWeb({ maxResults: 2 }), { plugins: [{ id: 'web', max_results: 2 }] }],
  [
    chatProviderTools.openrouterSearch({ engine: 'exa', maxResults: 3, excludedDomains: ['a.example'] }),
    {
      tools: [
        { type: 'function' },
        { type: 'function' },
        {
          type: 'openrouter:web_search',
          parameters: { engine: 'exa', max_results: 3, excluded_domains: ['a.example'] },
        },
      ],
    },
  ],
  [
    chatProviderTools.openrouterTool('datetime'),
    { tools: [{ type: 'function' }, { type: 'function' }, { type: 'openrouter:datetime' }] },
  ],
  [
    chatProviderTools.perplexitySearch({
      domains: ['-a.example'],
      recency: 'week',
      searchContextSize: 'low',
    }),
    {
      search_domain_filter: ['-a.example'],
      search_recency_filter: 'week',
      web_search_options: { search_context_size: 'low' },
    },
  ],
  [
    chatProviderTools.zhipuSearch({ count: 5 }),
    {
      tools: [
        { type: 'function' },
        { type: 'function' },
        {
          type: 'web_search',
          web_search: { enable: true, search_engine: 'search_std', search_result: true, count: 5 },
        },
      ],
    },
  ],
  [
    chatProviderTools.dashscopeSearch({ forced: true }),
    { enable_search: true, search_options: { forced_search: true } },
  ],
  [chatProviderTools.hunyuanSearch(), { enable_enhancement: true, citation: true, search_info: true }],
  [
    chatProviderTools.groqTool('browser_search'),
    { tools: [{ type: 'function' }, { type: 'function' }, { type: 'browser_search' }] },
  ],
])('a tool of a vendor is asked for: %j', async (asked, fields) => {
  const sent: SentRequest[] = [];
  const model = new OpenAIChatModel({
    modelName: 'gpt-4.1',
    apiKey: 'key',
    providerTools: [asked],
    fetch: fetchOf({ pieces: [answer('openai-chat', 'plain')], headers: SSE }, sent),
  });
  await model.call({ messages: [Msg.user('Hi.')], tools: TOOLS });
  expect(JSON.parse(sent[0]?.body ?? '')).toMatchObject(fields);
});

test('fields of several tools are joined', async () => {
  const sent: SentRequest[] = [];
  const model = new OpenAIChatModel({
    modelName: 'gpt-4.1',
    apiKey: 'key',
    providerTools: [
      chatProviderTools.openrouterWeb({ maxResults: 2 }),
      chatProviderTools.other({ fields: { plugins: [{ id: 'file-parser' }] } }),
      chatProviderTools.openaiSearch({ searchContextSize: 'low' }),
      chatProviderTools.other({ fields: { web_search_options: { user_location: null } } }),
    ],
    fetch: fetchOf({ pieces: [answer('openai-chat', 'plain')], headers: SSE }, sent),
  });
  await model.call({ messages: [Msg.user('Hi.')] });
  expect(JSON.parse(sent[0]?.body ?? '')).toMatchObject({
    plugins: [{ id: 'web', max_results: 2 }, { id: 'file-parser' }],
    web_search_options: { search_context_size: 'low', user_location: null },
  });
});

test.each<[ChatVendorName, string, JsonObject]>([
  [
    'groq',
    'executed-tools',
    {
      usage_breakdown: {
        models: [expect.objectContaining({ model: 'llama-3.3-70b-versatile' }) as JsonObject],
      },
    },
  ],
  [
    'perplexity',
    'searched',
    {
      usage: {
        search_context_size: 'low',
        cost: expect.objectContaining({ total_cost: 0.00501 }) as JsonObject,
      },
      citations: ['https://example.com/koeln', 'https://example.org/'],
    },
  ],
  [
    'openrouter',
    'image',
    { provider: 'Google', native_finish_reason: 'STOP', usage: { cost: 0.0387, is_byok: false } },
  ],
  [
    'zhipu',
    'web-search',
    {
      model: 'glm-4.7',
      web_search: [
        expect.objectContaining({ refer: 'ref_1', media: 'Wetterdienst' }) as JsonObject,
        expect.objectContaining({ refer: 'ref_2' }) as JsonObject,
      ],
    },
  ],
  ['hunyuan', 'search-info', { note: '以上内容为AI生成' }],
  [
    'mistral',
    'references',
    { parts: expect.arrayContaining([{ type: 'reference', reference_ids: [1, 'wetter'] }]) as JsonObject[] },
  ],
])('%s, %s: costs, and what else the answer says, are kept', async (vendor, name, said) => {
  const model = new OpenAIChatModel({
    vendor,
    modelName: 'm',
    apiKey: 'key',
    fetch: fetchOf({ pieces: [answer(`openai-chat-${vendor}`, name)], headers: SSE }),
  });
  const { providerMeta } = await model.call({ messages: [Msg.user('Hi.')] });
  expect(providerMeta?.[vendor]).toMatchObject(said);
});

test('sources behind a tool call are kept: they are of no text that could still have them', async () => {
  const source = {
    type: 'url_citation',
    url_citation: { url: 'https://example.com/koeln', title: 'Wetter' },
  };
  const called = { id: 'a', type: 'function', function: { name: 'get_time', arguments: '{}' } };
  const deltas: JsonObject[] = [
    { content: 'Moment.' },
    { tool_calls: [{ index: 0, ...called }] },
    { annotations: [source] },
  ];
  const chunks = [
    ...deltas.map((delta) => ({ id: 'a', choices: [{ index: 0, delta }] })),
    { id: 'a', choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
  ];
  const stream = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('');
  const model = new OpenAIChatModel({
    vendor: 'openrouter',
    modelName: 'm',
    apiKey: 'key',
    fetch: fetchOf({ pieces: [toBytes(stream)], headers: SSE }),
  });
  const msg = await model.call({ messages: [Msg.user('Hi.')], tools: TOOLS });
  expect(msg.providerMeta).toEqual({ openrouter: { annotations: [source] } });
  expect(msg.getContentBlocks().map(({ type }) => type)).toEqual(['text', 'tool_use']);
});

test('a field of a vendor that nobody knows is kept', async () => {
  const chunk = { id: 'a', choices: [{ index: 0, delta: { content: 'Hi', dream: { depth: 3 } } }] };
  const end = { id: 'a', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
  const bytes = toBytes(`data: ${JSON.stringify(chunk)}\n\ndata: ${JSON.stringify(end)}\n\ndata: [DONE]\n\n`);
  const model = new OpenAIChatModel({
    modelName: 'm',
    apiKey: 'key',
    fetch: fetchOf({ pieces: [bytes], headers: SSE }),
  });
  const msg = await model.call({ messages: [Msg.user('Hi.')] });
  expect(msg.providerMeta).toEqual({ openai: { dream: { depth: 3 } } });
});

test('sound is streamed beside its transcript, and what the answer says besides is kept', async () => {
  const model = new OpenAIChatModel({
    modelName: 'gpt-4o-audio-preview',
    apiKey: 'key',
    fetch: fetchOf({ pieces: [answer('openai-chat', 'sound-and-more')], headers: SSE }),
  });
  const draft = new MsgDraft('Friday');
  const streamed: string[] = [];
  for await (const delta of model.stream({ messages: [Msg.user('Hi.')] })) {
    draft.add(delta);
    if (delta.type === 'audio') streamed.push(delta.data);
    else if (delta.type === 'text') streamed.push(delta.text);
  }
  expect(streamed).toEqual(['Hal', 'AAAA', 'lö', 'BBBB']);
  expect(draft.finish().providerMeta).toEqual({
    openai: {
      model: 'm',
      service_tier: 'default',
      system_fingerprint: 'fp_1',
      content_filter_results: { hate: { filtered: false, severity: 'safe' } },
      logprobs: [{ token: 'lö', logprob: -0.5, bytes: null, top_logprobs: [] }],
    },
  });
});
