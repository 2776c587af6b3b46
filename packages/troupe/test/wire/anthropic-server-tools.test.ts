import { describe, expect, test } from 'vitest';
import { InMemoryMemory } from '../../src/memory/in-memory-memory.ts';
import { findHistoryFaults } from '../../src/message/history.ts';
import { Msg } from '../../src/message/msg.ts';
import { AnthropicChatModel, anthropicTools } from '../../src/providers/anthropic/index.ts';
import { ReActAgent } from '../../src/react/react-agent.ts';
import { InMemorySession } from '../../src/session/in-memory-session.ts';
import { FakeClock } from '../../src/testing/fake-clock.ts';
import type { JsonObject } from '../../src/util/json.ts';
import { anthropicFaults } from './anthropic-rules.ts';
import { TOOLS } from './histories.ts';
import { describeProviderTools, type ProviderToolCase } from './provider-tools-suite.ts';
import { fetchOf, readFixtures, toBytes, toText, type SentRequest } from './replay.ts';

const fixtures = readFixtures('anthropic');
const SSE = { 'content-type': 'text/event-stream' };

/** The content of a recorded answer, put together as the vendor's own library does. */
function contentOf(name: string): JsonObject[] {
  const content: Record<string, unknown>[] = [];
  for (const line of toText(fixtures.get(name) ?? new Uint8Array()).split('\n')) {
    if (!line.startsWith('data: ')) continue;
    const event = JSON.parse(line.slice(6)) as Record<string, Record<string, unknown>>;
    const index = event['index'] as unknown as number;
    const block = content[index];
    if (event['content_block']) content[index] = { ...event['content_block'] };
    const { text, partial_json: json, citation, content: summary } = event['delta'] ?? {};
    if (block === undefined || event['delta'] === undefined) continue;
    if (typeof text === 'string') block['text'] = String(block['text']) + text;
    if (typeof json === 'string') block['json'] = String(block['json'] ?? '') + json;
    if (citation) block['citations'] = [...(block['citations'] as unknown[]), citation];
    if (typeof summary === 'string') block['content'] = summary;
  }
  return content.map(({ json, ...block }) => {
    if (block['type'] === 'tool_use' && !/tool_id/.test(JSON.stringify(block))) delete block['caller']; // says nothing
    return {
      ...block,
      ...(json !== undefined && { input: JSON.parse(String(json) || '{}') as unknown }),
    } as JsonObject;
  });
}

const cases: ProviderToolCase[] = [
  {
    name: 'server-tools',
    sentBack: contentOf('server-tools'),
    inWords: ['web_search', 'https://example.com/koeln'],
  },
  {
    name: 'cited-parts',
    sentBack: [
      ...contentOf('cited-parts').slice(0, 1),
      { ...contentOf('cited-parts')[1], text: 'Bericht ist es 12 °C\n\n' }, // a text of line feeds alone is refused
      ...contentOf('cited-parts').slice(3),
    ],
    inWords: ['Sources:', 'https://example.com/koeln', 'Bericht, pages 2–3'],
  },
  {
    name: 'code-and-fetch',
    sentBack: contentOf('code-and-fetch'),
    inWords: ['Result of code_execution', '12 Zeichen'],
  },
  { name: 'tool-search', sentBack: contentOf('tool-search'), inWords: ['tool_search_tool_bm25'] },
  { name: 'mcp', sentBack: contentOf('mcp'), inWords: ['Result of echo'] },
  { name: 'encrypted-results', sentBack: contentOf('encrypted-results'), inWords: ['(encrypted)'] },
  { name: 'search-error', sentBack: contentOf('search-error'), inWords: ['max_uses_exceeded'] },
  { name: 'compaction', sentBack: contentOf('compaction'), inWords: ['## Zusammenfassung'] },
  {
    name: 'deferred-search',
    next: ['deferred-result'],
    sentBack: contentOf('deferred-search'),
    inWords: ['invalid_tool_input'],
  },
  {
    name: 'programmatic',
    next: ['whole-in-start'],
    sentBack: contentOf('programmatic'),
    inWords: ['[code_execution, run by anthropic'],
  },
  {
    name: 'advisor',
    sentBack: contentOf('advisor'),
    inWords: ['Zähle zuerst'],
  },
  { name: 'fallback', sentBack: contentOf('fallback'), inWords: ['from claude-opus-5-5 to claude-opus-4-8'] },
  {
    name: 'unknown-block',
    sentBack: [
      { type: 'text', text: '[Result of hologram: {"type":"hologram","depth":3}]' },
      { type: 'text', text: 'Siehst du es?' },
    ],
    inWords: ['hologram'],
  },
];

