// Runs the test files that have long drivers, with all of their cases: `npm run test:long`.
// @ts-check

import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PACKAGES = join(ROOT, 'packages');

const files = readdirSync(PACKAGES, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !/(^|[\\/])(node_modules|dist)[\\/]/.test(file))
  .map((file) => ({ file: join('packages', file), text: readFileSync(join(PACKAGES, file), 'utf8') }));
const usesSamples = (/** @type {string} */ text) => /from '[^']*\/(?:fair-sample|wire-suite)\.ts'/.test(text);
const long = files.filter(({ file, text }) => file.endsWith('.test.ts') && usesSamples(text));

const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
const args = [...process.execArgv, vitest, 'run', ...long.map(({ file }) => file), ...process.argv.slice(2)];
const { status } = spawnSync(process.execPath, args, {
  cwd: ROOT,
  stdio: 'inherit',
  env: { ...process.env, TROUPE_TEST_LONG: '1' },
});
process.exitCode = status ?? 1;
