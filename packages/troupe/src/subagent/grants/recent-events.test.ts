import { describe, expect, test } from 'vitest';

import { Msg } from '../../message/msg.ts';
import { recentEvents } from './recent-events.ts';

const previews = (msgs: readonly Msg[], task: string): readonly string[] =>
  recentEvents(msgs, task).map(({ preview }) => preview);
const said = (...texts: readonly string[]): readonly Msg[] =>
  texts.map((text) => Msg.assistant(text, { name: 'bob' }));

describe('events', () => {
  test('of an empty history are none', () => {
    expect(recentEvents([], 'anything')).toEqual([]);
  });

  test('are short forms of their messages', () => {
    const msg = Msg.user(`one\ntwo ${'x'.repeat(500)}`, { name: 'ann' });
    const { id, role, name, timestamp } = msg;
    const preview = `one two ${'x'.repeat(191)}…`;
    expect(recentEvents([msg], 'x')).toEqual([{ id, role, name, preview, timestamp }]);
  });

  test('since the latest request come before older ones, and words of the task count in any case', () => {
    const msgs = [...said('The PERIGEE is 363300 km.', 'a', 'b', 'c'), Msg.user('go'), ...said('d')];
    expect(previews(msgs, 'Check the perigee.')).toEqual(['The PERIGEE is 363300 km.', 'c', 'go', 'd']);
    expect(previews(msgs, 'Check 363300.')).toEqual(['The PERIGEE is 363300 km.', 'c', 'go', 'd']);
    expect(previews(msgs, 'Do it.')).toEqual(['b', 'c', 'go', 'd']);
  });

  test('are found by Chinese words, too', () => {
    const msgs = said('月球离地球很近。', '一', '二', '三', '四');
    expect(previews(msgs, '请查月球距离')).toEqual(['月球离地球很近。', '二', '三', '四']);
  });

  test('are none without text, thinking only, or with tool calls', () => {
    const call = { type: 'tool_use', id: 'c', name: 'look', input: {} } as const;
    const msgs = [
      Msg.assistant([{ type: 'thinking', thinking: 'hm' }]),
      Msg.assistant([{ type: 'text', text: 'I look.' }, call]),
      Msg.user('  '),
    ];
    expect(previews(msgs, 'look')).toEqual([]);
  });

  test('are looked for among the newest hundred messages', () => {
    const msgs = said('nickel', ...Array.from({ length: 100 }, (_, n) => `m${n}`));
    expect(previews(msgs, 'nickel')).toEqual(['m96', 'm97', 'm98', 'm99']);
    expect(previews(msgs.slice(0, 100), 'nickel')).toEqual(['nickel', 'm96', 'm97', 'm98']);
  });
});