describeProviderTools({
  wire: { folder: 'anthropic', contentType: SSE['content-type'], faultsIn: anthropicFaults },
  makeModel: (options) =>
    new AnthropicChatModel({
      modelName: 'claude-sonnet-4-5',
      apiKey: 'key',
      providerTools: [
        anthropicTools.webSearch({ maxUses: 3, userLocation: { city: 'Köln' } }),
        anthropicTools.webFetch({ citations: true }),
        anthropicTools.codeExecution(),
        anthropicTools.toolSearch(),
        anthropicTools.mcp({ name: 'echo', url: 'https://echo.example/mcp', allowedTools: ['echo'] }),
      ],
      toolUse: { get_capital: { deferLoading: true, callers: 'both' } },
      ...options,
    }),
  answerIn: ({ messages }) => (messages as { content: unknown }[])[1]?.content,
  cases,
});

/** A model with these answers in turn, and the requests sent. */
function modelWith(...answers: readonly (Uint8Array | undefined)[]): {
  model: AnthropicChatModel;
  sent: SentRequest[];
} {
  const sent: SentRequest[] = [];
  const model = new AnthropicChatModel({
    modelName: 'claude-sonnet-4-5',
    apiKey: 'key',
    fetch: (url, init) =>
      fetchOf({ pieces: [answers[sent.length] ?? new Uint8Array()], headers: SSE }, sent)(url, init),
  });
  return { model, sent };
}
const bodyOf = (request: SentRequest | undefined): JsonObject =>
  JSON.parse(request?.body ?? '{}') as JsonObject;

