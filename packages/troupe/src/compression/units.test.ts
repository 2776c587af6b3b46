import { expect, test } from 'vitest';

import { Msg } from '../message/msg.ts';
import { call, pair, result, results, thought } from '../../test/compression-task.ts';
import { isSaidToAgent, requestGroups, unitsOf, type Audience } from './units.ts';

const FRIDAY: Audience = { agentName: 'Friday', requestIds: new Set() };

test.each<[string, Msg[], [string, number, number][]]>([
  ['a message', [Msg.user('a')], [['plain', 0, 1]]],
  [
    'calls with their results',
    [...pair('a'), ...pair('b')],
    [
      ['exchange', 0, 2],
      ['exchange', 2, 4],
    ],
  ],
  [
    'parallel calls',
    [thought(call('a'), call('b')), results(result('b')), results(result('a')), Msg.user('x')],
    [
      ['exchange', 0, 3],
      ['plain', 3, 4],
    ],
  ],
  [
    'calls that wait',
    [thought(call('a'), call('b')), results(result('a')), Msg.user('x')],
    [
      ['pending', 0, 2],
      ['plain', 2, 3],
    ],
  ],
  [
    'calls that wait while another agent talks',
    [thought(call('a')), Msg.assistant('x', { name: 'Other' })],
    [
      ['pending', 0, 1],
      ['plain', 1, 2],
    ],
  ],
  [
    'calls that nobody answered',
    [thought(call('a')), Msg.assistant('never mind')],
    [
      ['broken', 0, 1],
      ['plain', 1, 2],
    ],
  ],
  [
    'a result of no call',
    [results(result('a')), Msg.user('x')],
    [
      ['broken', 0, 1],
      ['plain', 1, 2],
    ],
  ],
  [
    'a second result',
    [...pair('a'), results(result('a'))],
    [
      ['exchange', 0, 2],
      ['broken', 2, 3],
    ],
  ],
  [
    'calls with something in between',
    [thought(call('a')), Msg.user('x'), results(result('a')), Msg.user('y')],
    [
      ['broken', 0, 3],
      ['plain', 3, 4],
    ],
  ],
  [
    'calls within calls',
    [thought(call('a')), thought(call('b')), results(result('b')), results(result('a'))],
    [['broken', 0, 4]],
  ],
])('%s', (_, msgs, units) => {
  expect(unitsOf(msgs, FRIDAY).map(({ kind, start, end }) => [kind, start, end])).toEqual(units);
});

test('users and other agents have said something to the agent; its own messages and tools have not', () => {
  const asked = Msg.assistant('asked');
  const msgs = [
    Msg.user('a'),
    Msg.assistant('b', { name: 'Other' }),
    asked,
    Msg.assistant('d'),
    Msg.assistant('e', { name: 'Friday' }),
    Msg.system('f'),
    ...pair('g'),
    Msg.user([result('h')]),
  ];
  const audience = { agentName: 'Friday', requestIds: new Set([asked.id]) };
  const said = msgs.filter((msg) => isSaidToAgent(msg, audience));
  expect(said).toEqual(msgs.slice(0, 3));
});

test('requests are what they are said to be, or runs since the newest answer', () => {
  const msgs = [
    Msg.user('old', { id: '0' }),
    Msg.assistant('well', { id: '1' }),
    Msg.user('ask', { id: '2' }),
    Msg.system('hint', { id: '3' }),
    Msg.user('more', { id: '4' }),
    ...pair('c'),
    Msg.user('steer', { id: '7' }),
  ];
  expect(requestGroups(msgs, FRIDAY)).toEqual([[2, 4], [7]]);
  expect(requestGroups([...msgs, Msg.assistant('done')], FRIDAY)).toEqual([[2, 4], [7]]);
  expect(requestGroups(msgs, { ...FRIDAY, requestIds: new Set(['1', '4', 'unknown']) })).toEqual([[1, 4]]);
  expect(requestGroups([], FRIDAY)).toEqual([]);
});
