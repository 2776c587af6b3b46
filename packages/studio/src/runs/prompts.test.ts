import { expect, test } from 'vitest';

import type { PromptPart } from '../protocol.ts';
import { changesOf } from './prompts.ts';

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
