import { describe, expect, test } from 'vitest';

import { canRunExamples, runExample } from '../run-example.ts';

describe.runIf(canRunExamples)('the chat', () => {
  test('answers every line that is piped in, and ends well at the end of the input', async () => {
    const { output, errors, code } = await runExample('chat', 'What is 12 * (3 + 4)?\n\nRead package.json\n');
    expect([errors, code]).toEqual(['', 0]);
    expect(output).toMatch(/^Troupe: .*offline/);
    expect(output).toContain('assistant: calculate says: 84');
    expect(output).toContain('"name": "troupe-repository"');
  });

  test('leaves at /exit', async () => {
    const { output, code } = await runExample('chat', '/exit\nWhat is 1 + 1?\n');
    expect(code).toBe(0);
    expect(output).not.toContain('assistant');
  });
});
