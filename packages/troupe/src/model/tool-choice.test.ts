import { describe, expect, test } from 'vitest';
import type { ToolChoice, ToolSchema } from './chat-model-base.ts';
import { toolsForChoice, checkToolChoice, isForced } from './tool-choice.ts';

const tools: readonly ToolSchema[] = ['a', 'b', 'c'].map((name) => ({
  name,
  parameters: { type: 'object' },
}));
const check = (toolChoice: unknown, given = tools): void =>
  checkToolChoice({ messages: [], tools: given, toolChoice: toolChoice as ToolChoice });

describe('a tool choice', () => {
  test.each([undefined, 'auto', 'none', 'required', { name: 'b' }, { allowed: ['a', 'c'] }])(
    '%j is fine',
    (choice) => {
      expect(() => check(choice)).not.toThrow();
    },
  );

  test.each([
    ['any', /must be 'auto', 'none', 'required', \{name\} or \{allowed/],
    [7, /must be/],
    [{}, /must be/],
    [{ name: 7 }, /must be/],
    [{ name: 'x' }, /names x, but the tools are: a, b, c/],
    [{ allowed: ['a', 'x', 'y'] }, /names x, y, but/],
    [{ allowed: [] }, /allows no tool at all/],
  ])('%j is refused', (choice, message) => {
    expect(() => check(choice)).toThrow(message);
  });

  test('that forces needs tools', () => {
    expect(() => check('required', [])).toThrow(/there are no tools/);
    expect(() => check({ name: 'a' }, [])).toThrow(/the tools are: none/);
  });

  test('forces, or does not', () => {
    const forcing = ['required', { name: 'a' }, { allowed: ['a'], mode: 'required' }] as const;
    const free = [undefined, 'auto', 'none', { allowed: ['a'] }, { allowed: ['a'], mode: 'auto' }] as const;
    expect(forcing.map(isForced)).toEqual([true, true, true]);
    expect(free.map(isForced)).toEqual([false, false, false, false, false]);
  });

  test('keeps the allowed tools', () => {
    const names = (toolChoice: ToolChoice): string[] =>
      toolsForChoice({ messages: [], tools, toolChoice }).map(({ name }) => name);
    expect(names({ allowed: ['c', 'a'] })).toEqual(['a', 'c']);
    expect(names('auto')).toEqual(['a', 'b', 'c']);
    expect(names({ name: 'a' })).toEqual(['a', 'b', 'c']);
  });
});
