import { describe, expect, test } from 'vitest';
import { medianOf, problemOf, pronounShare, readDocComments, readLineComments } from './check-words.ts';

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
