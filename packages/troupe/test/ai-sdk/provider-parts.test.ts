// Tools that a provider runs itself, through real packages of the AI SDK in all versions of the specification: recorded
// answers are read, saved and loaded, and go back.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { MsgDraft } from '../../src/message/msg-draft.ts';
import { Msg } from '../../src/message/msg.ts';
import { AiSdkModel, type AiSdkProviderTool } from '../../src/providers/ai-sdk/index.ts';
import type { JsonObject } from '../../src/util/json.ts';
import { readFixtures, toText } from '../wire/replay.ts';
import { Loopback } from './loopback.ts';
import { ANTHROPIC, GEMINI, RESPONSES_WIRES, type Wire } from './wires.ts';

let server: Loopback;
beforeAll(async () => {
  server = await new Loopback().listen();
});
beforeEach(() => {
  server.requests.length = 0;
});
afterAll(() => server.close());

const OPENAI_TOOLS: readonly AiSdkProviderTool[] = [
  { id: 'openai.web_search' },
  { id: 'openai.file_search', args: { vectorStoreIds: ['vs_1'] } },
  { id: 'openai.code_interpreter' },
  { id: 'openai.image_generation' },
  { id: 'openai.mcp', args: { serverLabel: 'zip1', serverUrl: 'https://zip1.io/mcp' } },
];
const ANTHROPIC_TOOLS: readonly AiSdkProviderTool[] = [
  { id: 'anthropic.web_search_20250305', name: 'web_search' },
  { id: 'anthropic.code_execution_20250825', name: 'code_execution' },
  { id: 'anthropic.tool_search_bm25_20251119', name: 'tool_search_tool_bm25' },
];
const GOOGLE_TOOLS: readonly AiSdkProviderTool[] = [
  { id: 'google.google_search' },
  { id: 'google.code_execution' },
];
const recorded = (folder: string, name: string): string =>
  toText(readFixtures(folder).get(name) ?? new Uint8Array());

/** The answer to a recording, and the history of the request after it. */
async function twoTurns(
  model: AiSdkModel,
  folder: string,
  name: string,
): Promise<[Msg, readonly JsonObject[]]> {
  server.willAnswer(recorded(folder, name), recorded(folder, 'plain'));
  const msg = await model.call({ messages: [Msg.user('Hi.')] });
  const results = msg
    .getContentBlocks('tool_use')
    .map(({ id, name }) => ({ type: 'tool_result', id, name, output: 'Yes.', status: 'ok' }) as const);
  const loaded = Msg.from(JSON.parse(JSON.stringify(msg)));
  await model.call({
    messages: [Msg.user('Hi.'), loaded, results.length > 0 ? Msg.system(results) : Msg.user('Go on.')],
  });
  const body: JsonObject = server.requests[1]?.body ?? {};
  return [msg, (body['input'] ?? body['messages'] ?? body['contents']) as readonly JsonObject[]];
}

const typesOf = (msg: Msg): string[] => msg.getContentBlocks().map(({ type }) => type);
const PAIR = ['provider_tool_use', 'provider_tool_result'];

describe.each(RESPONSES_WIRES)('$title', ({ model, title }: Wire) => {
  const make = (store: boolean): AiSdkModel =>
    new AiSdkModel(model(server.url), {
      providerTools: OPENAI_TOOLS,
      generation: { extra: { openai: { store } } },
    });

  test('asks for the tools of the provider', async () => {
    await twoTurns(make(false), 'openai-responses', 'plain');
    expect(server.requests[0]?.body['tools']).toMatchObject([
      { type: 'web_search' },
      { type: 'file_search', vector_store_ids: ['vs_1'] },
      { type: 'code_interpreter' },
      { type: 'image_generation' },
      ...(title.endsWith('v2') ? [] : [{ type: 'mcp', server_label: 'zip1' }]),
    ]);
  });

  test.each<readonly [string, readonly string[], RegExp]>([
    ['web-search', ['thinking', ...PAIR, 'text'], /koeln/],
    ['file-search', [...PAIR, 'text'], /30 Tage/],
    ['code-interpreter', [...PAIR, 'text'], /ü/],
    ['image-generation', [...PAIR, 'text'], /iVBORw0K/],
    // The package of v2 reads no remote MCP servers.
    ...(title.endsWith('v2') ? [] : ([['mcp', [...PAIR, ...PAIR, 'text'], /zip1\.io\/x/]] as const)),
  ])(
    '%s: calls, results and sources are read, and go back by reference or as text',
    async (name, types, word) => {
      const [msg, stored] = await twoTurns(make(true), 'openai-responses', name);
      expect(typesOf(msg)).toEqual(types);
      expect(msg.finishReason).toBe('stop');
      expect(JSON.stringify(msg.content)).toMatch(word);
      expect(stored.filter(({ type }) => type === 'item_reference').length).toBeGreaterThan(0);
      server.requests.length = 0;
      const [, sent] = await twoTurns(make(false), 'openai-responses', name);
      expect(sent.filter(({ type }) => type === 'item_reference')).toEqual([]);
      expect(JSON.stringify(sent)).toMatch(name === 'image-generation' ? /image_generation/ : word);
    },
  );

  test('sources of a text are citations', async () => {
    const [msg] = await twoTurns(make(false), 'openai-responses', 'web-search');
    expect(msg.getContentBlocks('text')[0]?.citations?.[0]).toMatchObject({
      url: 'https://example.com/koeln',
    });
  });
});

