import { expect, test } from 'vitest';
import { Msg } from '../../src/message/msg.ts';
import { GeminiChatModel, googleTools } from '../../src/providers/gemini/index.ts';
import type { JsonObject } from '../../src/util/json.ts';
import { geminiFaults } from './gemini-rules.ts';
import { TOOLS } from './histories.ts';
import { describeProviderTools, type ProviderToolCase } from './provider-tools-suite.ts';
import { fetchOf, readFixtures, toBytes, toText, type SentRequest } from './replay.ts';

const MODEL = 'gemini-3-flash-preview';
const fixtures = readFixtures('gemini');
const SSE = { 'content-type': 'text/event-stream' };

/** The parts of a recorded answer. */
function partsOf(name: string): JsonObject[] {
  const lines = toText(fixtures.get(name) ?? new Uint8Array()).split('\n');
  return lines
    .filter((line) => line.startsWith('data: '))
    .flatMap(
      (line) =>
        (JSON.parse(line.slice(6)) as { candidates: { content: { parts: JsonObject[] } }[] }).candidates,
    )
    .flatMap(({ content }) => content.parts)
    .filter(({ text }) => text !== '');
}

const cases: ProviderToolCase[] = [
  {
    name: 'google-search',
    sentBack: [
      {
        text: 'In Köln 🌧 ist es 12 °C. Schön!\n\nSources:\n[1] example.com <https://example.com/koeln>\n[2] example.org <https://example.org/>',
      },
    ],
    inWords: ['Wetter Köln', 'https://example.org/'],
  },
  {
    name: 'url-context',
    sentBack: [{ text: 'Die Seite sagt: Hällo.\n\nSources:\n[1] A <https://example.com/a>' }],
    inWords: ['url_context'],
  },
  {
    name: 'files-in-pieces',
    sentBack: [
      ...[1, 2].map(() => ({
        text: '[code_execution, run by gemini: {"code":"print(file_search.query(query=\\"Dom\\"))"}]',
      })),
      { text: 'Köln hat einen Dom. Er ist hoch.\n\nSources:\n[1] urlaub.txt' },
    ],
    inWords: ['urlaub.txt'],
  },
  {
    name: 'grounding-in-pieces',
    sentBack: [
      {
        text: 'Im Dom ist es kühl.\n\nSources:\n[1] A <https://example.com/a>\n[2] B <https://example.org/b>',
      },
    ],
    inWords: ['Temperatur', 'https://example.org/b'],
  },
  {
    name: 'maps',
    sentBack: [{ text: 'Es gibt das Café.\n\nSources:\n[1] Café <https://maps.google.com/?cid=1>' }],
    inWords: ['google_maps'],
  },
  {
    name: 'file-search-call',
    sentBack: [
      ...partsOf('file-search-call').slice(0, 2),
      { text: 'Paris ist die Hauptstadt. Schön.', thoughtSignature: 'EusBtext==' },
    ],
    inWords: ['file_search', 'reise.pdf, page 3'],
  },
  { name: 'thought-image', sentBack: partsOf('thought-image').slice(2), inWords: ['google_image_search'] },
  { name: 'code-execution', sentBack: partsOf('code-execution'), inWords: ['ZeroDivisionError'] },
  {
    name: 'two-results',
    sentBack: [
      ...partsOf('two-results').slice(0, 3),
      { text: 'Erst ü, dann ein Fehler.', thoughtSignature: 'EjQKMgFyyNp8EcK2k0DEVg==' },
    ],
    inWords: ['Result of code_execution: ü', 'ZeroDivisionError'],
  },
  {
    name: 'unknown-part',
    sentBack: [{ text: '[Result of hologram: {"hologram":{"depth":3}}]' }, { text: 'Siehst du es?' }],
    inWords: ['hologram'],
  },
  { name: 'server-mcp', sentBack: partsOf('server-mcp'), inWords: ['Result of echo: hällo zurück'] },
  { name: 'tools-beside-google', sentBack: partsOf('tools-beside-google'), inWords: ['google_search_web'] },
  { name: 'unexpected-call', sentBack: partsOf('unexpected-call'), inWords: ['get_weather'] },
];

const modelOf = (options: object): GeminiChatModel =>
  new GeminiChatModel({
    modelName: MODEL,
    apiKey: 'key',
    providerTools: [
      googleTools.googleSearch(),
      googleTools.urlContext(),
      googleTools.codeExecution(),
      googleTools.mcp({
        name: 'echo',
        url: 'https://echo.example/mcp',
        headers: { authorization: 'Bearer secret-token' },
      }),
    ],
    ...options,
  });

describeProviderTools({
  wire: {
    folder: 'gemini',
    contentType: SSE['content-type'],
    faultsIn: (body) => geminiFaults(body, MODEL),
  },
  makeModel: modelOf,
  answerIn: ({ contents }) => (contents as { parts: unknown }[])[1]?.parts,
  cases,
});

