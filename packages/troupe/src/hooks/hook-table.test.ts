import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { TroupeError } from '../errors.ts';
import { HookTable, type AnyHook } from './hook-table.ts';

const hook = (): void => {};
const namesOf = (table: HookTable, type = 'pre'): string[] => table.of(type).map(({ name }) => name);

describe('a table of hooks', () => {
  test('lists the hooks of a type in the order of registration', () => {
    const table = new HookTable();
    table.register('pre', 'b', hook);
    table.register('pre', 'a', hook);
    table.register('post', 'c', hook);
    expect(table.of('pre')).toEqual([
      { name: 'b', hook, priority: 100 },
      { name: 'a', hook, priority: 100 },
    ]);
    expect([namesOf(table, 'post'), namesOf(table, 'other')]).toEqual([['c'], []]);
  });

  test('puts a lower priority first', () => {
    const table = new HookTable();
    for (const [name, priority] of [
      ['a', 100],
      ['b', 50],
      ['c', 200],
      ['d', 50],
      ['e', -1],
      ['f', Infinity],
      ['g', Infinity],
    ] as const)
      table.register('pre', name, hook, { priority });
    table.register('pre', 'h', hook);
    expect(namesOf(table)).toEqual(['e', 'b', 'd', 'a', 'h', 'c', 'f', 'g']);
  });

  test('replaces a hook with the same name in its position', () => {
    const table = new HookTable();
    const other = (): void => {};
    for (const name of ['a', 'b', 'c']) table.register('pre', name, hook);
    table.register('pre', 'b', other);
    expect(namesOf(table)).toEqual(['a', 'b', 'c']);
    expect(table.of('pre')[1]?.hook).toBe(other);
  });

  test('a hook with a new priority keeps its place in the order of registration', () => {
    const table = new HookTable();
    table.register('pre', 'a', hook);
    table.register('pre', 'b', hook, { priority: 50 });
    expect(namesOf(table)).toEqual(['b', 'a']);
    table.register('pre', 'b', hook);
    expect(namesOf(table)).toEqual(['a', 'b']);
  });

  test('a returned list never changes', () => {
    const table = new HookTable();
    table.register('pre', 'a', hook);
    const read = table.of('pre');
    table.register('pre', 'b', hook);
    table.remove('pre', 'a');
    table.clear();
    expect(read.map(({ name }) => name)).toEqual(['a']);
  });

  test('removes by name; the error for an unknown name lists the registered hooks', () => {
    const table = new HookTable();
    table.register('pre', 'a', hook);
    table.register('pre', 'b', hook);
    table.remove('pre', 'a');
    expect(namesOf(table)).toEqual(['b']);
    expect(() => table.remove('pre', 'a')).toThrow(
      new TroupeError('hook_not_found', "There is no pre hook 'a'. Registered: 'b'."),
    );
    expect(() => table.remove('post', 'b')).toThrow(
      new TroupeError('hook_not_found', "There is no post hook 'b'. Registered: none."),
    );
  });

  test('removes exactly one registration', () => {
    const table = new HookTable();
    const first = table.register('pre', 'a', hook);
    const second = table.register('pre', 'a', hook);
    table.removeExactly('pre', first);
    expect(table.of('pre')).toEqual([second]);
    table.removeExactly('post', second);
    expect(namesOf(table)).toEqual(['a']);
    table.removeExactly('pre', second);
    table.removeExactly('pre', second);
    expect(namesOf(table)).toEqual([]);
    table.register('pre', 'a', hook);
    table.removeExactly('pre', second);
    expect(namesOf(table)).toEqual(['a']);
  });

  test('clears one type, or all types', () => {
    const table = new HookTable();
    for (const type of ['pre', 'post', 'print']) table.register(type, 'a', hook);
    table.clear('pre');
    expect([namesOf(table, 'pre'), namesOf(table, 'post')]).toEqual([[], ['a']]);
    table.clear();
    expect([namesOf(table, 'post'), namesOf(table, 'print')]).toEqual([[], []]);
    table.clear('never seen');
    table.register('pre', 'b', hook);
    expect(namesOf(table)).toEqual(['b']);
  });

  test.each<[string, unknown[], string]>([
    ['no function', ['a', 'text'], "The pre hook 'a' must be a function."],
    ['no hook', ['a'], "The pre hook 'a' must be a function."],
    ['a function for a name', [hook], 'A pre hook needs a name, then a function.'],
    [
      'no number for a priority',
      ['a', hook, { priority: 'high' }],
      "The priority of the pre hook 'a' must be a number.",
    ],
    [
      'NaN for a priority',
      ['a', hook, { priority: NaN }],
      "The priority of the pre hook 'a' must be a number.",
    ],
  ])('refuses %s', (_, args, message) => {
    const table = new HookTable();
    expect(() => table.register('pre', ...(args as [string, AnyHook]))).toThrow(
      new TroupeError('invalid_hook', message),
    );
    expect(namesOf(table)).toEqual([]);
  });

  test('behaves like a sorted list for any registrations and removals', () => {
    const operation = fc.record({
      what: fc.constantFrom('register', 'register', 'register', 'remove', 'clear'),
      name: fc.constantFrom('a', 'b', 'c', 'd', '__proto__', 'constructor'),
      priority: fc.constantFrom(undefined, 1, 2, 100),
    });
    let longest = 0;
    fc.assert(
      fc.property(fc.array(operation, { size: 'max', maxLength: 30 }), (operations) => {
        const table = new HookTable();
        const model: { name: string; priority: number }[] = [];
        for (const { what, name, priority } of operations) {
          const place = model.findIndex((entry) => entry.name === name);
          if (what === 'register') {
            table.register('pre', name, hook, priority === undefined ? {} : { priority });
            if (place === -1) model.push({ name, priority: priority ?? 100 });
            else model[place] = { name, priority: priority ?? 100 };
          } else if (what === 'remove') {
            if (place === -1) expect(() => table.remove('pre', name)).toThrow(TroupeError);
            else table.remove('pre', name);
            if (place !== -1) model.splice(place, 1);
          } else if (operations.length % 3 === 0) {
            table.clear('pre');
            model.length = 0;
          }
          const sorted = model
            .map((entry, i) => ({ ...entry, i }))
            .sort((a, b) => a.priority - b.priority || a.i - b.i);
          expect(namesOf(table)).toEqual(sorted.map(({ name }) => name));
          longest = Math.max(longest, sorted.length);
        }
      }),
    );
    expect(longest).toBeGreaterThan(4);
  });
});
