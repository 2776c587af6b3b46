import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

import { findHidden } from './find-hidden.ts';

let base = '';
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'troupe-hidden-'));
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
  const found = await findHidden([String(one), String(other), `${one}/a/file`, `${base}/missing`]);
  expect({ ...found, paths: found.paths.toSorted() }).toEqual({
    paths: [`${one}/a/b/.q`, `${one}/p`, `${other}/r`],
    isComplete: true,
  });
});

test('keys of saved approvals are found, also those of databases and what a killed program left of one', async () => {
  const keys = ['approval-key', 'my.db.approval-key', 'x/approval-key.a1B2.draft', 'x/OTHER.Approval-Key'];
  mkdirSync(join(base, 'x/approval-keys'), { recursive: true });
  for (const name of [...keys, 'approval-key.txt', 'no-approval-key', 'approval-keys', 'x/approval-keys/a'])
    writeFileSync(join(base, name), '');
  symlinkSync('no-approval-key', join(base, 'link.approval-key'));
  const { paths } = await findHidden([base]);
  expect(paths.toSorted()).toEqual(keys.map((name) => join(base, name)).toSorted());
});

test('a search that is given up says so', async () => {
  mkdirSync(join(base, 'a/b'), { recursive: true });
  for (const name of ['1', '2', '3', '4']) writeFileSync(join(base, 'a', name), '');
  expect(await findHidden([base], 3)).toEqual({ paths: [], isComplete: false });
  expect(await findHidden([base], 10)).toEqual({ paths: [], isComplete: true });
});
