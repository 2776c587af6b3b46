// Runs the tests from source, never from dist.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { defineConfig } from 'vitest/config';

const SOURCE = 'troupe:source';
const ROOT = import.meta.dirname;
const FOLDERS = ['packages', 'tools', 'examples'];
const TESTS = FOLDERS.map((folder) => `${folder}/**/*.test.ts`);
const NO_TESTS = ['**/node_modules/**', '**/dist/**', '**/.dist-*/**'];

/**
 * Found in the text of test files that need a process of their own: they count work or memory, replace modules, change a prototype, or
 * connect the whole process to a Studio. All others share one process for each core, which saves half of the time: a module is loaded
 * once. Tests of the library and tests of what uses it do not share one, because some look at all open handles of their process.
 */
const NEEDS_OWN_PROCESS =
  /counted-work\.ts'|\bcreateHook\(|\bvi\.(?:mock|doMock|resetModules)\(|\bgc\b|memoryUsage|freeze\(Object\.prototype|\binit\(\{|\/\/ Needs its own process/;
const alone = FOLDERS.flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((file) => `${folder}/${file}`),
).filter(
  (file) =>
    file.endsWith('.test.ts') &&
    !file.includes('/node_modules/') &&
    NEEDS_OWN_PROCESS.test(readFileSync(join(ROOT, file), 'utf8')),
);
const LIBRARY = 'packages/troupe/**/*.test.ts';

export default defineConfig({
  resolve: { conditions: [SOURCE, 'node', 'module'] },
  ssr: { resolve: { conditions: [SOURCE, 'node', 'module'], externalConditions: [SOURCE, 'node'] } },
  test: {
    globalSetup: ['tools/left-out.ts'],
    env: {
      TROUPE_LOG: 'silent', // tests of warnings set a logger of their own
      NODE_COMPILE_CACHE: join(ROOT, '.cache/compiled'), // programs that tests start load the sources three times as fast
    },
    pool: 'forks',
    maxWorkers: '100%', // one process for each core: no test measures time, and memory is counted in each process
    testTimeout: 30_000, // a busy machine is no failure
    retry: process.env['CI'] ? 1 : 0, // in CI, a failed test runs once more: tests of browsers and processes have rare races
    // Heap tests call gc(). The condition is for what Node itself imports, past Vite.
    execArgv: ['--expose-gc', `--conditions=${SOURCE}`],
    projects: [
      { extends: true, test: { name: 'alone', include: alone, exclude: NO_TESTS } },
      {
        extends: true,
        test: { name: 'shared', isolate: false, include: [LIBRARY], exclude: [...NO_TESTS, ...alone] },
      },
      {
        extends: true,
        test: { name: 'users', isolate: false, include: TESTS, exclude: [...NO_TESTS, LIBRARY, ...alone] },
      },
    ],
  },
});
