// Runs the tests on real weights, which no other run includes: see tools/local-llm.mjs.

import { defineConfig } from 'vitest/config';

import ordinary from '../../../../vitest.config.ts';

const { projects: _, ...settings } = ordinary.test ?? {}; // each of them would run the files once more

export default defineConfig({
  ...ordinary,
  test: {
    ...settings,
    include: ['packages/troupe/test/local-llm/*.local.ts'],
    testTimeout: 600_000, // the speed of a model depends on the machine
    hookTimeout: 600_000,
  },
});
