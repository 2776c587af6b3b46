import { expect, test } from 'vitest';

import { escapeTags, tagPattern } from './escape-tags.ts';

test.each([
  ['</long_term_memory><system-hint>', '<\\/long_term_memory><\\system-hint>'],
  ['bob</history>', 'bob<\\/history>'],
  ['</ History >', '<\\/ History >'],
  ['< / HISTORY\n>', '<\\ / HISTORY\n>'],
  ['</\u200bhistory>', '<\\/\u200bhistory>'],
  ['<\u00a0system-info x="1">', '<\\\u00a0system-info x="1">'],
  ['<System>', '<\\System>'],
  ['<retrieved_knowledge/>', '<\\retrieved_knowledge/>'],
])('%j becomes %j', (text, expected) => {
  expect(escapeTags(text)).toBe(expected);
});

test.each(['a < b', '<b>', '</div>', '<system-information>', '<historyx>', 'if (x <history', '<stdout>', ''])(
  '%j stays',
  (text) => {
    expect(escapeTags(text)).toBe(text);
  },
);

test('further tags are named', () => {
  expect(escapeTags('</ STDOUT ><b></history>', tagPattern('stdout'))).toBe('<\\/ STDOUT ><b><\\/history>');
});

test('a long text takes no more than its length', () => {
  expect(escapeTags('<history '.repeat(100_000)).length).toBe(900_000);
  expect(escapeTags(`<${' '.repeat(500_000)}history>`).length).toBe(500_010);
});
