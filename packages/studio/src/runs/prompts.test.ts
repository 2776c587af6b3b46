import { expect, test } from 'vitest';

import type { PromptPart } from '../protocol.ts';
import { changesOf, partText } from './prompts.ts';

const part = (hash: string, kind: PromptPart['kind'] = 'message'): PromptPart => ({
  kind,
  hash,
  value: hash,
  text: hash,
  tokens: 2,
  isCached: false,
});
const parts = (names: string): PromptPart[] => [...names].map((name) => part(name));

test.each([
  ['', 'ab', ['+a', '+b']],
  ['ab', 'abc', ['=2', '+c']],
  ['abc', 'abd', ['=2', 'c>d']],
  ['abcd', 'axd', ['=1', 'b>x', '-c', '=1']],
  ['abcd', 'ad', ['=1', '-b', '-c', '=1']],
  ['ab', '', ['-a', '-b']],
])('the changes from %j to %j are %j', (before, after, wanted) => {
  const told = changesOf(parts(before), parts(after)).map((change) => {
    if (change.type === 'same') return `=${change.count}`;
    if (change.type === 'changed') return `${change.before.text}>${change.after.text}`;
    return `${change.type === 'added' ? '+' : '-'}${change.part.text}`;
  });
  expect(told).toEqual(wanted);
});

test('parts of different kinds are no change of one another', () => {
  const changes = changesOf([part('a', 'tool')], [part('b', 'message')]);
  expect(changes.map(({ type }) => type)).toEqual(['added', 'removed']);
});

test('a changed part is paired with the one that it was, not with another one between them', () => {
  const hint = (done: string): PromptPart => ({
    ...part(done),
    text: `The current plan: choose a meadow, write the shopping list, invite Ann and Bob. Done: ${done}.`,
  });
  expect(changesOf([part('a'), hint('one')], [part('a'), { ...hint('one'), hash: 'made again' }])).toEqual([
    { type: 'same', count: 2, tokens: 4 },
  ]);
  const said = { ...part('said'), text: 'Book a table for me.' };
  const changes = changesOf([part('a'), hint('one')], [part('a'), said, hint('two')]);
  expect(changes).toEqual([
    { type: 'same', count: 1, tokens: 2 },
    { type: 'added', part: said },
    { type: 'changed', before: hint('one'), after: hint('two') },
  ]);
});

test('the text of a part shows the texts of its blocks, and names the others', () => {
  expect(partText({ role: 'user', content: 'Hi.' })).toBe('Hi.');
  const content = [
    { type: 'thinking', thinking: 'Let me see.' },
    { type: 'text', text: 'I look.' },
    { type: 'tool_use', id: 'c1', name: 'look', input: {} },
  ];
  expect(partText({ role: 'assistant', content }).split('\n').slice(0, 3)).toEqual([
    'thinking: Let me see.',
    'I look.',
    'tool_use look {',
  ]);
  expect(partText({ name: 'look' })).toBe('{\n  "name": "look"\n}');
});
