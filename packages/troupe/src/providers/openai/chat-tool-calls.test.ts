import { describe, expect, test } from 'vitest';
import { MsgDraft } from '../../message/msg-draft.ts';
import type { ModelDelta } from '../../message/model-delta.ts';
import { fakeIds } from '../../testing/fake-ids.ts';
import type { JsonObject } from '../../util/json.ts';
import { ChatToolCalls } from './chat-tool-calls.ts';

const TOOLS = ['a', 'b', 'get', 'get_time'];

/** Tool calls of chunks; each chunk is a list of parts. */
function callsOf(...chunks: readonly (readonly JsonObject[])[]): unknown[] {
  using _ = fakeIds();
  const calls = new ChatToolCalls(TOOLS, 'openai');
  const draft = new MsgDraft('assistant');
  const deltas: ModelDelta[] = [];
  for (const chunk of chunks) deltas.push(...calls.read(chunk));
  deltas.push(...calls.end());
  for (const delta of deltas) draft.add(delta);
  return draft
    .finish()
    .getContentBlocks('tool_use')
    .map(({ type: _type, ...call }) => call);
}
const piece = (name?: string, args?: string, more: JsonObject = {}): JsonObject => ({
  ...more,
  function: { ...(name !== undefined && { name }), ...(args !== undefined && { arguments: args }) },
});
const made = (id: string, name: string, input = {}): object => ({ id, name, input });

