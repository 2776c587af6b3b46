// Prints "N passed, N failed" from vitest's JSON results: count-tests.mjs <results file> <exit code of vitest>.
// A test file that does not load counts as a failure, and so does any other reason for vitest to fail.
// @ts-check

import { existsSync, readFileSync } from 'node:fs';

const [file = '', exitCode = '1'] = process.argv.slice(2);

/** @type {{ status: string, assertionResults: { status: string }[] }[]} */
const files = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).testResults : [];
const count = (/** @type {string} */ status) =>
  files.flatMap((one) => one.assertionResults).filter((test) => test.status === status).length;
const brokenFiles = files.filter(
  (one) => one.status === 'failed' && !one.assertionResults.some((test) => test.status === 'failed'),
);

const failed = count('failed') + brokenFiles.length;
console.log(`${count('passed')} passed, ${exitCode === '0' ? failed : Math.max(failed, 1)} failed`);
