import type { ContentBlock, ProviderToolResultBlock } from '../../src/message/blocks.ts';
import { AnthropicChatModel } from '../../src/providers/anthropic/anthropic-chat-model.ts';
import type { JsonObject } from '../../src/util/json.ts';
import { anthropicFaults } from './anthropic-rules.ts';
import { readOutcomes } from './replay.ts';
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

const serverCall = (id: string, name: string, input: JsonObject, block: JsonObject = {}): ContentBlock => ({
  type: 'provider_tool_use',
  id,
  name,
  input,
  executedBy: 'anthropic',
  providerMeta: { anthropic: { block: { type: 'server_tool_use', ...block } } },
});
const serverResult = (name: string, output: string, block: JsonObject): ProviderToolResultBlock => ({
  type: 'provider_tool_result',
  id: String(block['tool_use_id']),
  name,
  output,
  status: 'ok',
  executedBy: 'anthropic',
  providerMeta: { anthropic: { block } },
});
const wetter: JsonObject = {
  type: 'web_search_result_location',
  cited_text: '12 °C',
  url: 'https://example.com/koeln',
  title: 'Wetter',
  encrypted_index: 'Eo8BCioIAhgB',
};
const byCode = { caller: { type: 'code_execution_20260120', tool_id: 'srvtoolu_01Code' } };

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
    ...readOutcomes('anthropic'),
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
      content: [
        text("I'll search."),
        serverCall('srvtoolu_014hJH82Qum7Td6UV8gDXThB', 'web_search', { query: 'Wetter Köln' }),
        serverResult('web_search', 'Wetter <https://example.com/koeln>', {
          type: 'web_search_tool_result',
          tool_use_id: 'srvtoolu_014hJH82Qum7Td6UV8gDXThB',
          content: [
            {
              type: 'web_search_result',
              title: 'Wetter',
              url: 'https://example.com/koeln',
              encrypted_content: 'Ev0DCioIAxgCIiQ3',
              page_age: null,
            },
          ],
        }),
        {
          type: 'text',
          text: ' It is 12 °C.',
          citations: [
            { start: 0, end: 13, url: 'https://example.com/koeln', title: 'Wetter', quote: '12 °C' },
          ],
          providerMeta: { anthropic: { texts: [{ length: 13, citations: [wetter] }] } },
        },
      ],
      usage: usage(10_682, 510),
      finishReason: 'stop',
      responseId,
    },
    'cited-parts': {
      content: [
        {
          type: 'text',
          text: 'Laut Bericht ist es 12 °C\n\nMorgen 🌧.',
          citations: [
            { start: 5, end: 25, url: 'https://example.com/koeln', title: 'Wetter', quote: '12 °C' },
            { start: 5, end: 25, title: 'Bericht', quote: 'zwölf', document: 0, pages: [2, 3] },
            { start: 27, end: 37, quote: 'Regen', document: 1 },
          ],
          providerMeta: {
            anthropic: {
              texts: [
                { length: 5 },
                {
                  length: 20,
                  citations: [
                    wetter,
                    {
                      type: 'page_location',
                      cited_text: 'zwölf',
                      document_index: 0,
                      document_title: 'Bericht',
                      start_page_number: 2,
                      end_page_number: 4,
                    },
                  ],
                },
                { length: 2 },
                {
                  length: 10,
                  citations: [
                    {
                      type: 'char_location',
                      cited_text: 'Regen',
                      document_index: 1,
                      document_title: null,
                      start_char_index: 3,
                      end_char_index: 8,
                      file_id: null,
                    },
                  ],
                },
              ],
            },
          },
        },
      ],
      usage: usage(300, 60),
      finishReason: 'stop',
      responseId,
    },
    'code-and-fetch': {
      content: [
        serverCall(
          'srvtoolu_01Code',
          'code_execution',
          { code: 'await web_fetch("https://example.com")' },
          { caller: { type: 'direct' } },
        ),
        serverCall('srvtoolu_01Fetch', 'web_fetch', { url: 'https://example.com' }, byCode),
        serverResult('web_fetch', 'https://example.com\nExample Domain\nEin Beispiel', {
          type: 'web_fetch_tool_result',
          tool_use_id: 'srvtoolu_01Fetch',
          content: {
            type: 'web_fetch_result',
            url: 'https://example.com',
            retrieved_at: '2026-03-03T15:05:04+00:00',
            content: {
              type: 'document',
              source: { type: 'text', media_type: 'text/plain', data: 'Ein Beispiel' },
              title: 'Example Domain',
            },
          },
          ...byCode,
        }),
        serverResult('code_execution', '12 Zeichen\n\nfile_01Chart', {
          type: 'code_execution_tool_result',
          tool_use_id: 'srvtoolu_01Code',
          content: {
            type: 'code_execution_result',
            stdout: '12 Zeichen\n',
            stderr: '',
            return_code: 0,
            content: [{ type: 'code_execution_output', file_id: 'file_01Chart' }],
          },
        }),
        text('Es sind 12.'),
      ],
      usage: usage(7172, 144),
      finishReason: 'stop',
      responseId,
    },
    'tool-search': {
      content: [
        text('Ich suche ein Werkzeug.'),
        serverCall(
          'srvtoolu_01Find',
          'tool_search_tool_bm25',
          { query: 'time' },
          { caller: { type: 'direct' } },
        ),
        serverResult('tool_search_tool_bm25', 'get_time', {
          type: 'tool_search_tool_result',
          tool_use_id: 'srvtoolu_01Find',
          content: {
            type: 'tool_search_tool_search_result',
            tool_references: [{ type: 'tool_reference', tool_name: 'get_time' }],
          },
        }),
        call('toolu_01Time', 'get_time'),
      ],
      usage: usage(300, 60),
      finishReason: 'tool_calls',
      responseId,
    },
    mcp: {
      content: [
        serverCall(
          'mcptoolu_01Echo',
          'echo',
          { message: 'hällo' },
          { type: 'mcp_tool_use', server_name: 'echo' },
        ),
        serverResult('echo', 'Tool echo: hällo', {
          type: 'mcp_tool_result',
          tool_use_id: 'mcptoolu_01Echo',
          is_error: false,
          content: [{ type: 'text', text: 'Tool echo: hällo' }],
        }),
        text('Es sagt: hällo'),
      ],
      usage: usage(300, 60),
      finishReason: 'stop',
      responseId,
    },
    'search-error': {
      content: [
        serverCall('srvtoolu_01Bad', 'web_search', { query: 'x' }),
        {
          ...serverResult('web_search', 'max_uses_exceeded', {
            type: 'web_search_tool_result',
            tool_use_id: 'srvtoolu_01Bad',
            content: { type: 'web_search_tool_result_error', error_code: 'max_uses_exceeded' },
          }),
          status: 'error',
        },
        text('Das Suchen ging nicht.'),
      ],
      usage: usage(300, 60),
      finishReason: 'stop',
      responseId,
    },
    programmatic: {
      content: [
        text('Ich würfle.'),
        serverCall(
          'srvtoolu_01Game',
          'code_execution',
          { code: 'await get_time({})' },
          { caller: { type: 'direct' } },
        ),
        {
          ...call('toolu_01Roll', 'get_time'),
          providerMeta: {
            anthropic: { caller: { type: 'code_execution_20250825', tool_id: 'srvtoolu_01Game' } },
          },
        },
      ],
      usage: usage(300, 60),
      finishReason: 'tool_calls',
      responseId,
    },
    'whole-in-start': {
      content: [
        serverResult('code_execution', 'Fünf\n', {
          type: 'code_execution_tool_result',
          tool_use_id: 'srvtoolu_01Game',
          content: {
            type: 'code_execution_result',
            stdout: 'Fünf\n',
            stderr: '',
            return_code: 0,
            content: [],
          },
        }),
        text('Noch einmal: '),
        call('toolu_01Again', 'get_capital', { country: 'Perú' }),
      ],
      usage: { inputTokens: 0, outputTokens: 0 },
      finishReason: 'tool_calls',
      responseId,
    },
    compaction: {
      content: [
        {
          ...serverResult('compaction', '## Zusammenfassung', {
            type: 'compaction',
            content: '## Zusammenfassung',
          }),
          id: 'compaction',
        },
        text('Grün.'),
      ],
      usage: usage(55_377, 91),
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
