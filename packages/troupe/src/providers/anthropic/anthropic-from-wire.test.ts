import { describe, expect, test } from 'vitest';
import type { ModelDelta } from '../../message/model-delta.ts';
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

function read(...events: JsonObject[]): { deltas: ModelDelta[]; isComplete: boolean } {
  const decoder = new AnthropicDecoder();
  const deltas = events.flatMap((event) => [...decoder.read(event)]);
  const { isComplete } = decoder;
  if (isComplete) deltas.push(...decoder.end());
  return { deltas, isComplete };
}

const madeCalls = (...events: JsonObject[]): unknown[] =>
  read(...events).deltas.flatMap((one) => (one.type === 'tool_use_end' ? [one.index] : []));

describe('a call is made', () => {
  test.each([['tool_use'], ['end_turn'], ['stop_sequence'], ['pause_turn'], ['something_new']])(
    'when the answer ends with %s',
    (reason) => {
      expect(madeCalls(call(0), json(0, '{}'), stop(0), end(reason))).toEqual([0]);
      expect(madeCalls(call(0), json(0, '{}'), end(reason))).toEqual([0]); // no stop: some servers send none
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

  test.each([['max_tokens'], ['refusal'], ['model_context_window_exceeded']])(
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
  ['pause_turn', 'other'],
  ['toString', 'other'],
])('%s is %s', (said, reason) => {
  expect(read(end(said))).toEqual({ deltas: [{ type: 'finish', reason }], isComplete: true });
});

test('an answer with calls that says that it simply ended, ended with calls', () => {
  expect(read(call(0), stop(0), end('end_turn')).deltas.at(-1)).toEqual({
    type: 'finish',
    reason: 'tool_calls',
  });
});

test('is not complete before a reason is given', () => {
  const answer = read(start(0, { type: 'text', text: 'A' }), stop(0), end(null), { type: 'message_stop' });
  expect(answer).toEqual({ deltas: [{ type: 'text', text: 'A' }], isComplete: false });
});

test('what it does not know is left out', () => {
  expect(
    read(
      { type: 'ping' },
      { type: 'news', index: 0 },
      {},
      delta(7, { type: 'text_delta', text: 'from nowhere' }),
      start(0, { type: 'server_tool_use', id: 's', name: 'web_search', input: { q: 1 } }),
      json(0, '{"q": 2}'),
      stop(0),
      start(1, { type: 'text', text: 'A' }),
      delta(1, { type: 'citations_delta', citation: { cited_text: 'B' } }),
      delta(1, { type: 'text_delta', text: 'C' }),
      stop(1),
      { type: 'content_block_stop' },
      { type: 'message_start' },
    ).deltas,
  ).toEqual([
    { type: 'text', text: 'A' },
    { type: 'text', text: 'C' },
  ]);
});

test('only the first of two beginnings counts, but the highest of their counts', () => {
  const begin = (id: string, input_tokens: number): JsonObject => ({
    type: 'message_start',
    message: { id, usage: { input_tokens, output_tokens: 1, cache_read_input_tokens: null } },
  });
  expect(read(begin('m1', 10), begin('m2', 7), end('end_turn')).deltas).toEqual([
    { type: 'response_id', id: 'm1' },
    { type: 'usage', usage: { inputTokens: 10, outputTokens: 1 } },
    { type: 'finish', reason: 'stop' },
  ]);
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
    const [first, ...rest] = think(0, '', 'E1');
    expect(read(first!, more, ...rest).deltas).toEqual([
      { type: 'thinking', thinking: '', providerMeta: meta('E0E1') },
    ]);
  });

  test('right behind other thinking keeps its own signature', () => {
    expect(read(...think(0, 'A', 'E1'), ...think(1, 'B', 'E2'), ...think(2, 'C', 'E3')).deltas).toEqual([
      { type: 'thinking', thinking: 'A' },
      { type: 'thinking', thinking: '', providerMeta: meta('E1') },
      { type: 'block', block: { type: 'thinking', thinking: 'B', providerMeta: meta('E2') } },
      { type: 'thinking', thinking: 'C' },
      { type: 'thinking', thinking: '', providerMeta: meta('E3') },
    ]);
  });

  test('that may be there at once', () => {
    expect(read(start(0, { type: 'thinking', thinking: 'A', signature: 'E1' }), stop(0)).deltas).toEqual([
      { type: 'thinking', thinking: 'A' },
      { type: 'thinking', thinking: '', providerMeta: meta('E1') },
    ]);
  });
});
