import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { InvalidMsgError } from '../errors.ts';
import type { ToolResultBlock, ToolUseBlock } from './blocks.ts';
import { Exchange } from './exchange.ts';
import { findHistoryFaults } from './history.ts';
import { Msg } from './msg.ts';

const NO_RESULT = 'The tool call was interrupted before it returned a result.';

const call = (id: string): ToolUseBlock => ({ type: 'tool_use', id, name: `tool-${id}`, input: {} });
const result = (id: string, output = `result of ${id}`): ToolResultBlock => ({
  type: 'tool_result',
  id,
  name: `tool-${id}`,
  output,
  status: 'ok',
});
const interrupted = (id: string): ToolResultBlock => ({ ...result(id, NO_RESULT), status: 'interrupted' });
const thoughtWith = (...ids: string[]): Msg =>
  Msg.assistant([{ type: 'text', text: 'Let me see.' }, ...ids.map(call)]);
const blocksOf = (msgs: readonly Msg[]): unknown[] => msgs.flatMap((msg) => msg.getContentBlocks());

describe('an exchange', () => {
  test('gives the model message, then one result message for each tool call', () => {
    const exchange = new Exchange(thoughtWith('a', 'b'));
    expect(exchange.calls).toEqual([call('a'), call('b')]);
    expect([exchange.addResult(result('b')), exchange.addResult(result('a'))]).toEqual([true, true]);
    const [thought, ...results] = exchange.toMsgs();
    expect(thought).toBe(exchange.modelMsg);
    expect(results.map(({ name, role, content }) => ({ name, role, content }))).toEqual([
      { name: 'system', role: 'system', content: [result('a')] },
      { name: 'system', role: 'system', content: [result('b')] },
    ]);
    expect(exchange.lateResults).toBe(0);
  });

  test('gives tool calls without a result the status interrupted', () => {
    const exchange = new Exchange(thoughtWith('a', 'b', 'c'));
    exchange.addResult(result('b'));
    expect(blocksOf(exchange.toMsgs().slice(1))).toEqual([interrupted('a'), result('b'), interrupted('c')]);
  });

  test('without tool calls is the model message alone', () => {
    const exchange = new Exchange(Msg.assistant('Nothing to do.'));
    expect(exchange.toMsgs()).toEqual([exchange.modelMsg]);
  });

  test('records the first result of a tool call; the second one is late', () => {
    const exchange = new Exchange(thoughtWith('a'));
    expect(exchange.addResult(result('a', 'first'))).toBe(true);
    expect(exchange.addResult(result('a', 'second'))).toBe(false);
    expect(blocksOf(exchange.toMsgs().slice(1))).toEqual([result('a', 'first')]);
    expect(exchange.lateResults).toBe(1);
  });

  test('records no result after toMsgs', () => {
    const exchange = new Exchange(thoughtWith('a', 'b'));
    exchange.addResult(result('a'));
    const read = JSON.stringify(blocksOf(exchange.toMsgs()));
    expect([
      exchange.addResult(result('a')),
      exchange.addResult(result('b')),
      exchange.addResult(result('b')),
    ]).toEqual([false, false, false]);
    expect(exchange.lateResults).toBe(3);
    expect(JSON.stringify(blocksOf(exchange.toMsgs()))).toBe(read);
  });

  test('gives the message of a result the same id while it streams and at the end', () => {
    const exchange = new Exchange(thoughtWith('a', 'b'));
    const chunk = exchange.resultMsg(result('b', 'half'));
    exchange.addResult(result('b', 'whole'));
    const [, a, b] = exchange.toMsgs();
    expect(b?.id).toBe(chunk.id);
    expect(a?.id).not.toBe(b?.id);
    expect(exchange.toMsgs().map((msg) => msg.id)).toEqual([exchange.modelMsg.id, a?.id, b?.id]);
  });

  test('keeps a copy of a result', () => {
    const exchange = new Exchange(thoughtWith('a'));
    const given = { ...result('a', 'before') };
    exchange.addResult(given);
    (given as { output: string }).output = 'after';
    expect(blocksOf(exchange.toMsgs().slice(1))).toEqual([result('a', 'before')]);
  });

  test('refuses two tool calls with the same id', () => {
    expect(() => new Exchange(thoughtWith('a', 'b', 'a'))).toThrow(
      new InvalidMsgError('Two tool calls of a message share an id.'),
    );
  });

  test('refuses a result without a tool call', () => {
    const exchange = new Exchange(thoughtWith('a'));
    for (const id of ['b', '__proto__', 'constructor', '']) {
      expect(() => exchange.addResult(result(id))).toThrow(
        new InvalidMsgError('A tool result has the id of no tool call of this message.'),
      );
    }
    expect(exchange.lateResults).toBe(0);
  });

  test.each<[string, object, string]>([
    ['is no JSON', { ...result('a'), output: new Map() }, 'result.output is a Map, not a plain object.'],
    [
      'has no output',
      { ...result('a'), output: undefined },
      'result.output must be a string or a list of blocks, not undefined.',
    ],
    ['is a call', call('a'), 'result.type must be tool_result.'],
  ])('refuses a tool result that %s, and the tool call stays unfinished', (_, given, message) => {
    const exchange = new Exchange(thoughtWith('a'));
    expect(() => exchange.addResult(given as ToolResultBlock)).toThrow(new InvalidMsgError(message));
    expect(exchange.addResult(result('a'))).toBe(true);
    expect(blocksOf(exchange.toMsgs().slice(1))).toEqual([result('a')]);
  });

  test('counts a late result without checking it', () => {
    const exchange = new Exchange(thoughtWith('a'));
    exchange.toMsgs();
    expect(exchange.addResult({ ...result('a'), output: 7 as never })).toBe(false);
    expect(exchange.lateResults).toBe(1);
  });

  test('accepts ids that are names of object properties', () => {
    const ids = ['__proto__', 'constructor', 'toString', ''];
    const exchange = new Exchange(thoughtWith(...ids));
    for (const id of ids) expect(exchange.addResult(result(id))).toBe(true);
    expect(blocksOf(exchange.toMsgs().slice(1))).toEqual(ids.map((id) => result(id)));
  });

  test('is complete and in order for results in any number, order and delay', () => {
    let late = 0;
    const scenario = fc
      .uniqueArray(fc.string({ maxLength: 3 }), { minLength: 1, maxLength: 6 })
      .chain((ids) =>
        fc.tuple(fc.constant(ids), fc.array(fc.constantFrom(...ids), { maxLength: 12 }), fc.nat(12)),
      );
    fc.assert(
      fc.property(scenario, ([ids, answers, readAfter]) => {
        const exchange = new Exchange(thoughtWith(...ids));
        const expected = new Map<string, ToolResultBlock>();
        const counted: boolean[] = [];
        const wanted: boolean[] = [];
        let msgs: readonly Msg[] | undefined;
        answers.forEach((id, n) => {
          if (n === readAfter) msgs = exchange.toMsgs();
          wanted.push(msgs === undefined && !expected.has(id));
          if (wanted.at(-1)) expected.set(id, result(id, `answer ${n}`));
          counted.push(exchange.addResult(result(id, `answer ${n}`)));
        });
        msgs = exchange.toMsgs();
        expect(counted).toEqual(wanted);
        expect(exchange.lateResults).toBe(wanted.filter((counts) => !counts).length);
        expect(msgs).toHaveLength(1 + ids.length);
        expect(blocksOf(msgs.slice(1))).toEqual(ids.map((id) => expected.get(id) ?? interrupted(id)));
        expect(findHistoryFaults(msgs)).toEqual([]);
        late += exchange.lateResults;
      }),
    );
    expect(late).toBeGreaterThan(50);
  });
});
