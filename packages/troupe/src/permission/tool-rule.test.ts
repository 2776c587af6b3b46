import { expect, test } from 'vitest';

import { tool } from '../toolkit/tool/tool.ts';
import type { JsonObject } from '../util/json.ts';
import type { Match } from './shell/match-command.ts';
import { compileRule, readRule, type ToolRule } from './tool-rule.ts';
import { findCommands } from './shell/find-commands.ts';

const anyTool = tool({ name: 'any', execute: () => '' });

function matchCall(rule: ToolRule, name: string, input: JsonObject, base?: string): Match {
  const call = { type: 'tool_use', id: 'c1', name, input } as const;
  return compileRule(rule).match({
    request: { call, tool: anyTool, agentPath: [], context: undefined },
    base,
  });
}

/** Match of a command rule with the last command of a text. */
function matchCommand(behavior: 'allow' | 'deny', match: object | string, text: string): Match {
  const call = { type: 'tool_use', id: 'c1', name: 'sh', input: { command: text } } as const;
  const rule = { tool: 'sh', behavior, when: { command: match } } as ToolRule;
  return compileRule(rule).match({
    request: { call, tool: anyTool, agentPath: [], context: undefined },
    argument: 'command',
    command: findCommands(text).commands.at(-1),
    base: undefined,
  });
}

test.each([
  ['pay', 'pay', 'yes'],
  ['pay', 'payx', 'no'],
  ['mcp_*', 'mcp_pay', 'yes'],
  ['*', 'pay', 'yes'],
  ['{pay,buy}', 'buy', 'yes'],
  ['p?y', 'pay', 'yes'],
])('a rule for %j holds for the tool %j: %s', (name, called, match) => {
  expect(matchCall({ tool: name, behavior: 'deny' }, called, {})).toBe(match);
});

const all = { allow: 'yes', deny: 'yes' };
const none = { allow: 'no', deny: 'no' };
test.each([
  [{ amount: 5 }, { amount: 5 }, all],
  [{ amount: 5 }, { amount: '5' }, none],
  [{ amount: 5, to: 'ann' }, { amount: 5, to: 'bob' }, none],
  [{ to: null }, { to: null }, all],
  [{ to: 'ann' }, {}, none],
  [{ toString: 'x' }, {}, none],
  [{ path: { glob: '/w/src/**' } }, { path: '/w/src/a/b.ts' }, all],
  [{ path: { glob: '/w/src/*' } }, { path: '/w/src/a/b.ts' }, none],
  [{ path: { glob: '/w/src/**' } }, { path: '/w/src/../etc/x' }, none],
  [{ path: { glob: '/w/etc/**' } }, { path: '/w/src/../etc/x' }, { allow: 'no', deny: 'yes' }],
  [{ path: { glob: '/w/src/**' } }, { path: 'src/a' }, all],
  [{ path: { glob: '/w/Src/**' } }, { path: '/w/sRc/a' }, { allow: 'no', deny: 'maybe' }],
  [{ path: { glob: '**/Secret/*' } }, { path: ['/a', '/SECRET/b'] }, { allow: 'no', deny: 'maybe' }],
  [{ path: { glob: 'src/**' } }, { path: '/w/src/a' }, all],
  [{ path: { glob: 'src/**' } }, { path: 'src/./a' }, all],
  [{ path: { glob: 'src/**' } }, { path: '/x/src/a' }, none],
  [{ path: { glob: '**/*.ts' } }, { path: '/x/a.ts' }, all],
  [{ path: { glob: '**/secret/**' } }, { path: ['/a', '/secret/b'] }, { allow: 'no', deny: 'yes' }],
  [{ path: { glob: '/w/**' } }, { path: [] }, none],
  [{ path: { glob: '/w/**' } }, { path: 7 }, { allow: 'no', deny: 'maybe' }],
  [{ url: { regex: '^https://example\\.com/' } }, { url: 'https://example.com/a' }, all],
  [{ url: { regex: '^https://example\\.com/' } }, { url: 'https://example.com.evil/' }, none],
  [{ text: { regex: '(a+)+$' } }, { text: `${'a'.repeat(50_000)}b` }, none],
  [{ text: { prefix: 'git' } }, { text: 'git push' }, { allow: 'no', deny: 'maybe' }],
])('when %j, with %j: %j', (when, input, expected) => {
  const say = (behavior: 'allow' | 'deny'): Match =>
    matchCall({ tool: 't', behavior, when }, 't', input, '/w');
  expect({ allow: say('allow'), deny: say('deny') }).toEqual(expected);
});

