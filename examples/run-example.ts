// For the tests: runs an example as its reader does, with Node itself and from dist, which `npm test` has
// built.

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/** Folder in which examples run. */
export const EXAMPLES_ROOT = join(import.meta.dirname, '..');
/** Flags of Node for programs in TypeScript. */
export const EXAMPLE_FLAGS = ['--experimental-strip-types', '--disable-warning=ExperimentalWarning'];
/** Environment of an example: no keys and no local model. Node keeps the compiled modules, so that it starts faster. */
export const EXAMPLE_ENV = {
  PATH: process.env['PATH'],
  OLLAMA_HOST: '127.0.0.1:1',
  NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
};
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

/** Whether dist is built and Node is new enough. */
export const canRunExamples =
  (major > 22 || (major === 22 && minor >= 13)) &&
  existsSync(join(EXAMPLES_ROOT, 'packages/troupe/dist/index.js'));

export interface ExampleRun {
  readonly output: string;
  readonly errors: string;
  readonly code: number | null;
}

/** Runs an example to its end, without keys and without a local model. @param input text typed by the user */
export async function runExample(story: string, input = ''): Promise<ExampleRun> {
  const child = spawn(process.execPath, [...EXAMPLE_FLAGS, `examples/${story}/main.ts`], {
    cwd: EXAMPLES_ROOT,
    timeout: 20_000,
    env: EXAMPLE_ENV,
  });
  let output = '';
  let errors = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  child.stdin.on('error', () => {}); // the example may end without reading everything
  child.stdin.end(input);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject).on('close', resolve);
  });
  return { output, errors, code };
}