describe('calls', () => {
  test('are told apart by their index', () => {
    expect(
      callsOf(
        [piece('a', '', { index: 0, id: 'x' })],
        [piece('b', '', { index: 1, id: 'y' })],
        [piece(undefined, '{"n":', { index: 1 }), piece(undefined, '{"n":', { index: 0 })],
        [piece(undefined, '1}', { index: 0 }), piece(undefined, '2}', { index: 1 })],
      ),
    ).toEqual([made('x', 'a', { n: 1 }), made('y', 'b', { n: 2 })]);
  });

  test('are told apart by their order in a chunk, if there is no index', () => {
    expect(
      callsOf(
        [piece('a', '', { id: 'x' }), piece('b', '', { id: 'y' })],
        [piece(undefined, '{"n":1}'), piece(undefined, '{"n":2}')],
      ),
    ).toEqual([made('x', 'a', { n: 1 }), made('y', 'b', { n: 2 })]);
    expect(callsOf([piece('a', '{"n":1}'), piece('b', '{"n":2}')])).toEqual([
      made('call_id-2', 'a', { n: 1 }),
      made('call_id-3', 'b', { n: 2 }),
    ]);
  });

  test('are told apart by their ids, if they share an index', () => {
    expect(
      callsOf(
        [piece('a', '{"n":1}', { index: 0, id: 'x' })],
        [piece('a', '{"n":', { index: 0, id: 'y' })],
        [piece(undefined, '2}', { index: 0 })],
      ),
    ).toEqual([made('x', 'a', { n: 1 }), made('y', 'a', { n: 2 })]);
  });

  test('are told apart by their names, if there is nothing else', () => {
    const both = [made('call_id-2', 'a', { n: 1 }), made('call_id-3', 'b', { n: 2 })];
    expect(callsOf([piece('a', '{"n":1}', { index: 0 })], [piece('b', '{"n":2}', { index: 0 })])).toEqual(
      both,
    );
    expect(callsOf([piece('a', '{"n":1}', { index: 0 }), piece('b', '{"n":2}', { index: 0 })])).toEqual(both);
    expect(callsOf([piece('a', '{"n":1}')], [piece('b', '')], [piece(undefined, '{"n":2}')])).toEqual(both);
    expect(callsOf([piece('a')], [piece('b')])).toEqual([made('call_id-2', 'a'), made('call_id-3', 'b')]);
  });

  test('of the same tool are told apart once the arguments of the first are whole', () => {
    const both = [made('call_id-2', 'a', { n: 1 }), made('call_id-3', 'a', { n: 2 })];
    expect(callsOf([piece('a', '{"n":1}', { index: 0 })], [piece('a', '{"n":2}', { index: 0 })])).toEqual(
      both,
    );
    expect(callsOf([piece('a', '{"n":1}')], [piece('a', '')], [piece(undefined, '{"n":2}')])).toEqual(both);
    expect(callsOf([piece('a', ''), piece('a', '')])).toEqual([
      made('call_id-2', 'a'),
      made('call_id-3', 'a'),
    ]);
  });

  test('of one chunk are as many as it has names', () => {
    const head = { index: 0 };
    expect(callsOf([piece('a', '', head), piece('a', '', head)])).toEqual([
      made('call_id-2', 'a'),
      made('call_id-3', 'a'),
    ]);
  });

  test('of tools that nobody knows are told apart once the first one has arguments', () => {
    expect(callsOf([piece('x', '{"n":1}')], [piece('y', '{"n":2}')])).toEqual([
      made('call_id-2', 'x', { n: 1 }),
      made('call_id-3', 'y', { n: 2 }),
    ]);
  });

  test('that repeat themselves in every chunk are one', () => {
    const head = { index: 0, id: 'x' };
    expect(callsOf([piece('a', '{"n"', head)], [piece('a', ':{}}', head)], [piece('a', '', head)])).toEqual([
      made('x', 'a', { n: {} }),
    ]);
    expect(callsOf([piece('a', '{"n"')], [piece('a', ':{}')], [piece('a', '}')], [piece('a', '')])).toEqual([
      made('call_id-2', 'a', { n: {} }),
    ]);
    expect(callsOf([piece('a', '')], [piece('a', '')])).toEqual([made('call_id-2', 'a')]);
  });

  test('go on though the server gives every piece an id of its own', () => {
    expect(
      callsOf(
        [piece('a', '', { index: 0, id: 'functions.a:0' })],
        [piece(undefined, '{"n"', { index: 0, id: 'other-1' })],
        [piece(undefined, ':1}', { index: 0, id: 'other-2' })],
      ),
    ).toEqual([made('functions.a:0', 'a', { n: 1 })]);
  });

  test('may have their names in pieces, even if a piece is a name itself', () => {
    const whole = [made('x', 'get_time', { n: 1 })];
    const head = { index: 0, id: 'x' };
    expect(
      callsOf(
        [piece('ge', undefined, head)],
        [piece('t_', undefined, { index: 0 })],
        [piece('time', undefined, { index: 0 })],
        [piece(undefined, '{"n":1}', { index: 0 })],
      ),
    ).toEqual(whole);
    expect(callsOf([piece('get', '', head)], [piece('_time', '{"n":1}', { index: 0 })])).toEqual(whole);
    expect(callsOf([piece('get', '')], [piece('get_time', '')])).toEqual([
      made('call_id-2', 'get'),
      made('call_id-3', 'get_time'),
    ]);
  });

  test('may have their ids, their names and their arguments in any order', () => {
    expect(
      callsOf(
        [piece(undefined, undefined, { index: 0, id: 'x' })],
        [piece(undefined, '{"n":', { index: 0 })],
        [piece('a', undefined, { index: 0 })],
        [piece(undefined, '1}', { index: 0 })],
      ),
    ).toEqual([made('x', 'a', { n: 1 })]);
    expect(callsOf([piece('a', '', { index: 0 })], [piece(undefined, '{}', { index: 0, id: 'x' })])).toEqual([
      made('x', 'a'),
    ]);
  });

  test('without a name, and arguments without a call, come to nothing', () => {
    expect(callsOf([piece(undefined, '{"n":1}', { index: 0 })], [piece('', '', { id: 'x' })], [{}])).toEqual(
      [],
    );
  });

  test('are begun in the order in which they were named', () => {
    expect(
      callsOf(
        [piece('a', '', { index: 0, id: 'x' }), piece('b', '', { index: 1, id: 'y' })],
        [piece(undefined, '{"n":2}', { index: 1 })],
      ),
    ).toEqual([made('x', 'a'), made('y', 'b', { n: 2 })]);
  });

  test('are not begun before their name is whole, nor later than something else', () => {
    const calls = new ChatToolCalls(TOOLS, 'openai');
    expect([...calls.read([piece('get', '', { index: 0, id: 'x' })])]).toEqual([]);
    expect(calls.hasCalls).toBe(true);
    expect([...calls.settle()]).toEqual([{ type: 'tool_use_start', index: 0, id: 'x', name: 'get' }]);
    expect([...calls.settle()]).toEqual([]);
    expect([...calls.read([piece(undefined, '{}', { index: 0 })])]).toEqual([
      { type: 'tool_input', index: 0, json: '{}' },
    ]);
    expect([...calls.end()]).toEqual([{ type: 'tool_use_end', index: 0 }]);
    expect(calls.hasCalls).toBe(false);
  });
});
