import { describe, expect, test } from 'vitest';
import {
  AgentBusyError,
  AgentClosedError,
  HookError,
  InterruptedError,
  InvalidMsgError,
  messageOf,
  StateError,
  TroupeError,
} from './errors.ts';

test.each<[TroupeError, string, string, string]>([
  [new TroupeError('invalid_config', 'a'), 'TroupeError', 'invalid_config', 'a'],
  [new InvalidMsgError('a'), 'InvalidMsgError', 'invalid_msg', 'a'],
  [
    new AgentBusyError('Ann', 'Wait.'),
    'AgentBusyError',
    'agent_busy',
    'Ann is busy with another call. Wait.',
  ],
  [
    new AgentClosedError('Ann'),
    'AgentClosedError',
    'agent_closed',
    'Ann was disposed of and takes no more calls. Make a new agent.',
  ],
  [new InterruptedError('Ann', 'user'), 'InterruptedError', 'interrupted', 'Ann was interrupted.'],
  [
    new HookError('preReply', 'a', 'failed: b'),
    'HookError',
    'hook_failed',
    "The preReply hook 'a' failed: b",
  ],
  [new StateError('A.b', 'is missing.'), 'StateError', 'invalid_state', 'Invalid state: A.b is missing.'],
])('%s says what it is', (error, name, code, message) => {
  expect(error).toBeInstanceOf(TroupeError);
  expect([error.name, error.code, error.message, String(error)]).toEqual([
    name,
    code,
    message,
    `${name}: ${message}`,
  ]);
});

test('errors of another copy of the package are recognised, and nothing else is', () => {
  const foreign = Object.assign(new Error('a'), { [Symbol.for('troupe.error')]: true });
  expect(TroupeError.isInstance(foreign)).toBe(true);
  expect(TroupeError.isInstance(new InvalidMsgError('a'))).toBe(true);
  for (const other of [new Error('a'), null, undefined, 'a', {}])
    expect(TroupeError.isInstance(other)).toBe(false);
});

describe('messageOf', () => {
  class Hostile extends Error {
    override get message(): string {
      throw new Error('looked at');
    }
  }
  const odd = Object.assign(new Error('a'), { message: { toString: () => 'odd' } });

  test.each<[string, unknown, string]>([
    ['an error', new Error('broken'), 'broken'],
    ['an error without a message', new RangeError(), 'RangeError'],
    ['text', 'broken', 'broken'],
    ['nothing', undefined, 'undefined'],
    ['null', null, 'null'],
    ['an object', { a: 1 }, '[object Object]'],
    ['an object without a prototype', Object.create(null), 'an error without a message'],
    [
      'an object whose toString throws',
      {
        toString: () => {
          throw new Error('x');
        },
      },
      'an error without a message',
    ],
    ['an error whose message throws', new Hostile(), 'an error without a message'],
    ['an error whose message is no text', odd, 'odd'],
    ['a symbol', Symbol('a'), 'Symbol(a)'],
    ['several lines', new Error('a\n  b\t\tc\u2028d'), 'a b c d'],
    ['300 characters', 'x'.repeat(300), 'x'.repeat(300)],
    ['301 characters', 'x'.repeat(301), `${'x'.repeat(300)}…`],
    ['a megabyte', new Error('x'.repeat(1_000_000)), `${'x'.repeat(300)}…`],
  ])('of %s', (_, thrown, text) => {
    expect(messageOf(thrown)).toBe(text);
  });
});

test('an error as JSON has its message, its fields and nothing hidden', () => {
  const cause = new Error('secret');
  const error = new HookError('preReply', 'a', 'failed: b', { cause });
  expect(JSON.parse(JSON.stringify({ error }))).toEqual({
    error: {
      name: 'HookError',
      code: 'hook_failed',
      message: "The preReply hook 'a' failed: b",
      hookType: 'preReply',
      hookName: 'a',
    },
  });
});
