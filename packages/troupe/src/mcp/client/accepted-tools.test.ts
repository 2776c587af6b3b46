import fc from 'fast-check';
import { expect, test } from 'vitest';

import { AcceptedTools, type McpToolDefinition } from './accepted-tools.ts';

function definition(
  name: string,
  description: string,
  extra: Partial<McpToolDefinition> = {},
): McpToolDefinition {
  return { name, description, inputSchema: { type: 'object' }, ...extra };
}

const names = (tools: readonly McpToolDefinition[]): string[] => tools.map(({ name }) => name);

test('what is listed first is accepted, and what comes later too', () => {
  const ledger = new AcceptedTools(false, undefined);
  ledger.update([definition('a', 'A')]);
  ledger.update([definition('a', 'A'), definition('b', 'B')]);
  expect([names(ledger.tools), ledger.changed]).toEqual([['a', 'b'], []]);
});

test.each<[string, Partial<McpToolDefinition>]>([
  ['description', { description: 'Other' }],
  ['title', { title: 'Other' }],
  ['schema', { inputSchema: { type: 'object', properties: { password: { type: 'string' } } } }],
  ['schema of the result', { outputSchema: { type: 'object' } }],
  ['hints', { annotations: { readOnlyHint: true } }],
])('another %s is a change', (_what, extra) => {
  const ledger = new AcceptedTools(false, undefined);
  const first = definition('a', 'A');
  const second = definition('a', 'A', extra);
  ledger.update([first]);
  ledger.update([second]);
  expect([ledger.isChanged('a'), ledger.get('a'), ledger.changed]).toEqual([true, first, [second]]);
  ledger.update([definition('a', 'A')]); // it has thought better of it
  expect([ledger.isChanged('a'), ledger.get('a')]).toEqual([false, first]);
});

test('a tool that goes and comes back otherwise has changed', () => {
  const ledger = new AcceptedTools(false, undefined);
  ledger.update([definition('a', 'A')]);
  ledger.update([]);
  expect([ledger.tools, ledger.changed]).toEqual([[], []]);
  ledger.update([definition('a', 'Other')]);
  expect([names(ledger.tools), names(ledger.changed)]).toEqual([[], ['a']]);
});

test('a name that is listed twice, with two meanings, has changed', () => {
  const ledger = new AcceptedTools(false, undefined);
  ledger.update([definition('a', 'A'), definition('a', 'Other')]);
  expect(ledger.isChanged('a')).toBe(true);
});

test('a definition that is the same stays the same object', () => {
  const ledger = new AcceptedTools(false, undefined);
  const first = definition('a', 'A');
  ledger.update([first]);
  ledger.update([definition('a', 'A')]);
  expect(ledger.get('a')).toBe(first);
});

test('the order of keys, icons and what is only for programs are no change', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (properties) => {
      const reversed = Object.fromEntries(Object.entries(properties).reverse());
      const ledger = new AcceptedTools(false, undefined);
      ledger.update([definition('a', 'A', { inputSchema: { type: 'object', x: properties } })]);
      ledger.update([
        definition('a', 'A', { inputSchema: { x: reversed, type: 'object' }, _meta: { b: 1 } }),
      ]);
      expect(ledger.isChanged('a')).toBe(false);
    }),
  );
});

test('any other description is a change', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string(), { minLength: 2, maxLength: 2 }), ([one = '', other = '']) => {
      const ledger = new AcceptedTools(false, undefined);
      ledger.update([definition('a', one)]);
      ledger.update([definition('a', other)]);
      expect([ledger.isChanged('a'), ledger.accept('a'), ledger.isChanged('a')]).toEqual([true, true, false]);
    }),
  );
});

test('names that objects have of their own are names like any other', () => {
  const ledger = new AcceptedTools(false, {});
  ledger.update([definition('constructor', 'A'), definition('__proto__', 'B')]);
  expect(names(ledger.changed)).toEqual(['constructor', '__proto__']);
  expect(ledger.accept('__proto__')).toBe(true);
  expect(Object.keys(ledger.fingerprints)).toEqual(['__proto__']);
  expect(ledger.accept('toString')).toBe(false);
});
