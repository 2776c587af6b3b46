// Events that repeat an event before, except for a piece of text, are read without parsing: the deltas are the same as if all were parsed.
import fc from 'fast-check';
import { expect, test } from 'vitest';

import type { ModelDelta } from '../src/message/model-delta.ts';
import type { HttpChatModel, WireDecoder } from '../src/model/http/http-chat-model.ts';
import { RepeatedEvent } from '../src/model/http/repeated-event.ts';
import { AnthropicDecoder } from '../src/providers/anthropic/anthropic-from-wire.ts';
import { AnthropicChatModel } from '../src/providers/anthropic/index.ts';
import { ChatDecoder } from '../src/providers/openai/chat-from-wire.ts';
import { chatDialectOf } from '../src/providers/openai/dialect.ts';
import { OpenAIChatModel } from '../src/providers/openai/index.ts';
import { parseJson, type JsonObject } from '../src/util/json.ts';
import { anyText } from './arbitraries.ts';

const sse = (events: readonly object[]): string =>
  events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');

async function deltasOf(
  newModel: (options: { fetch: typeof fetch; apiKey: string }) => HttpChatModel,
  events: readonly object[],
): Promise<ModelDelta[]> {
  const model = newModel({ fetch: async () => new Response(sse(events)), apiKey: 'k' });
  const deltas: ModelDelta[] = [];
  for await (const delta of model.stream({ messages: [] })) deltas.push(delta);
  return deltas;
}

/** The deltas if every event is parsed. */
function parsedDeltas(decoder: WireDecoder, events: readonly object[]): ModelDelta[] {
  const read = events.flatMap((event) => [
    ...decoder.read(JSON.parse(JSON.stringify(event)) as JsonObject, undefined),
  ]);
  return [...read, ...decoder.end()];
}

const text = fc.oneof(
  anyText,
  fc.constantFrom('', 'abcd', 'stop', 'a","role":"x', '\\', '"', '\n', 'x'.repeat(40)),
);

const chatChunk = (delta: object, more: object = {}): object => ({
  id: 'r1',
  object: 'chunk',
  choices: [{ index: 0, delta, finish_reason: null, ...more }],
});
const input = (index: number, called: object): object => ({ tool_calls: [{ index, function: called }] });
const chatEvents = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: text.map((content) => chatChunk({ content })) },
    { weight: 6, arbitrary: text.map((json) => chatChunk(input(0, { arguments: json }))) },
    { weight: 3, arbitrary: text.map((thought) => chatChunk({ reasoning_content: thought })) },
    text.map((json) => chatChunk(input(1, { arguments: json }))),
    text.map((name) => chatChunk(input(0, { name, arguments: 'x' }))),
    text.map((id) => chatChunk({ tool_calls: [{ index: 0, id, function: { name: 'f', arguments: '' } }] })),
    {
      weight: 6,
      arbitrary: fc
        .constantFrom('{"a":', '1}', '{}')
        .map((json) => chatChunk(input(0, { name: 'f', arguments: json }))),
    },
    {
      weight: 4,
      arbitrary: text.map((content) => chatChunk({ content }, { logprobs: { content: [{ token: 't' }] } })),
    },
    text.map((content) => chatChunk({ content }, { logprobs: { content: [{ token: content }] } })),
    text.map((reasoning) => chatChunk({ content: 'a', reasoning })),
    text.map((url) => chatChunk({ annotations: [{ url }] })),
    text.map((tier) => ({ ...chatChunk({ content: 'b' }), service_tier: tier })),
  ),
  { minLength: 1, maxLength: 30 },
);

test('chunks of Chat Completions give the same deltas as if all were parsed', async () => {
  await fc.assert(
    fc.asyncProperty(chatEvents, async (chunks) => {
      const events = [...chunks, chatChunk({}, { finish_reason: 'stop' })];
      const decoder = new ChatDecoder(chatDialectOf('openai', 'm'), {
        audioType: 'audio/wav',
        toolNames: [],
        toError: () => new Error('failed'),
      });
      const read = await deltasOf((options) => new OpenAIChatModel({ modelName: 'm', ...options }), events);
      expect(read).toEqual(parsedDeltas(decoder, events));
    }),
    { numRuns: 100 },
  );
});

