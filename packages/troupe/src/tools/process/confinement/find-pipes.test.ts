import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

import { findPipes } from './find-pipes.ts';

let base = '';
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'troupe-pipes-'));
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const makePipe = (path: string): void => void execFileSync('mkfifo', [path]);

test('pipes are found in all folders, and not behind links', async () => {
  const [one, other, outside] = ['one', 'other', 'outside'].map((name) => join(base, name));
  for (const folder of [`${one}/a/b`, `${other}`, `${outside}`, `${one}/node_modules/x`])
    mkdirSync(folder, { recursive: true });
  for (const path of [`${one}/p`, `${one}/a/b/.q`, `${other}/r`, `${outside}/s`, `${one}/node_modules/x/t`])
    makePipe(path);
  writeFileSync(`${one}/a/file`, '');
  symlinkSync(String(outside), `${one}/link`);
  const found = await findPipes([String(one), String(other), `${one}/a/file`, `${base}/missing`]);
  expect({ ...found, pipes: found.pipes.toSorted() }).toEqual({
    pipes: [`${one}/a/b/.q`, `${one}/p`, `${other}/r`],
    isComplete: true,
  });
});

test('a search that is given up says so', async () => {
  mkdirSync(join(base, 'a/b'), { recursive: true });
  for (const name of ['1', '2', '3', '4']) writeFileSync(join(base, 'a', name), '');
  expect(await findPipes([base], 3)).toEqual({ pipes: [], isComplete: false });
  expect(await findPipes([base], 10)).toEqual({ pipes: [], isComplete: true });
});
