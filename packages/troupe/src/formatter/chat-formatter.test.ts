import { describe, expect, test } from 'vitest';
import { expectLinear } from '../../test/counted-work.ts';
import { HISTORIES, TRAVEL } from '../../test/wire/histories.ts';
import { findHistoryFaults } from '../message/history.ts';
import { Msg } from '../message/msg.ts';
import { ChatFormatter } from './chat-formatter.ts';
import type { PromptItem } from './prompt.ts';

const formatter = new ChatFormatter();
const call = (id: string, name = 'get_time') => ({ type: 'tool_use', id, name, input: {} }) as const;
const calls = (...ids: string[]): Msg => Msg.assistant(ids.map((id) => call(id)));
const result = (id: string, output = `of ${id}`): Msg =>
  Msg.system([{ type: 'tool_result', id, name: 'get_time', output, status: 'ok' }]);
const results = (...ids: string[]): PromptItem => ({
  role: 'tool',
  results: ids.map((id) => ({ type: 'tool_result', id, name: 'get_time', output: `of ${id}`, status: 'ok' })),
});

describe('a history of our own', () => {
  test('needs no repair', () => {
    expect(findHistoryFaults(TRAVEL)).toEqual([]);
    const { items, repairs } = formatter.format(TRAVEL);
    expect(repairs).toEqual([]);
    expect(items.map(({ role }) => role).join(' ')).toBe(
      'system user assistant user assistant user assistant tool assistant user assistant tool assistant user',
    );
  });

  test('gives the very same items when it is formatted again, and when it goes on', () => {
    const { items } = formatter.format(TRAVEL);
    const longer = formatter.format([...TRAVEL, Msg.assistant('Bye.')]).items;
    expect(items.every((item, i) => item === longer[i])).toBe(true);
    expect(longer).toHaveLength(items.length + 1);
  });

  test('is sent unchanged: tool calls with all their results, system messages in their places', () => {
    const history = [
      Msg.system('Be short.'),
      Msg.user('Go.'),
      calls('a', 'b'),
      result('a'),
      result('b'),
      Msg.system('Hint.'),
    ];
    expect(formatter.format(history).items).toEqual([
      { role: 'system', text: 'Be short.' },
      { role: 'user', name: 'user', content: [{ type: 'text', text: 'Go.' }] },
      { role: 'assistant', name: 'assistant', content: [call('a'), call('b')] },
      results('a', 'b'),
      { role: 'system', text: 'Hint.' },
    ]);
  });
});