const piece = (index: number, delta: object): object => ({ type: 'content_block_delta', index, delta });
const claudeEvents = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: text.map((text) => piece(0, { type: 'text_delta', text })) },
    { weight: 6, arbitrary: text.map((json) => piece(1, { type: 'input_json_delta', partial_json: json })) },
    text.map((cited_text) => piece(0, { type: 'citations_delta', citation: { cited_text } })),
    text.map((text) => piece(0, { type: 'text_delta', text, citations: [{ cited_text: 'x' }] })),
    text.map((thinking) => piece(2, { type: 'thinking_delta', thinking })),
    fc.constantFrom(
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      {
        type: 'content_block_start',
        index: 1,
        content_block: { type: 'tool_use', id: 'c', name: 'f', input: {} },
      },
      { type: 'content_block_start', index: 2, content_block: { type: 'thinking', thinking: '' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_stop', index: 1 },
    ),
  ),
  { minLength: 1, maxLength: 30 },
);

test('events of Anthropic Messages give the same deltas as if all were parsed', async () => {
  await fc.assert(
    fc.asyncProperty(claudeEvents, async (pieces) => {
      const events = [
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        ...pieces,
        { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
        { type: 'message_stop' },
      ];
      const read = await deltasOf(
        (options) => new AnthropicChatModel({ modelName: 'm', ...options }),
        events,
      );
      expect(read).toEqual(parsedDeltas(new AnthropicDecoder(), events));
    }),
    { numRuns: 100 },
  );
});

const EVENT = '{"id":"r1","delta":{"content":"abc"},"error":null}';
const newReader = (): RepeatedEvent => {
  const reader = new RepeatedEvent();
  reader.learn({ data: EVENT }, { text: 'abc', again: (text) => ({ type: 'text', text }) });
  return reader;
};

test.each([
  ['another text', 'defg', 'defg'],
  ['escapes', 'a\\n\\"b\\u0041', 'a\n"bA'],
  ['a long text', 'long '.repeat(10), 'long '.repeat(10)],
  ['no text', '', undefined],
  ['the end of the string and more fields', 'a","__proto__":"b', undefined],
  ['an escape without end', 'a\\', undefined],
  ['a line break that JSON does not allow', 'a\nb', undefined],
])('a repeated event with %s', (_, spelled, expected) => {
  const delta = newReader().read({ data: EVENT.replace('abc', spelled) });
  expect(delta).toEqual(expected && { type: 'text', text: expected });
});

test.each([
  ['another name', { data: EVENT, event: 'ping' }],
  ['an error line', { data: EVENT, isErrorLine: true }],
  ['another id', { data: EVENT.replace('r1', 'r2') }],
  ['an error', { data: EVENT.replace('null', '"failed"') }],
  ['a cut end', { data: EVENT.slice(0, -1) }],
])('an event with %s is parsed', (_, event) => {
  expect(newReader().read(event)).toBe(undefined);
});

test('an event is not learned if its text stands there twice, or may be spelled by an escape', () => {
  for (const data of [EVENT.replace('r1', 'abc'), EVENT.replace('r1', '\\u0061')]) {
    const reader = new RepeatedEvent();
    reader.learn({ data }, { text: 'abc', again: (text) => ({ type: 'text', text }) });
    expect([parseJson(data) !== undefined, reader.read({ data })]).toEqual([true, undefined]);
  }
});

test('events that nothing repeats are learned no longer after a while', () => {
  const reader = new RepeatedEvent();
  const numbered = (n: number): string => EVENT.replace('r1', `r${n}`);
  const piece = { text: 'abc', again: (text: string) => ({ type: 'text', text }) as const };
  const isRead = (n: number): boolean => {
    reader.learn({ data: numbered(n) }, piece);
    return reader.read({ data: numbered(n) }) !== undefined;
  };
  expect(isRead(0)).toBe(true);
  for (let n = 1; n <= 20; n++) reader.learn({ data: numbered(n) }, piece);
  expect(isRead(21)).toBe(false);
});
