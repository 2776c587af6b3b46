import { expect, test } from 'vitest';

import { withRunConfig } from '../config/run-config.ts';
import { Msg } from '../message/msg.ts';
import { InMemoryMemory } from './in-memory-memory.ts';
import { markList } from './marks.ts';
import { summaryMsg } from './memory-base.ts';

const TIME = '2026-01-01T00:00:00.000Z';
const hello = Msg.user('Hello', { id: 'a', timestamp: TIME });
const bye = Msg.user('Bye', { id: 'b', timestamp: TIME });

test('the state has the messages, those with marks as pairs, and the summary', async () => {
  const memory = new InMemoryMemory();
  await memory.add(hello);
  await memory.add(bye, { marks: ['x', 'y'] });
  await memory.updateCompressedSummary('Sum.');
  expect(memory.stateDict()).toEqual({
    content: [hello.toJSON(), [bye.toJSON(), ['x', 'y']]],
    compressedSummary: 'Sum.',
  });
});

test('loading replaces all messages', async () => {
  const memory = new InMemoryMemory();
  await memory.add(Msg.user('Of another conversation.'), { marks: 'x' });
  await memory.updateCompressedSummary('Of another conversation.');
  memory.loadStateDict({ content: [hello.toJSON(), [bye.toJSON(), ['y']]], compressedSummary: '' });
  expect(await memory.getMemory()).toEqual([hello, bye]);
  expect(await memory.getMemory({ mark: 'y' })).toEqual([bye]);
  expect(await memory.getMemory({ mark: 'x' })).toEqual([]);
});

test('a state without a summary loads with strict: false, and keeps the current summary', async () => {
  const memory = new InMemoryMemory();
  await memory.updateCompressedSummary('Sum.');
  expect(() => memory.loadStateDict({ content: [hello.toJSON()] })).toThrow('compressedSummary is missing');
  memory.loadStateDict({ content: [hello.toJSON()] }, { strict: false });
  expect((await memory.getMemory()).map(({ text }) => text)).toEqual(['Sum.', 'Hello']);
});

test.each([
  ['a list of something else', [7]],
  ['a pair without a message', [[{}, []]]],
  ['marks that are no texts', [[hello.toJSON(), [7]]]],
  ['marks that are no list', [[hello.toJSON(), { a: 1 }]]],
  ['no list', 'text'],
])('a state with %s is refused, and changes nothing', async (_name, content) => {
  const memory = new InMemoryMemory();
  await memory.add(hello);
  const load = () => memory.loadStateDict({ content, compressedSummary: '' });
  expect(load).toThrow(/^Invalid state: InMemoryMemory\.content was refused: /);
  expect(await memory.getMemory()).toEqual([hello]);
});

test('the state of two messages with one id keeps the later one: it can only have been written by hand', async () => {
  const memory = new InMemoryMemory();
  const content = [hello.toJSON(), hello.with({ content: 'Again' }).toJSON()];
  memory.loadStateDict({ content, compressedSummary: '' });
  expect((await memory.getMemory()).map(({ text }) => text)).toEqual(['Again']);
});

test('an entry is the same object in the state for as long as neither message nor marks change', async () => {
  const memory = new InMemoryMemory();
  await memory.add([hello, bye]);
  const [before] = memory.stateParts().lists;
  await memory.updateMessagesMark({ newMark: 'x', msgIds: ['b'] });
  const [after] = memory.stateParts().lists;
  expect(after?.items[0]).toBe(before?.items[0]);
  expect(after?.items[1]).not.toBe(before?.items[1]);
});

test('a message is the very object that was added', async () => {
  const memory = new InMemoryMemory();
  await memory.add(hello);
  expect((await memory.getMemory())[0]).toBe(hello);
});

test('a summary has the same id each time, and another text another one', () => {
  expect(summaryMsg('One.')).toMatchObject({ role: 'user', content: 'One.', id: summaryMsg('One.').id });
  expect(summaryMsg('Two.').id).not.toBe(summaryMsg('One.').id);
});

test('marks are a frozen list without doubles', () => {
  const marks = markList(['b', 'a', 'b']);
  expect(marks).toEqual(['b', 'a']);
  expect(Object.isFrozen(marks)).toBe(true);
  expect(markList(undefined)).toEqual([]);
  expect(markList('a')).toEqual(['a']);
});

test('another message with a known id is ignored with a warning, the same one without', async () => {
  const lines: string[] = [];
  const logger = { log: (_level: string, line: string) => void lines.push(line) };
  const memory = new InMemoryMemory();
  await withRunConfig({ logging: logger }, () => memory.add([hello, hello, Msg.from(hello.toJSON())]));
  expect(lines).toEqual([]);
  await withRunConfig({ logging: logger }, () => memory.add(Msg.user('Cancel everything', { id: 'a' })));
  expect(lines).toEqual([
    "A message with the id 'a' is in memory already, with another text: the new one is ignored. Give each message an id of its own.",
  ]);
  expect(await memory.getMemory()).toEqual([hello]);
});