describe('a foreign history', () => {
  const ok = [
    'a question',
    'a system prompt and a question',
    'nothing but a system prompt',
    'our own conversation',
    'a greeting by the assistant',
    'several agents',
    'hints in between',
    'foreign thinking',
    'results inside of a user message',
    'results out of order',
    'arguments that could not be read',
    'a failed call',
    'calls right after each other',
  ];

  test.each(Object.entries(HISTORIES))('with %s is reported if it is repaired', (name, msgs) => {
    const { repairs } = new ChatFormatter().format(msgs);
    if (ok.includes(name) || name === 'half a character') expect(repairs).toEqual([]);
    else expect(repairs.length).toBeGreaterThan(0);
  });

  const repairsOf = (...msgs: Msg[]): readonly string[] => new ChatFormatter().format(msgs).repairs;
  const itemsOf = (...msgs: Msg[]): readonly PromptItem[] => formatter.format(msgs).items;

  test('gets results for tool calls without a result', () => {
    const history = [calls('a', 'b'), result('b'), Msg.user('Hi.')];
    expect(itemsOf(...history).slice(0, 2)).toEqual([
      { role: 'assistant', name: 'assistant', content: [call('a'), call('b')] },
      {
        role: 'tool',
        results: [
          {
            type: 'tool_result',
            id: 'a',
            name: 'get_time',
            output: 'There is no result: the tool call was interrupted.',
            status: 'interrupted',
          },
          { type: 'tool_result', id: 'b', name: 'get_time', output: 'of b', status: 'ok' },
        ],
      },
    ]);
    expect(repairsOf(...history)).toEqual(["added the missing result of the tool call 'get_time'"]);
  });

  test('loses results without a tool call', () => {
    const history = [Msg.user('Hi.'), result('ghost'), calls('a'), result('a'), result('a')];
    expect(itemsOf(...history)).toHaveLength(3);
    expect(repairsOf(...history)).toEqual([
      "left out a result of 'get_time' without a tool call",
      "left out a result of 'get_time' without a tool call",
    ]);
  });

  test('has its results moved up to their tool calls, in the order of the tool calls', () => {
    const history = [calls('a', 'b'), Msg.system('Hint.'), result('b'), Msg.user('Hi.'), result('a')];
    expect(itemsOf(...history).slice(1)).toEqual([
      results('a', 'b'),
      { role: 'system', text: 'Hint.' },
      { role: 'user', name: 'user', content: [{ type: 'text', text: 'Hi.' }] },
    ]);
    expect(repairsOf(...history)).toEqual([
      "moved the result of 'get_time' up to its tool call",
      "moved the result of 'get_time' up to its tool call",
    ]);
  });

  test('gets a new id for a tool call with a used id, and so do its results', () => {
    const history = [
      calls('a'),
      result('a', 'one'),
      calls('a', 'a'),
      result('a', 'two'),
      result('a', 'three'),
    ];
    const tools = itemsOf(...history).flatMap((item) => (item.role === 'tool' ? item.results : []));
    expect(tools.map(({ id, output }) => [id, output])).toEqual([
      ['a', 'one'],
      ['a_2', 'two'],
      ['a_3', 'three'],
    ]);
    const ids = itemsOf(...history).flatMap((item) =>
      item.role === 'assistant'
        ? item.content.flatMap((block) => (block.type === 'tool_use' ? block.id : []))
        : [],
    );
    expect(ids).toEqual(['a', 'a_2', 'a_3']);
    expect(itemsOf(...history)).toEqual(itemsOf(...history));
    expect(itemsOf(...history)[2]).toBe(itemsOf(...history)[2]);
    expect(itemsOf(...history)[3]).toBe(itemsOf(...history)[3]);
  });

  test('loses empty messages', () => {
    const history = [
      Msg.user(' \n', { name: 'Ann' }),
      Msg.assistant([]),
      Msg.assistant([{ type: 'thinking', thinking: 'Hm.' }]),
    ];
    expect(itemsOf(...history)).toEqual([]);
    expect(repairsOf(...history)).toEqual([
      "left out an empty message of 'Ann'",
      "left out an empty message of 'assistant'",
      "left out an empty message of 'assistant'",
    ]);
  });

  test('is reported once, not again with every turn', () => {
    const history = [Msg.user('Hi.'), result('ghost')];
    const own = new ChatFormatter();
    expect(own.format(history).repairs).toHaveLength(1);
    expect(own.format(history).repairs).toEqual([]);
    expect(own.format([...history, Msg.user(' ')]).repairs).toEqual(["left out an empty message of 'user'"]);
  });

  test('keeps ids as odd as they are, as long as they can be sent', () => {
    const [item] = itemsOf(calls('functions.get_time:0'));
    expect(item).toMatchObject({ content: [{ id: 'functions.get_time:0' }] });
    for (const id of ['', 'a b', 'ü', 'x'.repeat(65), 'a\n']) {
      expect(itemsOf(calls(id))[0]).toMatchObject({
        content: [{ id: expect.stringMatching(/^call_[0-9a-f]{16}$/) }],
      });
    }
  });

  test('has no half characters left, in text, thinking, inputs, names or outputs', () => {
    const half = 'a\ud83d';
    const history = [
      Msg.user(half, { name: half }),
      Msg.assistant([
        { type: 'thinking', thinking: half },
        { type: 'text', text: half },
        { type: 'tool_use', id: 'a', name: 'get_time', input: { [half]: [half, '\\ud83d', '😀'] } },
      ]),
      result('a', half),
      Msg.system(half),
    ];
    const text = JSON.stringify(itemsOf(...history));
    expect(text).not.toMatch(/[^\\]\\ud8/);
    expect(text.match(/\ufffd/g)).toHaveLength(8);
    expect(text).toContain('["a\ufffd","\\\\ud83d","😀"]');
  });

  test('of thousands of tool calls with the same id is put right in linear time', async () => {
    await expectLinear(1000, (count) => {
      const history = Array.from({ length: count }, () => [calls('a'), result('a')]).flat();
      const { items } = new ChatFormatter().format(history);
      expect(items).toHaveLength(2 * count);
    });
  });

  test('is never changed itself', () => {
    for (const msgs of Object.values(HISTORIES)) {
      const before = JSON.stringify(msgs);
      formatter.format(msgs);
      expect(JSON.stringify(msgs)).toBe(before);
    }
  });
});