test('Google’s tools are asked for, beside the program’s own with their consent', async () => {
  const sent: SentRequest[] = [];
  const model = modelOf({
    fetch: fetchOf({ pieces: [fixtures.get('plain') ?? new Uint8Array()], headers: SSE }, sent),
  });
  await model.call({ messages: [Msg.user('Hi.')], tools: TOOLS, toolChoice: 'auto' });
  await model.call({ messages: [Msg.user('Hi.')] });
  const [both, alone] = sent.map(({ body }) => JSON.parse(body) as JsonObject);
  expect(both).toMatchObject({
    tools: [
      { functionDeclarations: [{ name: 'get_capital' }, { name: 'get_time' }] },
      { googleSearch: {} },
      { urlContext: {} },
      { codeExecution: {} },
      { mcpServers: [{ name: 'echo', streamableHttpTransport: { url: 'https://echo.example/mcp' } }] },
    ],
    toolConfig: { functionCallingConfig: { mode: 'AUTO' }, includeServerSideToolInvocations: true },
  });
  expect(alone?.['toolConfig']).toBe(undefined);
});

test('half of a pair goes back as text', async () => {
  const sent: SentRequest[] = [];
  const model = modelOf({
    fetch: fetchOf({ pieces: [fixtures.get('code-execution') ?? new Uint8Array()], headers: SSE }, sent),
  });
  const msg = await model.call({ messages: [Msg.user('Hi.')] });
  const half = msg.with({ content: msg.getContentBlocks().slice(0, 2) });
  await model.call({ messages: [Msg.user('Hi.'), half, Msg.user('Go on.')] });
  const [, answer] = (JSON.parse(sent[1]?.body ?? '{}') as { contents: { parts: unknown }[] }).contents;
  expect(answer?.parts).toEqual([
    { text: 'Ich rechne. ' },
    { text: '[code_execution, run by gemini: {"code":"print(\\"ü\\")\\n"}]' },
  ]);
});

test('data of an answer besides its parts is kept', async () => {
  const pieces = [fixtures.get('google-search') ?? new Uint8Array()];
  const msg = await modelOf({ fetch: fetchOf({ pieces, headers: SSE }) }).call({ messages: [Msg.user('?')] });
  expect(msg.providerMeta).toMatchObject({
    gemini: {
      safetyRatings: [{ category: 'HARM_CATEGORY_HARASSMENT' }],
      groundingMetadata: { searchEntryPoint: { renderedContent: '<div>Chip</div>' } },
    },
  });
});

test('text behind a signature is a text of its own, with ranges of its own', async () => {
  const part = (text: string, signature?: string): JsonObject => ({
    text,
    ...(signature !== undefined && { thoughtSignature: signature }),
  });
  const chunk = (candidate: JsonObject): string =>
    `data: ${JSON.stringify({ responseId: 'r1', candidates: [{ index: 0, ...candidate }] })}\n\n`;
  const stream = [
    chunk({ content: { role: 'model', parts: [part('Zuerst: ü. ', 'CiQBsig==')] } }),
    chunk({ content: { role: 'model', parts: [part('Es sind ')] } }),
    chunk({
      content: { role: 'model', parts: [part('12 °C.')] },
      finishReason: 'STOP',
      groundingMetadata: {
        groundingChunks: [{ web: { uri: 'https://example.com/koeln', title: 'Wetter' } }],
        groundingSupports: [
          { segment: { endIndex: 15, text: 'Es sind 12 °C.' }, groundingChunkIndices: [0] },
        ],
      },
    }),
  ].join('');
  const pieces = [toBytes(stream)];
  const msg = await modelOf({ fetch: fetchOf({ pieces, headers: SSE }) }).call({ messages: [Msg.user('?')] });
  expect(msg.content).toEqual([
    { type: 'text', text: 'Zuerst: ü. ', providerMeta: { gemini: { thoughtSignature: 'CiQBsig==' } } },
    {
      type: 'text',
      text: 'Es sind 12 °C.',
      citations: [{ start: 0, end: 14, url: 'https://example.com/koeln', title: 'Wetter' }],
    },
  ]);
});

test('an image that the model made while it was thinking is shown, and not kept', async () => {
  const pieces = [fixtures.get('thought-image') ?? new Uint8Array()];
  const shown: unknown[] = [];
  for await (const delta of modelOf({ fetch: fetchOf({ pieces, headers: SSE }) }).stream({
    messages: [Msg.user('?')],
  }))
    if (delta.type === 'partial_image' || (delta.type === 'block' && delta.block.type === 'image'))
      shown.push(delta.type === 'block' ? delta.block.type : delta);
  expect(shown).toEqual([{ type: 'partial_image', data: '/9j/4AAQ', mediaType: 'image/jpeg' }, 'image']);
});
