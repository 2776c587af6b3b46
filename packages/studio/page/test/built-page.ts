// The built page, made once for all test files of a run of the tests.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

import { LEFT_OUT_FILE } from '../../../troupe/test/fair-sample.ts';

const ROOT = join(import.meta.dirname, '../../../..');

/** Folder of the built page. */
export const PAGE = join(import.meta.dirname, '../../dist/page');

/** Builds the page, unless another test file of this run has built it or is building it. */
export async function buildPage(): Promise<void> {
  const place = process.env[LEFT_OUT_FILE];
  if (place === undefined) return build();
  const lock = join(dirname(place), 'page');
  const built = join(lock, 'built');
  while (!existsSync(built)) {
    try {
      mkdirSync(lock);
    } catch {
      await wait(100); // another process builds
      continue;
    }
    try {
      build();
    } catch (error) {
      rmSync(lock, { recursive: true });
      throw error;
    }
    writeFileSync(built, '');
  }
}

function build(): void {
  const vite = join(ROOT, 'node_modules/vite/bin/vite.js');
  const config = join(import.meta.dirname, '../vite.config.ts');
  execFileSync(process.execPath, [vite, 'build', '--config', config, '--logLevel', 'error'], {
    cwd: join(import.meta.dirname, '..'),
  });
}
