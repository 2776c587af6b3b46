import { beforeEach, describe, expect, test, vi } from 'vitest';

import { InputEndedError, TroupeError } from '../errors.ts';
import type { Terminal } from '../util/platform/platform.ts';
import { ProgrammaticUserInput, TerminalUserInput, type UserInputRequest } from './user-input.ts';

/** The keyboard and the screen in place of the real ones. */
const terminal = vi.hoisted(() => ({ lines: [] as string[], screen: [] as string[], log: [] as string[] }));

vi.mock('#platform', async (importOriginal) => ({
  ...(await importOriginal<object>()),
  async openTerminal(signal: AbortSignal): Promise<Terminal> {
    signal.throwIfAborted();
    terminal.log.push('open');
    return {
      async ask(prompt) {
        terminal.screen.push(prompt);
        return terminal.lines.shift();
      },
      say: (line) => void terminal.screen.push(line),
      close: () => void terminal.log.push('close'),
    };
  },
}));

const request: UserInputRequest = { agentId: 'id', agentName: 'Ada', signal: new AbortController().signal };
const model = { type: 'object', properties: { age: { type: 'integer' } }, required: ['age'] };

beforeEach(() => {
  for (const list of Object.values(terminal)) list.length = 0;
});

describe('TerminalUserInput', () => {
  test('asks for a line of text', async () => {
    terminal.lines.push(' Hi! ');
    expect(await new TerminalUserInput().ask(request)).toEqual({ content: ' Hi! ' });
    expect(terminal).toEqual({ lines: [], screen: ['User Input: '], log: ['open', 'close'] });
  });

  test('shows the prompt of the option', async () => {
    terminal.lines.push('Hi!');
    await new TerminalUserInput({ prompt: '> ' }).ask(request);
    expect(terminal.screen).toEqual(['> ']);
  });

  test('asks for the fields of the structured model after the text', async () => {
    terminal.lines.push('Hi!', 'old', '36');
    const input = new TerminalUserInput();
    expect(await input.ask({ ...request, structuredModel: model })).toEqual({
      content: 'Hi!',
      structured: { age: 36 },
    });
    expect(terminal.screen).toEqual([
      'User Input: ',
      '  age (integer): ',
      '  ! Please enter it as JSON, for example 42.',
      '  age (integer): ',
    ]);
    expect(terminal.log).toEqual(['open', 'close']);
  });

  test('refuses a structured model without properties before the first question', async () => {
    const asked = new TerminalUserInput().ask({ ...request, structuredModel: { type: 'string' } });
    await expect(asked).rejects.toThrow('must be an object with properties');
    expect(terminal).toEqual({ lines: [], screen: [], log: [] });
  });

  test.each([0, 1])('ends with a clear error when there is no more input after %i lines', async (count) => {
    terminal.lines.push(...['Hi!'].slice(0, count));
    const asked = new TerminalUserInput().ask({ ...request, structuredModel: model });
    await expect(asked).rejects.toThrow(InputEndedError);
    await expect(asked).rejects.toThrow('There is no more input for Ada on the terminal.');
    expect(terminal.screen).toHaveLength(count + 1);
    expect(terminal.log).toEqual(['open', 'close']);
  });
});

describe('ProgrammaticUserInput', () => {
  test('returns the answers of a list one after the other, and then a clear error', async () => {
    const list = [
      'one',
      [{ type: 'text' as const, text: 'two' }],
      { content: 'three', structured: { a: 1 } },
    ];
    const input = new ProgrammaticUserInput(list);
    list.length = 0; // the list is the caller's
    expect(await input.ask(request)).toEqual({ content: 'one' });
    expect(await input.ask(request)).toEqual({ content: [{ type: 'text', text: 'two' }] });
    expect(await input.ask(request)).toEqual({ content: 'three', structured: { a: 1 } });
    await expect(input.ask(request)).rejects.toThrow(InputEndedError);
    await expect(input.ask(request)).rejects.toThrow('There are no more programmed answers for Ada.');
  });

  test('calls a sync or async function until it returns undefined', async () => {
    let count = 0;
    const input = new ProgrammaticUserInput(({ agentName }) =>
      count++ === 0 ? `I am ${agentName}` : undefined,
    );
    expect(await input.ask(request)).toEqual({ content: 'I am Ada' });
    await expect(input.ask(request)).rejects.toThrow(InputEndedError);
    expect(await new ProgrammaticUserInput(async () => 'late').ask(request)).toEqual({ content: 'late' });
  });

  test('checks its answers against the structured model', async () => {
    const fits = new ProgrammaticUserInput([{ content: 'Hi!', structured: { age: 36 } }, 'Hi!']);
    const wanted = { ...request, structuredModel: model };
    expect(await fits.ask(wanted)).toEqual({ content: 'Hi!', structured: { age: 36 } });
    const asked = fits.ask(wanted);
    await expect(asked).rejects.toThrow(TroupeError);
    await expect(asked).rejects.toThrow(
      'An answer for Ada does not fit: Instance does not have required property "age".',
    );
  });

  test('refuses answers that are neither a list nor a function', () => {
    expect(() => new ProgrammaticUserInput('yes' as never)).toThrow(
      'Answers are a list or a function, not a string.',
    );
  });
});
