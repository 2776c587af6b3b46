// Arguments that were cut off but happen to be valid JSON must never become a call. Each wire has its own way of being cut
// off, so each is written out here, apart from the adapters and their fixtures.
import { expect, test } from 'vitest';
import { Msg } from '../../src/message/msg.ts';
import type { ChatModelBase } from '../../src/model/chat-model-base.ts';
import { AnthropicChatModel } from '../../src/providers/anthropic/index.ts';
import { GeminiChatModel } from '../../src/providers/gemini/index.ts';
import { OpenAIChatModel, OpenAIResponsesModel } from '../../src/providers/openai/index.ts';
import type { Fetch } from '../../src/util/net/http.ts';

const NAME = 'delete_files';
const PREFIX = '{"path":"/home"}'; // of {"path":"/home"}… which might have been {"path":"/home/me/old"}

/** The whole tool call: each case shows that without the cut the tool call would have run. */
const ENDS = { whole: true, cut: false };
type Wire = readonly [
  name: string,
  make: (fetch: Fetch) => ChatModelBase,
  body: (isWhole: boolean) => readonly object[],
];

const WIRES: readonly Wire[] = [
  [
    'Chat Completions',
    (fetch) => new OpenAIChatModel({ modelName: 'm', apiKey: 'k', fetch }),
    (isWhole) => [
      {
        choices: [
          { delta: { tool_calls: [{ index: 0, id: 'a', function: { name: NAME, arguments: PREFIX } }] } },
        ],
      },
      { choices: [{ delta: {}, finish_reason: isWhole ? 'tool_calls' : 'length' }] },
    ],
  ],
  [
    'Responses',
    (fetch) => new OpenAIResponsesModel({ modelName: 'm', apiKey: 'k', fetch }),
    (isWhole) => [
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { type: 'function_call', call_id: 'a', name: NAME },
      },
      { type: 'response.function_call_arguments.delta', output_index: 0, delta: PREFIX },
      {
        type: 'response.output_item.done',
        output_index: 0,
        item: { type: 'function_call', call_id: 'a', arguments: PREFIX },
      },
      isWhole
        ? { type: 'response.completed', response: {} }
        : { type: 'response.incomplete', response: { incomplete_details: { reason: 'max_output_tokens' } } },
    ],
  ],
  [
    'Anthropic',
    (fetch) => new AnthropicChatModel({ modelName: 'm', apiKey: 'k', fetch }),
    (isWhole) => [
      { type: 'message_start', message: { id: 'm1', usage: { input_tokens: 1, output_tokens: 1 } } },
      {
        type: 'content_block_start',
        index: 0,
        content_block: { type: 'tool_use', id: 'a', name: NAME, input: {} },
      },
      { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: PREFIX } },
      { type: 'content_block_stop', index: 0 },
      {
        type: 'message_delta',
        delta: { stop_reason: isWhole ? 'tool_use' : 'max_tokens' },
        usage: { output_tokens: 9 },
      },
      { type: 'message_stop' },
    ],
  ],
  [
    'Gemini',
    (fetch) => new GeminiChatModel({ modelName: 'm', apiKey: 'k', fetch }),
    (isWhole) => [
      {
        candidates: [
          {
            content: { role: 'model', parts: [{ functionCall: { name: NAME, args: { path: '/home' } } }] },
            finishReason: isWhole ? 'STOP' : 'MAX_TOKENS',
          },
        ],
      },
    ],
  ],
];

const ask = { messages: [Msg.user('Clean up.')], tools: [{ name: NAME, parameters: { type: 'object' } }] };
const fetchOf =
  (events: readonly object[], ending = ''): Fetch =>
  async () =>
    new Response(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('') + ending);
const callsOf = (msg: Msg): readonly string[] => msg.getContentBlocks('tool_use').map(({ name }) => name);

test.each(WIRES)('%s: a call that the length limit cut off is none', async (_, make, body) => {
  expect(callsOf(await make(fetchOf(body(ENDS.whole))).call(ask))).toEqual([NAME]);
  expect(callsOf(await make(fetchOf(body(ENDS.cut))).call(ask))).toEqual([]);
});

test.each(WIRES)('%s: a call that the network cut off fails', async (_, make, body) => {
  const [...events] = body(ENDS.whole);
  while (events.length > 1) {
    events.pop();
    const isClosed = events.some((event) => JSON.stringify(event).includes('stop_reason'));
    if (!isClosed) await expect(make(fetchOf(events)).call(ask)).rejects.toMatchObject({ kind: 'network' });
  }
});
