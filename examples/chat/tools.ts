import { open, readdir, realpath, stat } from 'node:fs/promises';
import { isAbsolute, relative, resolve, sep } from 'node:path';

import type { JsonObject, JsonSchema, ToolSchema } from 'troupe';

import { evaluate } from './expression.ts';

/** A plain function with a schema. What it throws is told to the model. */
export interface Tool extends ToolSchema {
  run(input: JsonObject, signal: AbortSignal): string | Promise<string>;
}

const MAX_FILES = 200;
const MAX_BYTES = 8_000;

export const calculate: Tool = {
  name: 'calculate',
  description: 'Works out an arithmetic expression, e.g. 12 * (3 + 4).',
  parameters: params({ expression: 'The expression.' }),
  run: (input) => String(evaluate(text(input, 'expression'))),
};

export const currentTime: Tool = {
  name: 'current_time',
  description: 'The time and the date now, here or in a time zone.',
  parameters: params({ timezone: 'E.g. Europe/Berlin.' }, []),
  run(input) {
    const zone = input['timezone'] === undefined ? {} : { timeZone: text(input, 'timezone') };
    return new Date().toLocaleString('en-GB', { dateStyle: 'full', timeStyle: 'long', ...zone });
  },
};

/** Tools that see the files in a folder and below it, but no hidden ones and nothing else. */
export function fileTools(root: string): readonly Tool[] {
  return [
    {
      name: 'list_files',
      description: 'Lists the files of a folder.',
      parameters: params({ folder: 'The folder; the current one by default.' }, []),
      async run(input) {
        const folder = input['folder'] === undefined ? '.' : text(input, 'folder');
        const entries = await readdir(await pathInside(root, folder), { withFileTypes: true });
        const names = entries
          .filter((entry) => !entry.name.startsWith('.'))
          .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
          .sort();
        const others = names.length - MAX_FILES;
        return [...names.slice(0, MAX_FILES), ...(others > 0 ? [`… and ${others} more`] : [])].join('\n');
      },
    },
    {
      name: 'read_file',
      description: 'Reads a text file.',
      parameters: params({ path: 'The path of the file.' }),
      run: async (input) => readStart(await pathInside(root, text(input, 'path'))),
    },
  ];
}

/** The real path of something in the folder. What is hidden, outside or behind a link to outside is not there. */
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

/** The schema of parameters that are all strings. */
function params(descriptions: Record<string, string>, required = Object.keys(descriptions)): JsonSchema {
  const entries = Object.entries(descriptions).map(([name, description]) => [
    name,
    { type: 'string', description },
  ]);
  return { type: 'object', properties: Object.fromEntries(entries) as JsonObject, required };
}

/** A model may send anything. */
function text(input: JsonObject, name: string): string {
  const value = input[name];
  if (typeof value !== 'string') throw new Error(`'${name}' must be a string.`);
  return value;
}
