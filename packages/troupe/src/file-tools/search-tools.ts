import type { FileMatches } from '../filesystem/file-search.ts';
import type { Tool } from '../toolkit/tool/tool.ts';
import { argsOf, flag, pathIn, text, type FileToolSettings } from './file-args.ts';

const MAX_LINE_CHARS = 500;

interface GlobArgs {
  readonly pattern: string;
  readonly path?: string;
}

interface GrepArgs extends GlobArgs {
  readonly include?: string;
  readonly ignore_case?: boolean;
}

export function globTool({ handle, skipFolders, maxMatches }: FileToolSettings): Tool<GlobArgs> {
  return {
    name: 'glob',
    description:
      'Finds files by their names: * and ? stand for characters, ** for any number of folders, {a,b} for either.',
    schema: argsOf(
      {
        pattern: text('For example **/*.ts'),
        path: pathIn(handle, 'the folder to begin in; all if it is left out'),
      },
      'path',
    ),
    readOnly: true,
    async execute({ pattern, path }, { signal }) {
      const found = await handle.glob(pattern, { path, skipFolders, maxMatches, signal });
      return listOf(found, found.matches, 'No files found.');
    },
  };
}

export function grepTool({ handle, skipFolders, maxMatches }: FileToolSettings): Tool<GrepArgs> {
  return {
    name: 'grep',
    description:
      'Finds lines in text files by a regular expression, without lookarounds and back-references.',
    schema: argsOf(
      {
        pattern: text('For example class \\w+Tool'),
        path: pathIn(handle, 'the file or folder to look in; all if it is left out'),
        include: text('Which files to look at, such as *.ts'),
        ignore_case: flag('Whether capital letters are the same as small ones.'),
      },
      'path',
      'include',
    ),
    readOnly: true,
    async execute({ pattern, path, include, ignore_case: ignoreCase }, { signal }) {
      const options = { path, include, ignoreCase, skipFolders, maxMatches, signal };
      const found = await handle.grep(pattern, options);
      const lines = found.matches.map(({ path, line, text }) => `${path}:${line}: ${cut(text)}`);
      return listOf(found, lines, 'No lines found.');
    },
  };
}

function listOf({ isComplete }: FileMatches<unknown>, lines: readonly string[], none: string): string {
  const note = 'There may be more: this is as far as one search goes. Be more specific.';
  return [...(lines.length === 0 ? [none] : lines), ...(isComplete ? [] : [`(${note})`])].join('\n');
}

function cut(line: string): string {
  return line.length > MAX_LINE_CHARS ? `${line.slice(0, MAX_LINE_CHARS).toWellFormed()}…` : line;
}
