// The logger that a program has without any configuration: a process of its own, because these tests run silently.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';

const FLAGS = ['--no-warnings', '--experimental-transform-types', '--conditions=troupe:source'];
const entry = (file: string): string =>
  JSON.stringify(pathToFileURL(join(import.meta.dirname, '../src', file)).href);

/** Runs a program, and returns the lines that it wrote to standard error, without their times. */
function linesOf(program: string, env: Record<string, string> = {}): readonly string[] {
  const { TROUPE_LOG: _, ...inherited } = process.env;
  const args = [...FLAGS, '--input-type=module', '-e', program];
  const { stdout, stderr, status } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    env: { ...inherited, ...env },
  });
  expect([status, stdout]).toEqual([0, '']);
  return stderr
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.replace(/^\S+Z /, ''));
}

const LOG_ALL = `
  import { getLogger } from ${entry('index.ts')};
  for (const level of ['debug', 'info', 'warn', 'error']) getLogger().log(level, \`a \${level}\\nof two lines\`);
`;

test('warnings and errors go to standard error, one line each', () => {
  expect(linesOf(LOG_ALL)).toEqual(['WARN a warn of two lines', 'ERROR a error of two lines']);
});

test('the environment names another level, or silence', () => {
  expect(linesOf(LOG_ALL, { TROUPE_LOG: 'silent' })).toEqual([]);
  expect(linesOf(LOG_ALL, { TROUPE_LOG: 'error' })).toEqual(['ERROR a error of two lines']);
  expect(linesOf(LOG_ALL, { TROUPE_LOG: 'loud' })).toEqual([
    "WARN TROUPE_LOG is ignored: A log level is one of debug, info, warn, error, silent, not 'loud'.",
    'WARN a warn of two lines',
    'ERROR a error of two lines',
  ]);
});

test('init silences the program', () => {
  const program = `
    import { getLogger, init } from ${entry('index.ts')};
    init({ logging: 'silent' });
    getLogger().log('error', 'nobody reads this');
  `;
  expect(linesOf(program)).toEqual([]);
});

test('a long-term memory that fails leaves a line', () => {
  const program = `
    import { LongTermMemoryBase, ReActAgent } from ${entry('index.ts')};
    import { ScriptedModel } from ${entry('testing/index.ts')};
    class Broken extends LongTermMemoryBase {
      async retrieve() { throw new Error('the service is down'); }
      async record() { throw new Error('the service is down'); }
    }
    const agent = new ReActAgent({
      name: 'Ann', model: new ScriptedModel(['Hello.']), longTermMemory: new Broken(), longTermMemoryMode: 'static_control',
    });
    agent.setConsoleOutputEnabled(false);
    await agent.call('Hi.');
  `;
  const lines = linesOf(program);
  expect(lines.length).toBeGreaterThanOrEqual(1);
  for (const line of lines) expect(line).toMatch(/^WARN .*the service is down/);
});
