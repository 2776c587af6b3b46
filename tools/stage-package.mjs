// Copies the documents that belong into the published package beside its package.json, before `npm pack` reads them,
// and removes the copies afterwards: `node tools/stage-package.mjs <package folder> [--clean]`.
// @ts-check

import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const DOCUMENTS = ['docs', 'examples', 'CHANGELOG.md', 'llms.txt'];
/** Files that only tests and the repository use. Screenshots would be a tenth of the package. */
const UNPACKED = ['node_modules', 'run-example.ts', 'images'];
const IMAGE = /!\[[^\]]*\]\([^)]*\bimages\/[^)]*\)\s*/g;
const [dir = '', flag] = process.argv.slice(2);

for (const name of DOCUMENTS) {
  const copy = join(dir, name);
  rmSync(copy, { recursive: true, force: true });
  const source = join(ROOT, name);
  if (flag === '--clean' || !existsSync(source)) continue;
  cpSync(source, copy, {
    recursive: true,
    filter: (file) => !UNPACKED.includes(basename(file)) && !file.endsWith('.test.ts'),
  });
  if (name === 'docs') leaveImagesOut(copy);
}

/** Removes the images from the pages of a folder. @param {string} folder */
function leaveImagesOut(folder) {
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.md')) continue;
    const text = readFileSync(join(folder, file), 'utf8');
    writeFileSync(join(folder, file), text.replaceAll(IMAGE, ''));
  }
}