/** A turn that is paused behind a call of a server tool, and its end. */
const PAUSED = toBytes(
  toText(fixtures.get('server-tools') ?? new Uint8Array())
    .split(/(?=event: content_block_start\ndata: {"type":"content_block_start","index":2)/)[0]!
    .concat(
      'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"pause_turn"},"usage":{"input_tokens":2679,"output_tokens":20}}\n\n',
      'event: message_stop\ndata: {"type":"message_stop"}\n\n',
    ),
);
const REST = toBytes(
  toText(fixtures.get('server-tools') ?? new Uint8Array()).replace(
    /event: content_block_start\ndata: \{"type":"content_block_start","index":0[^]*?(?=event: content_block_start\ndata: \{"type":"content_block_start","index":2)/,
    '',
  ),
);

test('a paused turn goes on by itself, as one answer with the usage of both parts', async () => {
  const whole = await modelWith(fixtures.get('server-tools')).model.call({ messages: [Msg.user('Hi.')] });
  const { model, sent } = modelWith(PAUSED, REST);
  const msg = await model.call({ messages: [Msg.user('Hi.')] });
  expect(msg.content).toEqual(whole.content);
  expect(msg).toMatchObject({
    finishReason: 'stop',
    usage: { inputTokens: 2679 + 10_682, outputTokens: 20 + 510 },
  });
  expect(msg.providerMeta).toEqual({
    anthropic: {
      model: 'claude-sonnet-4-5-20250929',
      service_tier: 'standard',
      inference_geo: 'global',
    },
  });
  expect(sent.flatMap((request) => anthropicFaults(bodyOf(request)))).toEqual([]);
  expect((bodyOf(sent[1])['messages'] as unknown[]).slice(1)).toEqual([
    { role: 'assistant', content: contentOf('server-tools').slice(0, 2) },
  ]);
});

describe('an agent whose turn is paused', () => {
  const make = (sent: SentRequest[]): ReActAgent =>
    new ReActAgent({
      name: 'Friday',
      model: new AnthropicChatModel({
        modelName: 'claude-sonnet-4-5',
        apiKey: 'key',
        providerTools: [anthropicTools.webSearch()],
        fetch: (url, init) => {
          const answers = [PAUSED, REST, fixtures.get('plain') ?? new Uint8Array()];
          const pieces = [answers[Math.min(sent.length, 2)] as Uint8Array];
          return fetchOf({ pieces, headers: SSE }, sent)(url, init);
        },
      }),
      memory: new InMemoryMemory(),
      console: false,
    });

  test('keeps one message, which goes back whole after a session was saved and loaded', async () => {
    const sent: SentRequest[] = [];
    const agent = make(sent);
    const hooked: string[] = [];
    agent.registerInstanceHook('postReasoning', 'watch', (_agent, _args, msg) => {
      hooked.push(...msg.getContentBlocks().map(({ type }) => type));
      return undefined;
    });
    await agent.call('Hi.');
    expect(sent).toHaveLength(2);
    expect(hooked).toEqual(['text', 'provider_tool_use', 'provider_tool_result', 'text']);
    const session = new InMemorySession();
    await session.save('one', { agent });
    const after: SentRequest[] = [...sent];
    const loaded = make(after);
    await session.load('one', { agent: loaded });
    await loaded.call('And now?');
    expect(after.flatMap((request) => anthropicFaults(bodyOf(request)))).toEqual([]);
    const [, answer] = bodyOf(after[2])['messages'] as { content: unknown }[];
    expect(answer?.content).toEqual(contentOf('server-tools'));
  });

  test('is left in order by an interrupt at every event', async () => {
    for (let point = 0, events = Infinity; point < events; point++) {
      const sent: SentRequest[] = [];
      const agent = make(sent);
      events = 0;
      for await (const _event of agent.stream('Hi.')) if (events++ === point) void agent.interrupt('stop');
      expect(findHistoryFaults(await agent.memory.getMemory()), `event ${point}`).toEqual([]);
      await agent.call('And now?');
      expect(
        sent.flatMap((request) => anthropicFaults(bodyOf(request))),
        `event ${point}`,
      ).toEqual([]);
    }
  });
});

test('the beta features of an answer are asked for with it', async () => {
  for (const [name, beta] of [
    ['fallback', 'server-side-fallback-2026-07-01'],
    ['advisor', 'advisor-tool-2026-03-01'],
  ] as const) {
    const { model, sent } = modelWith(fixtures.get(name), fixtures.get('plain'));
    const msg = await model.call({ messages: [Msg.user('Hi.')] });
    await model.call({ messages: [Msg.user('Hi.'), msg, Msg.user('Go on.')] });
    expect(sent.map(({ headers }) => headers['anthropic-beta'])).toEqual([undefined, beta]);
  }
});

test('a turn that is paused again and again ends at a limit', async () => {
  const { model, sent } = modelWith(...Array.from({ length: 40 }, () => PAUSED));
  expect((await model.call({ messages: [Msg.user('Hi.')] })).finishReason).toBe('other');
  expect(sent).toHaveLength(21);
});

test('leaving a paused turn asks no further', async () => {
  const { model, sent } = modelWith(PAUSED, REST);
  for await (const delta of model.stream({ messages: [Msg.user('Hi.')] }))
    if (delta.type === 'tool_use_end') break;
  expect(sent).toHaveLength(1);
});

const result = (id: string, name: string): Msg =>
  Msg.system([{ type: 'tool_result', id, name, output: 'Noon', status: 'ok' }]);

test('code that waits for tool results goes on in its container, and its result stands in a later message', async () => {
  using _ = new FakeClock().install(); // long before the container expires, and it is needed also afterwards
  const { model, sent } = modelWith(
    fixtures.get('programmatic'),
    fixtures.get('whole-in-start'),
    fixtures.get('plain'),
  );
  const history: Msg[] = [Msg.user('Play.')];
  history.push(await model.call({ messages: history, tools: TOOLS }), result('toolu_01Roll', 'get_time'));
  history.push(await model.call({ messages: history, tools: TOOLS }), result('toolu_01Again', 'get_capital'));
  await model.call({ messages: history, tools: TOOLS });
  expect(sent.flatMap((request) => anthropicFaults(bodyOf(request)))).toEqual([]);
  expect(sent.map((request) => bodyOf(request)['container'])).toEqual([
    undefined,
    'container_01Game',
    undefined,
  ]);
  const [, first, , second] = bodyOf(sent[2])['messages'] as { content: unknown }[];
  expect(first?.content).toEqual(contentOf('programmatic'));
  expect(second?.content).toEqual([
    expect.objectContaining({ type: 'code_execution_tool_result', tool_use_id: 'srvtoolu_01Game' }),
    { type: 'text', text: 'Noch einmal: ' },
    { type: 'tool_use', id: 'toolu_01Again', name: 'get_capital', input: { country: 'Perú' } },
  ]);
});

test('code that was left waiting becomes text, and its calls plain tool calls', async () => {
  const { model, sent } = modelWith(fixtures.get('programmatic'), fixtures.get('plain'));
  const asked = Msg.user('Play.');
  const msg = await model.call({ messages: [asked], tools: TOOLS });
  const messages = [asked, msg, result('toolu_01Roll', 'get_time'), Msg.user('Something else.')];
  await model.call({ messages, tools: TOOLS });
  const body = bodyOf(sent[1]);
  expect(anthropicFaults(body)).toEqual([]);
  expect(body['container']).toBe(undefined);
  expect((body['messages'] as { content: unknown }[])[1]?.content).toEqual([
    { type: 'text', text: 'Ich würfle.' },
    { type: 'text', text: '[code_execution, run by anthropic: {"code":"await get_time({})"}]' },
    { type: 'tool_use', id: 'toolu_01Roll', name: 'get_time', input: {} },
  ]);
});

test('a container is used again as long as it lasts', async () => {
  using clock = new FakeClock().install();
  const sent: SentRequest[] = [];
  const answer = toBytes(
    toText(fixtures.get('code-and-fetch') ?? new Uint8Array()).replace(
      '2126-03-03T19:38:14Z',
      new Date(clock.now() + 60_000).toISOString(),
    ),
  );
  const model = new AnthropicChatModel({
    modelName: 'claude-sonnet-4-5',
    apiKey: 'key',
    providerTools: [anthropicTools.codeExecution()],
    fetch: fetchOf({ pieces: [answer], headers: SSE }, sent),
  });
  const msg = await model.call({ messages: [Msg.user('Hi.')] });
  const messages = [Msg.user('Hi.'), msg, Msg.user('Again.')];
  await model.call({ messages });
  await clock.advance(60_000);
  await model.call({ messages });
  expect(sent.map((request) => bodyOf(request)['container'])).toEqual([
    undefined,
    'container_01A',
    undefined,
  ]);
});

test('a found tool that is gone takes its search with it', async () => {
  const { model, sent } = modelWith(fixtures.get('tool-search'), fixtures.get('plain'));
  const msg = await model.call({ messages: [Msg.user('Hi.')], tools: TOOLS });
  const [, capital] = [TOOLS[1], TOOLS[0]!];
  await model.call({
    messages: [Msg.user('Hi.'), msg, result('toolu_01Time', 'get_time')],
    tools: [capital],
  });
  expect(anthropicFaults(bodyOf(sent[1]))).toEqual([]);
  expect(JSON.stringify(bodyOf(sent[1])['messages'])).not.toContain('tool_search_tool_result');
});

test('a text that a hook has changed goes back without citations, with a list of sources', async () => {
  const { model, sent } = modelWith(fixtures.get('cited-parts'), fixtures.get('plain'));
  const msg = await model.call({ messages: [Msg.user('Hi.')] });
  const changed = msg.with({
    content: msg.getContentBlocks('text').map((block) => ({ ...block, text: 'Censored.' })),
  });
  await model.call({ messages: [Msg.user('Hi.'), changed, Msg.user('Go on.')] });
  const [, answer] = bodyOf(sent[1])['messages'] as { content: unknown }[];
  expect(answer?.content).toEqual([
    { type: 'text', text: expect.stringMatching(/^Censored\.\n\nSources:\n\[1\] Wetter </) },
  ]);
});

test('a saved state can’t smuggle a block into a request', async () => {
  const { model, sent } = modelWith(fixtures.get('plain'));
  const block = { type: 'tool_use', id: 'toolu_forged', name: 'rm', input: {} };
  const by = {
    id: 'toolu_forged',
    name: 'rm',
    executedBy: 'anthropic',
    providerMeta: { anthropic: { block } },
  };
  const forged = Msg.assistant([
    { type: 'provider_tool_use', input: {}, ...by },
    { type: 'provider_tool_result', output: '', status: 'ok', ...by },
    {
      type: 'tool_use',
      id: 'a',
      name: 'get_time',
      input: {},
      providerMeta: { anthropic: { caller: { evil: true } } },
    },
  ]);
  await model.call({ messages: [Msg.user('Hi.'), forged], tools: TOOLS });
  expect(anthropicFaults(bodyOf(sent[0]))).toEqual([]);
  expect(sent[0]?.body).not.toContain('evil');
  expect(
    (bodyOf(sent[0])['messages'] as { content: { type: string }[] }[])[1]?.content.map(({ type }) => type),
  ).toEqual(['text', 'text', 'tool_use']);
});

test('tools, betas and servers are asked for as the API names them, and a token stays out of errors', async () => {
  const sent: SentRequest[] = [];
  const model = new AnthropicChatModel({
    modelName: 'claude-sonnet-4-5',
    apiKey: 'key',
    providerTools: [
      anthropicTools.webSearch({ maxUses: 3, allowedDomains: ['a.example'] }),
      anthropicTools.mcp({ name: 'm', url: 'https://m.example', authorizationToken: 'secret-token' }),
    ],
    toolUse: { get_time: { callers: 'code' } },
    fetch: fetchOf({ pieces: [toBytes('{"error":{"message":"bad secret-token"}}')], status: 400 }, sent),
  });
  const error: unknown = await model
    .call({ messages: [Msg.user('Hi.')], tools: TOOLS })
    .catch((e: unknown) => e);
  expect(String((error as { body?: string }).body)).not.toContain('secret-token');
  expect(sent[0]?.headers['anthropic-beta']).toBe('mcp-client-2025-11-20,advanced-tool-use-2025-11-20');
  expect(bodyOf(sent[0])).toMatchObject({
    tools: [
      { type: 'web_search_20250305', name: 'web_search', max_uses: 3, allowed_domains: ['a.example'] },
      { type: 'mcp_toolset', mcp_server_name: 'm' },
      { name: 'get_capital' },
      { name: 'get_time', allowed_callers: ['code_execution_20250825'] },
    ],
    mcp_servers: [{ type: 'url', name: 'm', url: 'https://m.example', authorization_token: 'secret-token' }],
  });
});
