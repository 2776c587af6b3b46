import { expect, test } from 'vitest';

import { TroupeError } from '../errors.ts';
import { ToolGroupTable } from './tool-group-table.ts';

function make(): ToolGroupTable {
  const groups = new ToolGroupTable();
  groups.create('a', { description: 'A' });
  groups.create('b', { description: 'B', active: true, notes: 'mind' });
  return groups;
}

const activeOf = (groups: ToolGroupTable): string[] => groups.active.map(({ name }) => name);

test('a group is inactive unless it says otherwise; the basic one is always active', () => {
  const groups = make();
  expect(groups.all).toEqual([
    { name: 'a', description: 'A', notes: undefined },
    { name: 'b', description: 'B', notes: 'mind' },
  ]);
  expect(['a', 'b', 'basic', 'none'].map((name) => groups.isActive(name))).toEqual([
    false,
    true,
    true,
    false,
  ]);
  expect(['a', 'basic', 'none'].map((name) => groups.has(name))).toEqual([true, true, false]);
});

test('groups are activated and deactivated by name', () => {
  const groups = make();
  groups.setActive(['a'], true);
  expect(activeOf(groups)).toEqual(['a', 'b']);
  groups.setActive(['b'], false);
  expect(activeOf(groups)).toEqual(['a']);
  groups.activateOnly(['b', 'none']);
  groups.create('none', { description: 'made later' });
  expect(activeOf(groups)).toEqual(['b']);
});

test.each<[string, (groups: ToolGroupTable) => void, string]>([
  [
    'a name that is taken',
    (groups) => groups.create('a', { description: '' }),
    "There is a tool group 'a' already.",
  ],
  [
    'the basic group again',
    (groups) => groups.create('basic', { description: '' }),
    "There is a tool group 'basic' already.",
  ],
  [
    'a name that no schema takes',
    (groups) => groups.create('a b', { description: '' }),
    'A tool group must have a name of 1 to 64 letters',
  ],
  ['an unknown group', (groups) => groups.setActive(['a', 'x'], true), "There is no tool group 'x'."],
  ['the removal of an unknown group', (groups) => groups.remove(['a', 'x']), "There is no tool group 'x'."],
  [
    'the basic group',
    (groups) => groups.setActive(['a', 'basic'], true),
    "The group 'basic' is always there and always active.",
  ],
  [
    'the removal of the basic group',
    (groups) => groups.remove(['a', 'basic']),
    "The group 'basic' is always there and always active.",
  ],
])('%s is refused, and nothing changes', (_, act, problem) => {
  const groups = make();
  expect(() => act(groups)).toThrow(TroupeError);
  expect(() => act(groups)).toThrow(problem);
  expect(groups.all.map(({ name }) => name)).toEqual(['a', 'b']);
  expect(activeOf(groups)).toEqual(['b']);
});

test('a removed group is also no longer active', () => {
  const groups = make();
  groups.remove(['b']);
  groups.create('b', { description: 'again' });
  expect(activeOf(groups)).toEqual([]);
  groups.clear();
  expect(groups.all).toEqual([]);
});
