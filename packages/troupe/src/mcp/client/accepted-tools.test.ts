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

test('tools of the first list are accepted, and later tools too', () => {
  const tools = new AcceptedTools(false, undefined);
  tools.update([definition('a', 'A')]);
  tools.update([definition('a', 'A'), definition('b', 'B')]);
  expect([names(tools.tools), tools.changed]).toEqual([['a', 'b'], []]);
});

test.each<[string, Partial<McpToolDefinition>]>([
  ['description', { description: 'Other' }],
  ['title', { title: 'Other' }],
  ['schema', { inputSchema: { type: 'object', properties: { password: { type: 'string' } } } }],
  ['schema of the result', { outputSchema: { type: 'object' } }],
  ['hints', { annotations: { readOnlyHint: true } }],
])('another %s is a change', (_what, extra) => {
  const tools = new AcceptedTools(false, undefined);
  const first = definition('a', 'A');
  const second = definition('a', 'A', extra);
  tools.update([first]);
  tools.update([second]);
  expect([tools.isChanged('a'), tools.get('a'), tools.changed]).toEqual([true, first, [second]]);
  tools.update([definition('a', 'A')]); // changed back
  expect([tools.isChanged('a'), tools.get('a')]).toEqual([false, first]);
});

test('a tool that goes and comes back otherwise has changed', () => {
  const tools = new AcceptedTools(false, undefined);
  tools.update([definition('a', 'A')]);
  tools.update([]);
  expect([tools.tools, tools.changed]).toEqual([[], []]);
  tools.update([definition('a', 'Other')]);
  expect([names(tools.tools), names(tools.changed)]).toEqual([[], ['a']]);
});

test('a name that is listed twice, with two meanings, has changed', () => {
  const tools = new AcceptedTools(false, undefined);
  tools.update([definition('a', 'A'), definition('a', 'Other')]);
  expect(tools.isChanged('a')).toBe(true);
});

test('a definition that is the same stays the same object', () => {
  const tools = new AcceptedTools(false, undefined);
  const first = definition('a', 'A');
  tools.update([first]);
  tools.update([definition('a', 'A')]);
  expect(tools.get('a')).toBe(first);
});

test('the order of keys, icons and what is only for programs are no change', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (properties) => {
      const reversed = Object.fromEntries(Object.entries(properties).reverse());
      const tools = new AcceptedTools(false, undefined);
      tools.update([definition('a', 'A', { inputSchema: { type: 'object', x: properties } })]);
      tools.update([definition('a', 'A', { inputSchema: { x: reversed, type: 'object' }, _meta: { b: 1 } })]);
      expect(tools.isChanged('a')).toBe(false);
    }),
  );
});

test('any other description is a change', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string(), { minLength: 2, maxLength: 2 }), ([one = '', other = '']) => {
      const tools = new AcceptedTools(false, undefined);
      tools.update([definition('a', one)]);
      tools.update([definition('a', other)]);
      expect([tools.isChanged('a'), tools.accept('a'), tools.isChanged('a')]).toEqual([true, true, false]);
    }),
  );
});

test('names that objects have of their own are names like any other', () => {
  const tools = new AcceptedTools(false, {});
  tools.update([definition('constructor', 'A'), definition('__proto__', 'B')]);
  expect(names(tools.changed)).toEqual(['constructor', '__proto__']);
  expect(tools.accept('__proto__')).toBe(true);
  expect(Object.keys(tools.fingerprints)).toEqual(['__proto__']);
  expect(tools.accept('toString')).toBe(false);
});