test('a relative glob without a working directory holds for relative paths, and for others it can only forbid', () => {
  const say = (behavior: 'allow' | 'deny', path: string): Match =>
    matchCall({ tool: 't', behavior, when: { path: { glob: 'src/*' } } }, 't', { path });
  expect([say('allow', 'src/a'), say('allow', '/src/a'), say('deny', '/src/a')]).toEqual([
    'yes',
    'no',
    'yes',
  ]);
});

test('a function decides by the whole tool call', () => {
  const rule: ToolRule = {
    tool: 'pay',
    behavior: 'deny',
    when: ({ call }) => Number(call.input['amount']) > 100,
  };
  expect(matchCall(rule, 'pay', { amount: 101 })).toBe('yes');
  expect(matchCall(rule, 'pay', { amount: 100 })).toBe('no');
});

test.each([
  [{ prefix: 'git log' }, 'git log -5', all],
  [{ prefix: 'git log' }, 'git logs', none],
  [{ prefix: 'git log' }, 'git', none],
  [{ prefix: 'git' }, '/usr/bin/git x', all],
  [{ prefix: 'git' }, '/tmp/git x', { allow: 'no', deny: 'yes' }],
  [{ prefix: '/opt/tool' }, '/opt/tool x', all],
  [{ prefix: '/opt/tool' }, './tool x', { allow: 'no', deny: 'yes' }],
  [{ prefix: 'git' }, 'GIT x', { allow: 'no', deny: 'yes' }],
  [{ prefix: 'make' }, 'CI=1 LC_ALL=C make', all],
  [{ prefix: 'make' }, 'cmd=x make', { allow: 'no', deny: 'yes' }],
  [{ prefix: 'make' }, 'CC=evil make', { allow: 'no', deny: 'yes' }],
  [{ prefix: 'make' }, 'env FOO=1 make', { allow: 'no', deny: 'yes' }],
  [{ prefix: 'git push' }, 'git -C x -c a=b push', { allow: 'no', deny: 'yes' }],
  [{ prefix: 'git push' }, 'git --no-pager push', { allow: 'no', deny: 'yes' }],
  [{ prefix: 'git remote add' }, 'git -C remote remote add x', { allow: 'no', deny: 'yes' }],
  [{ prefix: 'git push' }, 'git commit -m push', none],
  [{ prefix: 'git push' }, 'git $x', { allow: 'no', deny: 'maybe' }],
  [{ prefix: 'git push' }, 'git "$x" push', { allow: 'no', deny: 'maybe' }],
  [{ prefix: 'git' }, 'git $x', all],
  [{ prefix: 'rm' }, '$x y', { allow: 'no', deny: 'maybe' }],
  [{ prefix: 'rm' }, "'r'm y", all],
  [{ prefix: 'rm' }, 'flock lock rm x', { allow: 'no', deny: 'maybe' }],
  [{ prefix: 'rm' }, "ssh host 'rm x'", { allow: 'no', deny: 'maybe' }],
  [{ prefix: 'rm' }, 'grep rm x', none],
  [{ prefix: 'rm' }, 'npm test', none],
  [{ prefix: 'rm' }, '> x', none],
  ['npm test', 'npm test', all],
  ['npm test', "npm 'test'", all],
  ['npm test', 'npm test x', none],
  ['npm test', 'FOO=1 npm test', { allow: 'no', deny: 'yes' }],
  ['npm test', '/usr/bin/npm test', { allow: 'no', deny: 'yes' }],
  ['npm test', '$x test', { allow: 'no', deny: 'maybe' }],
  ['rm "a b"', "rm 'a b'", all],
  ['rm "a b"', 'rm a b', none],
  ['rm a b', "rm 'a b'", none],
  ["rm ''", 'rm', none],
  ['a; b', 'a', { allow: 'no', deny: 'maybe' }],
  ['rm $x', 'rm $x', { allow: 'no', deny: 'maybe' }],
  ['npm test', 'npm $x', { allow: 'no', deny: 'maybe' }],
  ['npm test', 'ls $x', none],
  ['npm test', '> x', none],
  [{ regex: '^npm (test|run \\w+)$' }, 'npm run build', all],
  [{ regex: '^npm' }, 'npm $x', { allow: 'no', deny: 'yes' }],
  [{ regex: 'evil' }, 'npm $x', { allow: 'no', deny: 'maybe' }],
  [{ regex: '.' }, '> x', { allow: 'no', deny: 'maybe' }],
  [{ glob: '*' }, 'ls', { allow: 'no', deny: 'maybe' }],
  [{ prefix: 'ls' }, '', { allow: 'no', deny: 'maybe' }],
])('a command rule %j, with %j: %j', (match, text, expected) => {
  const [allow, deny] = [matchCommand('allow', match, text), matchCommand('deny', match, text)];
  expect({ allow, deny }).toEqual(expected);
});

