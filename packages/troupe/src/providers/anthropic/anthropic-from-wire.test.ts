import { describe, expect, test } from 'vitest';
import type { ModelDelta } from '../../message/model-delta.ts';
import { MsgDraft } from '../../message/msg-draft.ts';
import type { JsonObject, JsonValue } from '../../util/json.ts';
import { AnthropicDecoder } from './anthropic-from-wire.ts';

const start = (index: number, content_block: JsonObject): JsonObject => ({
  type: 'content_block_start',
  index,
  content_block,
});
const delta = (index: number, delta: JsonObject): JsonObject => ({
  type: 'content_block_delta',
  index,
  delta,
});
const stop = (index: number): JsonObject => ({ type: 'content_block_stop', index });
const end = (stop_reason: JsonValue): JsonObject => ({ type: 'message_delta', delta: { stop_reason } });
const call = (index: number): JsonObject => start(index, { type: 'tool_use', id: `t${index}`, name: 'f' });
const json = (index: number, partial_json: string): JsonObject =>
  delta(index, { type: 'input_json_delta', partial_json });

function read(...events: JsonObject[]): { deltas: ModelDelta[]; isComplete: boolean; isOver: boolean } {
  const decoder = new AnthropicDecoder();
  const deltas = events.flatMap((event) => [...decoder.read(event)]);
  const { isComplete, isOver } = decoder;
  if (isComplete) deltas.push(...decoder.end());
  return { deltas, isComplete, isOver };
}

const madeCalls = (...events: JsonObject[]): unknown[] =>
  read(...events).deltas.flatMap((one) => (one.type === 'tool_use_end' ? [one.index] : []));

test('a citation behind the end of its text block is kept, and goes back with the text', () => {
  const citation = {
    type: 'page_location',
    cited_text: 'Up by 25 %',
    document_index: 0,
    start_page_number: 5,
  };
  const draft = new MsgDraft('assistant');
  const { deltas } = read(
    start(0, { type: 'text', text: '' }),
    delta(0, { type: 'text_delta', text: 'It grows.' }),
    stop(0),
    delta(0, { type: 'citations_delta', citation }),
    end('end_turn'),
  );
  for (const one of deltas) draft.add(one);
  expect(draft.finish().content).toEqual([
    {
      type: 'text',
      text: 'It grows.',
      citations: [{ start: 0, end: 9, quote: 'Up by 25 %', document: 0, pages: [5, 5] }],
      providerMeta: { anthropic: { texts: [{ length: 9, citations: [citation] }] } },
    },
  ]);
});

describe('a call is made', () => {
  test.each([['tool_use'], ['end_turn'], ['stop_sequence'], ['pause_turn']])(
    'when it was closed and the answer ends with %s',
    (reason) => {
      expect(madeCalls(call(0), json(0, '{}'), stop(0), end(reason))).toEqual([0]);
      expect(madeCalls(call(0), json(0, '{}'), end(reason), stop(0))).toEqual([0]);
      expect(madeCalls(call(0), json(0, '{"path":"/a"}'), end(reason))).toEqual([]); // never closed
      expect(madeCalls(call(0), stop(0), call(1), json(1, '{}'), end(reason))).toEqual([0]);
    },
  );

  test('when another block follows, whatever becomes of that', () => {
    const events = [call(0), stop(0), call(1), json(1, '{}'), stop(1)];
    expect(madeCalls(...events)).toEqual([0]);
    expect(madeCalls(...events, end('max_tokens'))).toEqual([0]);
    expect(madeCalls(call(0), stop(0), start(1, { type: 'text', text: '' }))).toEqual([0]);
  });

  test('not before it was closed, though another has begun', () => {
    expect(madeCalls(call(0), call(1), json(0, '{'), stop(1))).toEqual([]);
    expect(madeCalls(call(0), call(1), json(0, '{}'), stop(1), stop(0), end('tool_use'))).toEqual([1, 0]);
  });

  test.each([['max_tokens'], ['refusal'], ['model_context_window_exceeded'], ['something_new']])(
    'never, if it is the last thing before %s',
    (reason) => {
      expect(madeCalls(call(0), json(0, '{}'), stop(0), end(reason))).toEqual([]);
    },
  );
});

