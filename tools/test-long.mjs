// Runs the test files that have long drivers, with all of their cases: `npm run test:long`, or one of them by a part of its
// path: `npm run test:long -- session-kill`.
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

const given = process.argv.slice(2);
const wanted = given.filter((arg) => !arg.startsWith('-'));
const options = given.filter((arg) => arg.startsWith('-'));
const chosen = long
  .map(({ file }) => file)
  .filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part)));
if (chosen.length === 0) {
  console.error(`No file with a long driver has '${wanted.join("' or '")}' in its path.`);
  process.exit(1);
}

const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
const args = [...process.execArgv, vitest, 'run', ...chosen, ...options];
const { status } = spawnSync(process.execPath, args, {
  cwd: ROOT,
  stdio: 'inherit',
  env: { ...process.env, TROUPE_TEST_LONG: '1' },
});
process.exitCode = status ?? 1;
