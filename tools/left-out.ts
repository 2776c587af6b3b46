// Vitest's global set-up: prints after all tests what their long drivers have left out, one line for each.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** See packages/troupe/test/fair-sample.ts. */
const LEFT_OUT_FILE = 'TROUPE_TEST_LEFT_OUT';

export default function setup(): () => void {
  const file = join(mkdtempSync(join(tmpdir(), 'troupe-test-')), 'left-out.txt');
  writeFileSync(file, '');
  process.env[LEFT_OUT_FILE] = file;
  return () => {
    const lines = [...new Set(readFileSync(file, 'utf8').split('\n'))].filter((line) => line !== '').sort();
    rmSync(dirname(file), { recursive: true, force: true });
    if (lines.length === 0) return;
    const command =
      process.env['TROUPE_TEST_LONG'] === '1' ? 'TROUPE_TEST_FULL=1 npm run test:long' : 'npm run test:long';
    console.log(`Samples ran of these; \`${command}\` runs them in full:\n  ${lines.join('\n  ')}`);
  };
}
