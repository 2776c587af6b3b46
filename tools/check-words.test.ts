import { describe, expect, test } from 'vitest';
import {
  medianOf,
  problemOf,
  problemOfTitle,
  pronounShare,
  readDocComments,
  readLineComments,
  readTitles,
} from './check-words.ts';

describe('doc comments', () => {
  test('are read without code, tags of examples and line marks', () => {
    const source = `
/** Limits \`it\` to that. */
const a = 1; // What is this?
/**
 * Two lines
 * of text.
 * @example
 * what();
 */`;
    expect(readDocComments(source)).toEqual([
      { line: 2, text: 'Limits X to that.' },
      { line: 4, text: 'Two lines of text.' },
    ]);
  });

  test.each([
    ['What is told of it while it happens.', 'begins with "What": begin with the thing or the verb'],
    ['So many model messages may be empty.', 'begins with "So many": begin with the thing or the verb'],
    ['How events are told apart.', 'begins with "How": begin with the thing or the verb'],
    ['Grants nothing, and gives the desk a task.', 'says "desk": see the glossary in CONTRIBUTING.md'],
    ['Says that it is one that they wait for.', 'has 44 % pronouns: name the subject'],
  ])('%j is reported', (text, problem) => {
    expect(problemOf(text)).toBe(problem);
  });

  test.each([
    'Maximum consecutive empty model messages before the reply ends with an error.',
    'Pauses the time budget while a tool call is pending.',
    'Whether the tool call runs in the background.',
    'Not it.',
  ])('%j is fine', (text) => {
    expect(problemOf(text)).toBe(undefined);
  });

  test('are measured by the share of pronouns', () => {
    expect(pronounShare('Says that it waits.')).toBe(0.5);
    expect(pronounShare('')).toBe(0);
    expect(medianOf([0.5, 0, 0.1])).toBe(0.1);
  });
});

test('line comments are read, those in a row as one, and none from texts and doc comments', () => {
  const source = `
const a = 1; // first
// second
// and third
const b = 'x // no';
/** see // neither */
  // \`code\` here`;
  expect(readLineComments(source)).toEqual([
    { line: 2, text: 'first' },
    { line: 3, text: 'second and third' },
    { line: 7, text: 'X here' },
  ]);
});

describe('test titles', () => {
  test('are read from tests, groups and behind tables', () => {
    const source = `
describe('a tool', () => {
  test("that fails", () => {
    say('what it is', 1);
  });
  test.each([1, 2])('gives %d', (n) => {});
});
test.each([
  ['a'],
])(
  'it\\'s %s',
  () => {},
);`;
    expect(readTitles(source)).toEqual([
      { line: 2, text: 'a tool' },
      { line: 3, text: 'that fails' },
      { line: 6, text: 'gives %d' },
      { line: 10, text: "it\\'s %s" },
    ]);
  });

  test.each([
    ['what was said is kept', 'begins with "what": begin with the thing or the verb'],
    ['who leaves is forgotten', 'begins with "who": begin with the thing or the verb'],
    ['one that hangs is left', 'begins with "one that": begin with the thing or the verb'],
    ['the lane is free', 'says "lane": see the glossary in CONTRIBUTING.md'],
    ['that fails is reported', undefined],
    ['an interrupt stops a tool', undefined],
  ])('%j has the problem %j', (title, problem) => {
    expect(problemOfTitle(title)).toBe(problem);
  });
});
