// Runs the tests from source, never from dist.

import { defineConfig } from 'vitest/config';

const SOURCE = 'troupe:source';

export default defineConfig({
  resolve: { conditions: [SOURCE, 'node', 'module'] },
  ssr: { resolve: { conditions: [SOURCE, 'node', 'module'], externalConditions: [SOURCE, 'node'] } },
  test: {
    include: ['packages/**/*.test.ts', 'tools/**/*.test.ts', 'examples/**/*.test.ts'],
    exclude: ['**/node_modules/**', '**/dist/**', '**/.dist-*/**'],
    globalSetup: ['tools/left-out.ts'],
    env: { TROUPE_LOG: 'silent' }, // tests of warnings set a logger of their own
    pool: 'forks',
    maxWorkers: '100%', // one process for each core: no test measures time, and memory is counted in each process
    testTimeout: 30_000, // a busy machine is no failure
    // Heap tests call gc(). The condition is for what Node itself imports, past Vite.
    execArgv: ['--expose-gc', `--conditions=${SOURCE}`],
  },
});
