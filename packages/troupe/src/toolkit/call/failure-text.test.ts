import { expect, test } from 'vitest';

import { DeadlineError } from '../../util/async/deadline.ts';
import { failureOf } from './failure-text.ts';

class Silent {
  get message(): string {
    throw new Error('no');
  }
}

const { proxy, revoke } = Proxy.revocable({}, {});
revoke();

test.each([
  ['an error', new Error('first line\nsecond line'), 'Error: first line\nsecond line'],
  ['an error without a message', new TypeError(), 'Error: TypeError'],
  ['text', 'out of paper', 'Error: out of paper'],
  ['an object with a message', { message: 'busy' }, 'Error: busy'],
  ['null', null, 'Error: The tool threw null.'],
  ['nothing', undefined, 'Error: The tool threw undefined.'],
  ['a number', 404, 'Error: 404'],
  ['a symbol', Symbol('x'), 'Error: The tool threw a symbol.'],
  ['empty text', '', 'Error: The tool threw a string.'],
  ['an object', { code: 1 }, 'Error: The tool threw an object.'],
  ['a message that is none', { message: 7 }, 'Error: The tool threw an object.'],
  ['a message that throws', new Silent(), 'Error: The tool threw something that can not be read.'],
  ['a revoked proxy', proxy, 'Error: The tool threw something that can not be read.'],
  ['a deadline', new DeadlineError(1500), 'TimeoutError: The tool gave no result within 1.5 s.'],
])('%s', (_, thrown, output) => {
  expect(failureOf(thrown)).toEqual({ output, status: 'error' });
});

test('a toString is not called', () => {
  let calls = 0;
  const thrown = {
    toString() {
      calls++;
      throw new Error('x');
    },
  };
  expect(failureOf(thrown).output).toBe('Error: The tool threw an object.');
  expect(calls).toBe(0);
});

test('a huge message is cut, with its size', () => {
  expect(failureOf(new Error('x'.repeat(1_000_000))).output).toBe(
    `Error: ${'x'.repeat(4000)}… (1000000 characters)`,
  );
});

test('the text has no stack', () => {
  expect(failureOf(new Error('boom')).output).not.toContain('failure-text');
});