test.each([
  [{ tool: '', behavior: 'allow' }, 'the name of a tool'],
  [{ tool: 't', behavior: 'perhaps' }, 'needs a behavior'],
  [{ tool: 't', behavior: 'deny', when: 'x' }, 'neither an object nor a function'],
  [{ tool: 't', behavior: 'allow', when: null }, 'neither an object nor a function'],
  [{ tool: 't', behavior: 'deny', when: { a: { regex: '(' } } }, 'is refused'],
  [{ tool: 't', behavior: 'deny', when: { a: { regex: 7 } } }, 'a regex that is not a text'],
  [{ tool: 't', behavior: 'deny', when: { a: { glob: '' } } }, 'a glob that is not a text'],
  [{ tool: 't', behavior: 'deny', when: { a: { prefix: ' ' } } }, 'a prefix that is not a text'],
  [{ tool: 't', behavior: 'deny', when: { a: { globb: 'x' } } }, 'is refused'],
  [{ tool: 't', behavior: 'deny', when: { a: ['x'] } }, 'is refused'],
  [{ tool: 't', behavior: 'deny', when: () => true }, 'is refused'],
  ['deny everything', 'is refused'],
])('%j is no rule that can be saved', (json, problem) => {
  expect(() => readRule(json)).toThrow(
    expect.objectContaining({ code: 'invalid_config', message: expect.stringContaining(problem) }),
  );
});

test('unknown keys of a rule are dropped', () => {
  expect(readRule({ tool: 't', behavior: 'deny', when: { a: 1 }, note: 'x' })).toEqual({
    tool: 't',
    behavior: 'deny',
    when: { a: 1 },
  });
});

test.each([Promise.resolve(true), undefined, 1, 'false'])(
  'a function that says %j is a mistake, and no "no"',
  (said) => {
    const rule = { tool: 'pay', behavior: 'deny', when: () => said as never } as const;
    expect(() => matchCall(rule, 'pay', {})).toThrow('does not return true or false');
  },
);

test('a pattern that is meant to take long does not', () => {
  const path = `${'a/'.repeat(8_000)}${'a'.repeat(3_000)}`; // longer than the time limit of a test
  const say = (glob: string): Match =>
    matchCall({ tool: 't', behavior: 'deny', when: { path: { glob } } }, 't', { path });
  expect(['**/'.repeat(300), `${'**/'.repeat(300)}b`, '*a'.repeat(400)].map(say)).toEqual([
    'yes',
    'no',
    'no',
  ]);
});
