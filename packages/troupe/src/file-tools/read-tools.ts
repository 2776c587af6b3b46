import { messageOf } from '../errors.ts';
import type { FileEntry } from '../filesystem/file-system-base.ts';
import { FileSystemError } from '../filesystem/file-system-error.ts';
import type { FileSystemHandle } from '../filesystem/file-system-handle.ts';
import { nameOf } from '../filesystem/logical-path.ts';
import type { Tool } from '../toolkit/tool/tool.ts';
import { ToolResponse } from '../toolkit/tool/tool-response.ts';
import { argsOf, count, flag, pathIn, range, type FileToolSettings } from './file-args.ts';
import { LineRangeError, numbered, resolveRange, view, type LineRange } from './line-view.ts';
import { escapeTags } from '../util/escape-tags.ts';

const MAX_FILES = 20;
/** Reserved characters for the path and two notes around the lines of a file. */
const CHARS_FOR_NOTES = 1500;
const CHARS_FOR_NUMBER = 10;
const NOT_READ = 'Error: not read, as the files before it are long enough for one answer. Read it by itself.';

interface ReadArgs {
  readonly path: string;
  readonly start_line?: number;
  readonly read_lines?: number;
  readonly with_line_numbers?: boolean;
  readonly with_header?: boolean;
}

export function readTextFile({ handle, maxOutputChars }: FileToolSettings): Tool<ReadArgs> {
  return {
    name: 'read_text_file',
    description: 'Reads a text file, or some of its lines.',
    schema: argsOf(
      {
        path: pathIn(handle, 'the file'),
        start_line: count('The first line, counted from 1 on.', 1),
        read_lines: count('How many lines to read; all if it is left out.'),
        with_line_numbers: flag('Whether each line begins with its number.'),
        with_header: flag('Whether the first line tells how many lines there are.'),
      },
      'read_lines',
    ),
    readOnly: true,
    async execute({ path, start_line: start = 1, read_lines, with_line_numbers, with_header }) {
      const { lines, totalLines } = await handle.readLines(path, start, read_lines);
      if (!with_header && start > totalLines && start > 1)
        return `<system-info>${escapeTags(path)} has ${totalLines} lines, so none from ${start} on.</system-info>`;
      const render = (shown: readonly string[]): string => {
        const text = with_line_numbers ? numbered(shown, start) : shown.join('\n');
        if (!with_header) return text;
        const which = shown.length === 0 ? 'no lines' : `lines ${start}-${start + shown.length - 1}`;
        return `[${path}: ${which} of ${totalLines}${with_line_numbers ? ', as "number: text"' : ''}]\n${text}`;
      };
      const all = render(lines);
      const some = lines.slice(0, fitting(lines, maxOutputChars));
      if (all.length <= maxOutputChars || some.length === 0) return all;
      const next = start + some.length;
      const note = `This is as much as fits, up to line ${next - 1} of ${totalLines}. Go on with start_line = ${next}.`;
      return `${render(some)}\n<system-info>${note}</system-info>`;
    },
  };
}

/** Number of lines that fit into a result with line numbers, header and note. */
function fitting(lines: readonly string[], maxChars: number): number {
  let space = maxChars - CHARS_FOR_NOTES;
  const end = lines.findIndex((line) => (space -= line.length + CHARS_FOR_NUMBER) < 0);
  return end < 0 ? lines.length : end;
}

export function readMultipleFiles({
  handle,
  maxOutputChars,
}: FileToolSettings): Tool<{ readonly paths: readonly string[] }> {
  return {
    name: 'read_multiple_files',
    description: 'Reads several text files. A file that can not be read does not keep the others from it.',
    schema: argsOf({
      paths: { type: 'array', items: pathIn(handle, 'a file'), minItems: 1, maxItems: MAX_FILES },
    }),
    readOnly: true,
    async execute({ paths }) {
      const sections: string[] = [];
      let space = maxOutputChars;
      for (const path of paths) {
        const text = space > 0 ? await textOrError(handle, path) : NOT_READ;
        sections.push(`## ${path}\n${text}`);
        space -= text.length;
      }
      return sections.join('\n\n');
    },
  };
}

async function textOrError(handle: FileSystemHandle, path: string): Promise<string> {
  try {
    return (await handle.readLines(path)).lines.join('\n');
  } catch (error) {
    if (FileSystemError.isInstance(error)) return `Error: ${messageOf(error)}`;
    throw error;
  }
}

export function viewTextFile({ handle }: FileToolSettings): Tool<{
  readonly path: string;
  readonly ranges?: LineRange;
}> {
  return {
    name: 'view_text_file',
    description: 'Shows a text file, or some of its lines, with line numbers.',
    schema: argsOf(
      {
        path: pathIn(handle, 'the file'),
        ranges: range(
          'The first and the last line, from 1 on; -1 is the last line of the file. All if it is left out.',
        ),
      },
      'ranges',
    ),
    readOnly: true,
    async execute({ path, ranges = [1, Infinity] }) {
      const { lines, totalLines } = await handle.readLines(path);
      if (totalLines === 0) return view(path, [], 1, 0);
      try {
        const [start, end] = resolveRange(ranges, path, totalLines);
        return view(path, lines.slice(start - 1, end), start, totalLines);
      } catch (error) {
        if (!(error instanceof LineRangeError)) throw error;
        return new ToolResponse(`InvalidArgumentError: ${error.message}`, { status: 'error' });
      }
    },
  };
}

export function listDirectory({ handle }: FileToolSettings): Tool<{ readonly path?: string }> {
  return {
    name: 'list_directory',
    description: 'Lists what lies directly in a folder: first the folders, then the files.',
    schema: argsOf(
      { path: pathIn(handle, 'the folder; if it is left out, the directories that you may use are listed') },
      'path',
    ),
    readOnly: true,
    async execute({ path }) {
      const entries = await handle.list(path);
      const isTop = path === undefined || path === '/';
      const linesOf = (kind: FileEntry['kind'], line: (name: string) => string): string[] =>
        entries
          .filter((entry) => entry.kind === kind)
          .map((entry) => line(isTop ? entry.path : nameOf(entry.path)));
      const lines = [
        ...linesOf('directory', (name) => `[DIR] ${name}/`),
        ...linesOf('file', (name) => `[FILE] ${name}`),
        ...linesOf('other', (name) => `[OTHER] ${name} (can't be used)`),
      ];
      return lines.join('\n') || '<empty>';
    },
  };
}

export function getFileInfo({ handle }: FileToolSettings): Tool<{ readonly path: string }> {
  return {
    name: 'get_file_info',
    description: 'Tells whether something is a file or a folder, and the size and time of a file.',
    schema: argsOf({ path: pathIn(handle, 'the file or folder') }),
    readOnly: true,
    async execute({ path }) {
      return Object.entries(await handle.stat(path))
        .map(([key, value]) => `${key === 'updatedAt' ? 'updated' : key}: ${String(value)}`)
        .join('\n');
    },
  };
}

export function listAllowedDirectories({ handle }: FileToolSettings): Tool {
  return {
    name: 'list_allowed_directories',
    description: 'Lists the directories that you may use.',
    readOnly: true,
    execute: () => handle.allowedDirectories.map(({ path }) => path).join('\n') || '<empty>',
  };
}

export function describePermissions({ handle }: FileToolSettings): Tool {
  return {
    name: 'fs_describe_permissions_markdown',
    description: 'Tells what you may do in which directory.',
    readOnly: true,
    execute: () => handle.describe(),
  };
}
