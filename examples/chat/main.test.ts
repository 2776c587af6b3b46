import { describe, expect, test } from 'vitest';

import { canRunExamples, runExample } from '../run-example.ts';
import { HELP } from './commands.ts';

describe.runIf(canRunExamples)('the chat', () => {
  test('answers every line that is piped in, and ends well at the end of the input', async () => {
    const { output, errors, code } = await runExample('chat', 'What is 12 * (3 + 4)?\n\nRead package.json\n');
    expect([errors, code]).toEqual(['', 0]);
    expect(output).toMatch(/^Troupe: .*offline/);
    expect(output).toContain('assistant: calculate says: 84');
    expect(output).toContain('"name": "troupe-repository"');
  });

  test('answers commands itself, also those that it does not know', async () => {
    const { output, errors, code } = await runExample('chat', '/help\n/hepl\n');
    expect([errors, code]).toEqual(['', 0]);
    const answers = output.slice(output.indexOf('you: '));
    expect(answers).toBe(`you: /help\n${HELP}\nyou: /hepl\nThere is no command /hepl. See /help.\nyou: \n`);
  });

  test('answers a question of the agent, and goes on', async () => {
    const { output, errors, code } = await runExample(
      'chat',
      'Ask me "Which colour?"\nblue\nWhat is 2 * 3?\n',
    );
    expect([errors, code]).toEqual(['', 0]);
    expect(output).toContain('assistant: Which colour?\n  answer: blue\n');
    expect(output).toContain('The user answered: blue');
    expect(output).toContain('calculate says: 6');
  });

  test('ends while a question is open', async () => {
    const { output, errors, code } = await runExample('chat', 'Ask me "Which colour?"\n');
    expect([errors, code]).toEqual(['', 0]);
    expect(output).toContain('  answer: \n');
  });

  test('leaves at /exit', async () => {
    const { output, code } = await runExample('chat', '/exit\nWhat is 1 + 1?\n');
    expect(code).toBe(0);
    expect(output).not.toContain('assistant');
  });
});