test.each([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['tool_use', 'tool_calls'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['refusal', 'refusal'],
  ['toString', 'other'],
])('%s is %s', (said, reason) => {
  expect(read(end(said))).toEqual({
    deltas: [{ type: 'finish', reason }],
    isComplete: true,
    isOver: false,
  });
});

test('a paused turn says so, for the model to continue it', () => {
  expect(read(end('pause_turn')).deltas).toEqual([
    { type: 'provider_meta', providerMeta: { anthropic: { stop_reason: 'pause_turn' } } },
    { type: 'finish', reason: 'other' },
  ]);
});

test('an answer with calls that says that it simply ended, ended with calls', () => {
  expect(read(call(0), stop(0), end('end_turn')).deltas.at(-1)).toEqual({
    type: 'finish',
    reason: 'tool_calls',
  });
});

test('is not complete before a reason is given, and over when that is said', () => {
  const text = [start(0, { type: 'text', text: 'A' }), stop(0)];
  const deltas = [{ type: 'text', text: 'A' }];
  const over = { type: 'message_stop' };
  expect(read(...text, end(null))).toEqual({ deltas, isComplete: false, isOver: false });
  expect(read(...text, end(null), over)).toEqual({ deltas, isComplete: false, isOver: true });
  expect(read(...text, end('end_turn'), end(null), over)).toEqual({
    deltas: [...deltas, { type: 'finish', reason: 'stop' }],
    isComplete: true,
    isOver: true,
  });
});

test('unknown events are left out, an unknown block is kept', () => {
  const block = { type: 'hologram', id: 's', name: 'web_search', input: { q: 1 } };
  const deltas = [{ type: 'input_json_delta', partial_json: '{"q": 2}' }];
  expect(
    read(
      { type: 'ping' },
      { type: 'news', index: 0 },
      {},
      delta(7, { type: 'text_delta', text: 'from nowhere' }),
      start(0, block),
      json(0, '{"q": 2}'),
      stop(0),
      start(1, { type: 'text', text: 'A' }),
      delta(1, { type: 'music_delta', music: { cited_text: 'B' } }),
      delta(1, { type: 'text_delta', text: 'C' }),
      stop(1),
      { type: 'content_block_stop' },
      { type: 'message_start' },
    ).deltas,
  ).toEqual([
    {
      type: 'block',
      block: {
        type: 'provider_tool_result',
        id: 'hologram_0',
        name: 'hologram',
        output: JSON.stringify({ ...block, deltas }),
        status: 'ok',
        executedBy: 'anthropic',
        providerMeta: { anthropic: { block: { ...block, deltas } } },
      },
    },
    { type: 'text', text: 'A' },
    { type: 'text', text: 'C' },
  ]);
});

describe('usage', () => {
  const begin = (id: string, usage: JsonValue): JsonObject => ({
    type: 'message_start',
    message: { id, usage },
  });
  const counts = (usage: JsonValue): JsonObject => ({ type: 'message_delta', delta: {}, usage });

  test('is told as soon as it is known, and again when it has changed', () => {
    const { deltas, isComplete } = read(
      begin('m1', { input_tokens: 10, output_tokens: 1, cache_read_input_tokens: 5 }),
      counts({ output_tokens: 1 }),
      counts({ input_tokens: 0, output_tokens: 7, output_tokens_details: { thinking_tokens: 3 } }),
      counts({ input_tokens: 10, output_tokens: 7, cache_read_input_tokens: null }),
      counts(null),
    );
    expect(deltas).toEqual([
      { type: 'response_id', id: 'm1' },
      { type: 'usage', usage: { inputTokens: 15, outputTokens: 1, cachedTokens: 5 } },
      { type: 'usage', usage: { inputTokens: 15, outputTokens: 7, cachedTokens: 5, reasoningTokens: 3 } },
    ]);
    expect(isComplete).toBe(false);
  });

  test('of two beginnings is the higher one, but only the first gives the id', () => {
    const usage = (input_tokens: number) => ({
      input_tokens,
      output_tokens: 1,
      cache_read_input_tokens: null,
    });
    expect(read(begin('m1', usage(10)), begin('m2', usage(7)), end('end_turn')).deltas).toEqual([
      { type: 'response_id', id: 'm1' },
      { type: 'usage', usage: { inputTokens: 10, outputTokens: 1 } },
      { type: 'finish', reason: 'stop' },
    ]);
  });
});

describe('thinking', () => {
  const think = (index: number, thinking: string, signature: string): JsonObject[] => [
    start(index, { type: 'thinking', thinking: '', signature: '' }),
    delta(index, { type: 'thinking_delta', thinking }),
    delta(index, { type: 'signature_delta', signature }),
    stop(index),
  ];
  const meta = (signature: string) => ({ anthropic: { signature } });

  test('is told as it comes, and signed when it is whole', () => {
    expect(read(...think(0, 'A', 'E1')).deltas).toEqual([
      { type: 'thinking', thinking: 'A' },
      { type: 'thinking', thinking: '', providerMeta: meta('E1') },
    ]);
  });

  test('is not signed by half a signature', () => {
    expect(read(...think(0, 'A', 'E1').slice(0, -1)).deltas).toEqual([{ type: 'thinking', thinking: 'A' }]);
  });

  test('is signed by all pieces of a signature', () => {
    const more = delta(0, { type: 'signature_delta', signature: 'E0' });
    const [first, ...rest] = think(0, 'A', 'E1');
    expect(read(first!, more, ...rest).deltas).toEqual([
      { type: 'thinking', thinking: 'A' },
      { type: 'thinking', thinking: '', providerMeta: meta('E0E1') },
    ]);
  });

  test.each([
    ['A', 'E1', 'B', 'E2'],
    ['A', 'E1', '', 'E2'],
    ['', 'E1', 'B', 'E2'],
    ['', 'E1', '', 'E2'],
    ['A', '', 'B', 'E2'], // no known server does this
  ])('right behind other thinking keeps its own signature: %j %j, %j %j', (first, one, second, two) => {
    const draft = new MsgDraft('Claude');
    for (const part of read(...think(0, first, one), ...think(1, second, two)).deltas) draft.add(part);
    expect(draft.finish().content).toEqual([
      { type: 'thinking', thinking: first, providerMeta: meta(one) },
      { type: 'thinking', thinking: second, providerMeta: meta(two) },
    ]);
  });

  test('that is neither shown nor signed is nothing', () => {
    expect(read(...think(0, '', '')).deltas).toEqual([]);
  });

  test('that may be there at once', () => {
    expect(read(start(0, { type: 'thinking', thinking: 'A', signature: 'E1' }), stop(0)).deltas).toEqual([
      { type: 'thinking', thinking: 'A' },
      { type: 'thinking', thinking: '', providerMeta: meta('E1') },
    ]);
  });
});
