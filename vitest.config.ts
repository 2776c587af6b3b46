// How the tests run: from source, never from dist.

import { defineConfig } from 'vitest/config';

const SOURCE = 'troupe:source';

export default defineConfig({
  resolve: { conditions: [SOURCE, 'node', 'module'] },
  ssr: { resolve: { conditions: [SOURCE, 'node', 'module'], externalConditions: [SOURCE, 'node'] } },
  test: {
    include: ['packages/**/*.test.ts', 'tools/**/*.test.ts', 'examples/**/*.test.ts'],
    exclude: ['**/node_modules/**', '**/dist/**', '**/.dist-*/**'],
    // Processes, and by default one fewer than there are cores: some tests measure time and memory.
    globalSetup: ['tools/left-out.ts'],
    env: { TROUPE_LOG: 'silent' }, // tests of warnings set a logger of their own
    pool: 'forks',
    testTimeout: 30_000, // a busy machine is no failure
    // Heap tests call gc(). The condition is for what Node itself imports, past Vite.
    execArgv: ['--expose-gc', `--conditions=${SOURCE}`],
  },
});
