// Runs the program as `npm start` does: by Node itself, from dist. `npm test` has built that; without it there is nothing to run.

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
const isNodeNewEnough = major > 22 || (major === 22 && minor >= 13);
const isBuilt = existsSync(join(ROOT, 'packages/troupe/dist/index.js'));

/** What the chat prints when these lines are piped into it. */
function chat(...lines: readonly string[]): { output: string; errors: string; code: number | null } {
  const flags = ['--experimental-strip-types', '--disable-warning=ExperimentalWarning'];
  const { stdout, stderr, status } = spawnSync(process.execPath, [...flags, 'examples/chat/main.ts'], {
    cwd: ROOT,
    input: lines.map((line) => `${line}\n`).join(''),
    encoding: 'utf8',
    timeout: 20_000,
    env: { PATH: process.env['PATH'], OLLAMA_HOST: '127.0.0.1:1' }, // without keys, and without a local model
  });
  return { output: stdout, errors: stderr, code: status };
}

describe.runIf(isNodeNewEnough && isBuilt)('the chat', () => {
  test('answers every line that is piped in, and ends well at the end of the input', () => {
    const { output, errors, code } = chat('What is 12 * (3 + 4)?', '', 'Read package.json');
    expect([errors, code]).toEqual(['', 0]);
    expect(output).toMatch(/^Troupe: .*offline/);
    expect(output).toContain('assistant: calculate says: 84');
    expect(output).toContain('"name": "troupe-repository"');
  });

  test('leaves at /exit', () => {
    const { output, code } = chat('/exit', 'What is 1 + 1?');
    expect(code).toBe(0);
    expect(output).not.toContain('assistant');
  });
});
