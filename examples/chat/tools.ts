import { open, readdir, realpath, stat } from 'node:fs/promises';
import { isAbsolute, relative, resolve, sep } from 'node:path';

import { tool, type Tool } from 'troupe';
import { z } from 'zod';

import { evaluate } from './expression.ts';

const MAX_FILES = 200;
const MAX_BYTES = 8_000;

export const calculate = tool({
  name: 'calculate',
  description: 'Works out an arithmetic expression, e.g. 12 * (3 + 4).',
  schema: z.object({ expression: z.string() }),
  readOnly: true,
  execute: ({ expression }) => String(evaluate(expression)),
});

export const currentTime = tool({
  name: 'current_time',
  description: 'The time and the date now, here or in a time zone.',
  schema: z.object({ timezone: z.string().describe('E.g. Europe/Berlin.').optional() }),
  readOnly: true,
  execute: ({ timezone: timeZone }) =>
    new Date().toLocaleString('en-GB', { dateStyle: 'full', timeStyle: 'long', timeZone }),
});

/** Tools for the files in a folder and below, without hidden files. */
export function fileTools(root: string): readonly Tool[] {
  const listFiles = tool({
    name: 'list_files',
    description: 'Lists the files of a folder.',
    schema: z.object({ folder: z.string().describe('The current one by default.').optional() }),
    readOnly: true,
    async execute({ folder = '.' }) {
      const entries = await readdir(await pathInside(root, folder), { withFileTypes: true });
      const names = entries
        .filter((entry) => !entry.name.startsWith('.'))
        .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
        .sort();
      const others = names.length - MAX_FILES;
      return [...names.slice(0, MAX_FILES), ...(others > 0 ? [`… and ${others} more`] : [])].join('\n');
    },
  });
  const readFile = tool({
    name: 'read_file',
    description: 'Reads a text file.',
    schema: z.object({ path: z.string() }),
    readOnly: true,
    execute: async ({ path }) => readStart(await pathInside(root, path)),
  });
  return [listFiles, readFile];
}

/** Real path of a file in the folder. Hidden files, outside files and links to outside count as missing. */
async function pathInside(root: string, path: string): Promise<string> {
  const realRoot = await realpath(root);
  const real = await realpath(resolve(realRoot, path)).catch(() => undefined);
  const below = real === undefined ? '..' : relative(realRoot, real);
  if (real === undefined || isAbsolute(below) || below.split(sep).some((name) => name.startsWith('.'))) {
    throw new Error(`There is no '${path}' in this folder.`);
  }
  return real;
}

async function readStart(path: string): Promise<string> {
  if (!(await stat(path)).isFile()) throw new Error('That is not a file.');
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_BYTES + 1), 0, MAX_BYTES + 1);
    const start = buffer.subarray(0, Math.min(bytesRead, MAX_BYTES));
    if (start.includes(0)) throw new Error('That is not a text file.');
    return start.toString('utf8') + (bytesRead > MAX_BYTES ? `\n… (only the first ${MAX_BYTES} bytes)` : '');
  } finally {
    await file.close();
  }
}
