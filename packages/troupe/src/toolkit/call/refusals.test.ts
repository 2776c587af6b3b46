import { describe, expect, test } from 'vitest';

import { inactive, invalid, toolNotFound, unreadable } from './refusals.ts';
import { RegisteredTool } from '../tool/registered-tool.ts';

describe('an unknown tool', () => {
  const textOf = (name: string, known: readonly string[]): unknown => {
    const { output, status } = toolNotFound(name, known);
    expect(status).toBe('unavailable');
    return output;
  };

  test('is reported with the list of tools', () => {
    expect(textOf('fly', ['search', 'read'])).toBe(
      "FunctionNotFoundError: There is no tool 'fly'. There are: search, read.",
    );
    expect(textOf('fly', [])).toBe("FunctionNotFoundError: There is no tool 'fly'. There are no tools now.");
  });

  test('is reported with similar names', () => {
    expect(textOf('functions.Web-Search', ['web_search', 'read', 'search'])).toBe(
      "FunctionNotFoundError: There is no tool 'functions.Web-Search'. Did you mean web_search, search?",
    );
  });

  test('is told on one line, whatever its name', () => {
    expect(textOf(`a\nb\u001b[0m${'x'.repeat(1_000_000)}`, ['y'])).toBe(
      `FunctionNotFoundError: There is no tool 'a b [0m${'x'.repeat(57)}… (1000007 characters)'. There are: y.`,
    );
  });

  test('lists at most twenty', () => {
    const known = Array.from({ length: 30 }, (_, i) => `t${i}`);
    expect(textOf('fly', known)).toMatch(/There are: t0, .*, t19 and 10 more\.$/);
  });
});

test('a tool of an inactive group is told with the way to activate it, if there is one', () => {
  const tool = new RegisteredTool({ name: 'click', group: 'browser', execute: () => 1 });
  const problem =
    "FunctionInactiveError: The tool 'click' is in the tool group 'browser', which is not active.";
  expect(inactive(tool, false)).toEqual({ output: problem, status: 'unavailable' });
  expect(inactive(tool, true).output).toBe(`${problem} Activate it by calling 'reset_equipped_tools' first.`);
});

test('arguments that are no JSON are quoted, cut', () => {
  const start =
    'Arguments Validation Error: The arguments are not a JSON object. Call the tool again with valid JSON.';
  expect(unreadable('{"a":\n1')).toEqual({ output: `${start} You sent: {"a": 1`, status: 'error' });
  expect(unreadable('x'.repeat(5000)).output).toBe(
    `${start} You sent: ${'x'.repeat(300)}… (5000 characters)`,
  );
});

test('arguments that do not fit are told by place and expectation', () => {
  const problems = [
    { path: 'a.b[0]', message: 'Expected a number.' },
    { path: '', message: 'Something is missing.' },
    { path: `\n${'p'.repeat(300)}`, message: 'm'.repeat(400) },
  ];
  expect(invalid(problems)).toEqual({
    output: [
      'Arguments Validation Error: Correct these and call the tool again.',
      '- a.b[0]: Expected a number.',
      '- the arguments: Something is missing.',
      `-  ${'p'.repeat(199)}… (301 characters): ${'m'.repeat(300)}… (400 characters)`,
    ].join('\n'),
    status: 'error',
  });
});

test('of very many problems the first are told', () => {
  const problems = Array.from({ length: 100_000 }, (_, i) => ({
    path: `a[${i}]`,
    message: 'x'.repeat(1000),
  }));
  const { output } = invalid(problems);
  const lines = String(output).split('\n');
  expect(lines).toHaveLength(22);
  expect(lines.at(-2)).toMatch(/^- a\[19\]: x{300}…/);
  expect(lines.at(-1)).toBe('- and 99980 more');
});
