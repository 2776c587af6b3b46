import { expect, test } from 'vitest';

import { isInside, isWholeTree, riskOf } from './risky-paths.ts';
import { UNKNOWN } from './shell-word.ts';

test.each([
  '.ssh',
  '~/.ssh/id_rsa',
  '/home/a/.SSH',
  'a/.git/config',
  '.env',
  '.env.local',
  'packages/x/.env',
  '--file=.env',
  'HEAD:.env',
  'a,.bashrc',
  '-f.env',
  '@.env',
  '.e*',
  '.*',
  '.[e]nv',
  '.en?',
  `${UNKNOWN}.ssh`,
  `.s${UNKNOWN}h`,
  '{.ssh,x}',
  '.{ssh,x}',
  '{~/.ss,x}h',
  '/etc/passwd',
  '/usr/../etc/shadow',
  '../../etc/shadow',
  '/./proc/self/environ',
  '/proc/self/root/etc/shadow',
  '~/.git-credentials',
  '.g\u200bit/hooks/x',
  '.yarnrc.yml',
  'a/.git./hooks',
  'a/.git . /hooks',
  'a/GIT~1/hooks',
  'a*'.repeat(60),
  '/etc/sudoers.d/x',
  '/proc/self/environ',
  '/dev/sda',
  '/dev/tcp/host/80',
  'data/approval-key',
  'agents.db.approval-key',
  '*.approval-key',
  '*-key',
])('%j is risky', (text) => {
  expect(riskOf(text)).toEqual(expect.any(String));
});

test.each([
  'src/a.ts',
  '.github/x.yml',
  '.gitignore',
  'env',
  'environment',
  'passwd',
  '*',
  '*.md',
  UNKNOWN,
  '-',
  '.',
  '..',
  '/dev/null',
  'a.env.ts',
  'vite.config.ts',
  '{a,b}.ts',
])('%j is not', (text) => {
  expect(riskOf(text)).toBeUndefined();
});

test.each([
  '/',
  '//',
  '/.',
  '/*',
  '/etc',
  '/usr/',
  '/home/ann',
  '/Users/ann/',
  '/home/ann/*',
  '~',
  '~/',
  '~/*',
  '~ann',
  '.',
  './',
  './*',
  '*',
  '..',
  '../x',
  'a/../..',
  '/w',
  '/w/p',
  '/w/p/',
  '/w/p/*',
  '',
])('%j is a whole tree', (text) => {
  expect(isWholeTree(text, ['/w/p'])).toBe(true);
});

test.each(['a', 'a/*', '/tmp/x', '/w/p/x', '/w/q', '~/x', './x', '/home/ann/x'])('%j is not one', (text) => {
  expect(isWholeTree(text, ['/w/p'])).toBe(false);
});

test.each([
  ['a', '/w', true],
  ['./a/b', '/w', true],
  ['/w/a', undefined, true],
  ['src/*.ts', '/w', true],
  ['a', undefined, false],
  ['a', '/other', false],
  ['/w', undefined, false],
  ['.', '/w', false],
  ['', '/w', false],
  ['/wx/a', undefined, false],
  ['../w/a', '/w', false],
  ['a/../../x', '/w', false],
  ['a/.*', '/w', false],
  ['~/a', '/w', false],
  [`${UNKNOWN}/a`, '/w', false],
  ['{a,/etc/x}', '/w', false],
  ['/etc/a', '/w', false],
])('%j from %j on is inside of /w: %j', (text, base, isIt) => {
  expect(isInside(text, ['/w'], base)).toBe(isIt);
});