test.each(RESPONSES_WIRES.slice(1))(
  '$title: an approval is a tool call, and its result tells the provider',
  async ({ model }) => {
    const bridge = new AiSdkModel(model(server.url), {
      providerTools: OPENAI_TOOLS,
      generation: { extra: { openai: { store: true } } },
    });
    const [msg, sent] = await twoTurns(bridge, 'openai-responses', 'mcp-approval');
    expect(msg.finishReason).toBe('tool_calls');
    expect(msg.getContentBlocks('tool_use')).toMatchObject([
      { id: 'mcpr_01', name: 'mcp_approval', input: { arguments: { url: expect.any(String) as string } } },
    ]);
    expect(sent.at(-1)).toEqual({
      type: 'mcp_approval_response',
      approval_request_id: 'mcpr_01',
      approve: true,
    });
  },
);

test.each(RESPONSES_WIRES)('$title: an answer that was cut off is not referred to', async ({ model }) => {
  const bridge = new AiSdkModel(model(server.url), {
    providerTools: OPENAI_TOOLS,
    generation: { extra: { openai: { store: true } } },
  });
  const [cut = ''] = recorded('openai-responses', 'web-search').split('event: response.completed');
  server.willAnswer(cut, recorded('openai-responses', 'plain'));
  const draft = new MsgDraft('assistant');
  const reading = (async () => {
    for await (const delta of bridge.stream({ messages: [Msg.user('Hi.')] })) draft.add(delta);
  })();
  await expect(reading).rejects.toThrow('lost');
  await bridge.call({ messages: [Msg.user('Hi.'), draft.finish(), Msg.user('Go on.')] });
  const sent = server.requests[1]?.body['input'] as readonly JsonObject[];
  expect(sent.filter(({ type }) => type === 'item_reference')).toEqual([]);
  expect(JSON.stringify(sent)).toMatch(/\[web_search, run by openai: .*Es sind 12 °C/);
});

test.each([
  ['server-tools', ['text', ...PAIR, 'text']],
  ['search-error', [...PAIR, 'text']],
  ['mcp', [...PAIR, 'text']],
])('Anthropic, v4: %s goes back as it came', async (name, types) => {
  const model = new AiSdkModel(ANTHROPIC.model(server.url), { providerTools: ANTHROPIC_TOOLS });
  const [msg, sent] = await twoTurns(model, 'anthropic', name);
  expect(typesOf(msg)).toEqual(types);
  const content = sent[1]?.['content'] as readonly JsonObject[];
  const [use, result] = content.filter(({ type }) => /_tool_(?:use|result)$/.test(String(type)));
  expect(use?.['id']).toMatch(/toolu_/);
  expect(result?.['tool_use_id']).toBe(use?.['id']);
});

test('Anthropic, v4: half of a pair goes back as text', async () => {
  const model = new AiSdkModel(ANTHROPIC.model(server.url), { providerTools: ANTHROPIC_TOOLS });
  server.willAnswer(recorded('anthropic', 'server-tools'), recorded('anthropic', 'plain'));
  const msg = await model.call({ messages: [Msg.user('Hi.')] });
  const half = msg.with({ content: msg.getContentBlocks().slice(0, 2) });
  await model.call({ messages: [Msg.user('Hi.'), half, Msg.user('Go on.')] });
  const [, answer] = (server.requests[1]?.body['messages'] ?? []) as {
    content: { type: string; text: string }[];
  }[];
  expect(answer?.content.map(({ type }) => type)).toEqual(['text', 'text']);
  expect(answer?.content[1]?.text).toMatch(/^\[web_search, run by anthropic: /);
});

test('Gemini, v4: code goes back as it came, and sources are citations', async () => {
  const model = new AiSdkModel(GEMINI.model(server.url), { providerTools: GOOGLE_TOOLS });
  const [msg, sent] = await twoTurns(model, 'gemini', 'code-execution');
  expect(typesOf(msg)).toEqual(['text', ...PAIR, ...PAIR, 'text']);
  const parts = sent[1]?.['parts'] as readonly JsonObject[];
  expect(parts.flatMap((part) => Object.keys(part))).toEqual([
    'text',
    'executableCode',
    'codeExecutionResult',
    'executableCode',
    'codeExecutionResult',
    'text',
  ]);
  server.requests.length = 0;
  const [searched] = await twoTurns(model, 'gemini', 'google-search');
  expect(searched.getContentBlocks('text')[0]?.citations?.map(({ url }) => url)).toContain(
    'https://example.org/',
  );
});

test('another provider reads text', async () => {
  const claude = new AiSdkModel(ANTHROPIC.model(server.url), { providerTools: ANTHROPIC_TOOLS });
  server.willAnswer(recorded('anthropic', 'server-tools'), recorded('gemini', 'plain'));
  const msg = await claude.call({ messages: [Msg.user('Hi.')] });
  const google = new AiSdkModel(GEMINI.model(server.url));
  await google.call({ messages: [Msg.user('Hi.'), msg, Msg.user('Go on.')] });
  const sent = JSON.stringify(server.requests[1]?.body);
  expect(sent).toContain('[web_search, run by anthropic');
  expect(sent).toContain('Result of web_search');
  expect(sent).not.toMatch(/providerExecuted|tool-call/);
});
