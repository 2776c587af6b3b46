import { expect, test } from 'vitest';

import { HELP, readInput, type ChatInput } from './commands.ts';

const answer = (text: string | undefined): ChatInput => ({ kind: 'command', answer: text });
const unknown = (command: string): ChatInput => answer(`There is no command ${command}. See /help.`);

test.each<[string, ChatInput]>([
  ['/help', answer(HELP)],
  [' /HELP me ', answer(HELP)],
  ['/exit', answer(undefined)],
  ['/quit', answer(undefined)],
  ['/hepl', unknown('/hepl')],
  ['/', unknown('/')],
  ['Hello!', { kind: 'message' }],
  ['', { kind: 'message' }],
  ['/etc/hosts: what is it?', { kind: 'message' }],
  ['/exit\nand more', { kind: 'message' }],
  ['What does /help do?', { kind: 'message' }],
])('%j', (text, expected) => {
  expect(readInput(text)).toEqual(expected);
});
