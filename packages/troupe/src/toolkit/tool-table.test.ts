import { describe, expect, test } from 'vitest';

import { withRunConfig } from '../config/run-config.ts';
import { TroupeError } from '../errors.ts';
import { ToolGroupTable } from './tool-group-table.ts';
import { ToolTable } from './tool-table.ts';
import type { Tool } from './tool/tool.ts';

function named(name: string, settings: Partial<Tool> = {}): Tool {
  return { name, execute: () => name, ...settings };
}

function tableOf(...tools: readonly Tool[]): ToolTable {
  const table = new ToolTable(new ToolGroupTable());
  for (const tool of tools) table.add(tool, 'raise');
  return table;
}

const namesOf = (table: ToolTable): string[] => table.offered().map(({ name }) => name);

describe('a taken name', () => {
  test('is an error by default, and by any strategy that is none', () => {
    const table = tableOf(named('a'));
    const problem =
      "There is a tool 'a' already. Give it another name, or set namesakeStrategy to 'skip', 'override' or 'rename'.";
    expect(() => table.add(named('a'), 'raise')).toThrow(new TroupeError('invalid_config', problem));
    expect(() => table.add(named('a'), 'what' as 'raise')).toThrow(problem);
  });

  test('can be skipped, with a warning', () => {
    const table = tableOf(named('a'));
    const lines: string[] = [];
    withRunConfig({ logging: { log: (level, text) => lines.push(`${level} ${text}`) } }, () => {
      expect(table.add(named('a', { description: 'new' }), 'skip')).toBe('a');
    });
    expect(table.get('a')?.tool.description).toBeUndefined();
    expect(lines).toEqual(["warn There is a tool 'a' already; the new one is ignored."]);
  });

  test('can be overridden, in its place', () => {
    const table = tableOf(named('a'), named('b'));
    expect(table.add(named('a', { description: 'new' }), 'override')).toBe('a');
    expect(table.offered().map(({ name, description }) => [name, description])).toEqual([
      ['a', 'new'],
      ['b', undefined],
    ]);
  });

  test('can get a number, the same one in every process', () => {
    const long = 'x'.repeat(64);
    const table = tableOf(named('a'), named(long));
    expect([table.add(named('a'), 'rename'), table.add(named('a'), 'rename')]).toEqual(['a_2', 'a_3']);
    expect(table.add(named(long), 'rename')).toBe(`${'x'.repeat(62)}_2`);
    expect(table.get('a_2')?.tool.name).toBe('a_2');
  });
});

describe('offered tools', () => {
  test('is in the order of registration, and the same list until something changes', () => {
    const table = tableOf(named('b'), named('a'), named('c'));
    const before = table.offered();
    expect(namesOf(table)).toEqual(['b', 'a', 'c']);
    expect(table.offered()).toBe(before);
    table.remove('a');
    expect(namesOf(table)).toEqual(['b', 'c']);
    table.add(named('a'), 'raise');
    expect(namesOf(table)).toEqual(['b', 'c', 'a']);
    expect(table.offered()[0]).toBe(before[0]);
    expect(table.offered()[1]).toBe(before[2]);
  });

  test('is what is active, and tools keep their objects when groups come and go', () => {
    const table = tableOf(named('a'));
    table.groups.create('g', { description: 'G' });
    table.add(named('b', { group: 'g' }), 'raise');
    const [a] = table.offered();
    expect(namesOf(table)).toEqual(['a']);
    table.groups.setActive(['g'], true);
    const on = table.offered();
    expect(namesOf(table)).toEqual(['a', 'b']);
    expect(on[0]).toBe(a);
    table.groups.setActive(['g'], false);
    table.groups.setActive(['g'], true);
    expect(table.offered()).toEqual(on);
    expect(table.offered()[1]).toBe(on[1]);
  });

  test('changes with an extension', () => {
    const table = tableOf(named('a'));
    table.offered();
    table.extend('a', { type: 'object', properties: { x: {} } });
    expect(table.offered()[0]?.parameters).toEqual({ type: 'object', properties: { x: {} } });
  });
});

test('a tool of an unknown group is refused', () => {
  expect(() => tableOf(named('a', { group: 'g' }))).toThrow(
    new TroupeError('invalid_config', "There is no tool group 'g'. Create it with createToolGroup first."),
  );
});

describe('a table over another', () => {
  test('shows the tools of both, those of the other first', () => {
    const base = tableOf(named('a'), named('b'));
    const over = new ToolTable(base.groups, base);
    over.add(named('c'), 'raise');
    expect(namesOf(over)).toEqual(['a', 'b', 'c']);
    expect(namesOf(base)).toEqual(['a', 'b']);
    expect(over.offered()[0]).toBe(base.offered()[0]);
    expect(over.offered()).toBe(over.offered());
  });

  test('hides tools of its own names', () => {
    const base = tableOf(named('a'), named('b'));
    const over = new ToolTable(base.groups, base);
    over.add(named('a', { description: 'mine' }), 'raise');
    expect(over.offered().map(({ name, description }) => [name, description])).toEqual([
      ['b', undefined],
      ['a', 'mine'],
    ]);
    expect(over.get('a')?.tool.description).toBe('mine');
    over.remove('a');
    expect(namesOf(over)).toEqual(['a', 'b']);
  });

  test('follows changes of the other, and of the groups', () => {
    const base = tableOf(named('a'));
    base.groups.create('g', { description: 'G' });
    base.add(named('b', { group: 'g' }), 'raise');
    const over = new ToolTable(base.groups, base);
    expect(namesOf(over)).toEqual(['a']);
    base.groups.setActive(['g'], true);
    expect(namesOf(over)).toEqual(['a', 'b']);
    base.remove('a');
    expect(namesOf(over)).toEqual(['b']);
  });

  test('extends a tool of the other only for itself, and keeps its limit', () => {
    const base = tableOf(named('a', { maxConcurrent: 1 }));
    const over = new ToolTable(base.groups, base);
    over.extend('a', { type: 'object', properties: { x: {} } });
    expect(over.offered()[0]?.parameters).toEqual({ type: 'object', properties: { x: {} } });
    expect(base.offered()[0]?.parameters).toEqual({ type: 'object', properties: {} });
    expect(over.get('a')?.concurrency).toBe(base.get('a')?.concurrency);
  });
});

test('an unknown tool can not be extended', () => {
  expect(() => tableOf().extend('a', undefined)).toThrow(
    new TroupeError('invalid_config', "There is no tool 'a'."),
  );
});
