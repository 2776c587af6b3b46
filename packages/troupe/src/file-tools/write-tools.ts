import { FileSystemError } from '../filesystem/file-system-error.ts';
import type { FileSystemHandle } from '../filesystem/file-system-handle.ts';
import { linesOf, type TextEdit } from '../filesystem/file-text.ts';
import type { Tool } from '../toolkit/tool/tool.ts';
import { ToolResponse } from '../toolkit/tool/tool-response.ts';
import { argsOf, flag, pathIn, range, text, type FileToolSettings } from './file-args.ts';
import { LineRangeError, replaceLines, resolveRange, viewAround, type LineRange } from './line-view.ts';

interface WriteArgs {
  readonly path: string;
  readonly content: string;
}

export function writeFile({ handle }: FileToolSettings): Tool<WriteArgs & { readonly overwrite?: boolean }> {
  return {
    name: 'write_file',
    description: 'Makes a text file, or replaces all of it. Folders on the way are made.',
    schema: argsOf({
      path: pathIn(handle, 'the file'),
      content: text('All of the new text.'),
      overwrite: flag('Whether a file that exists may be replaced.', true),
    }),
    sideEffect: true,
    async execute({ path, content, overwrite = true }) {
      return `wrote ${await handle.write(path, content, { overwrite })} bytes to ${path}`;
    },
  };
}

export function editFile({ handle }: FileToolSettings): Tool<{
  readonly path: string;
  readonly edits: readonly TextEdit[];
}> {
  const edit = {
    type: 'object',
    properties: {
      oldText: text('The text to replace, exactly as in the file. It must occur once, unless all is true.'),
      newText: text('The new text.'),
      all: flag('Replaces every occurrence.'),
    },
    required: ['oldText', 'newText'],
    additionalProperties: false,
  };
  return {
    name: 'edit_file',
    description: 'Replaces texts in a file, one after the other. All of the edits are made, or none.',
    schema: argsOf({ path: pathIn(handle, 'the file'), edits: { type: 'array', items: edit, minItems: 1 } }),
    sideEffect: true,
    async execute({ path, edits }) {
      return `edited ${path} (size=${await handle.edit(path, edits)})`;
    },
  };
}

export function deleteFile({ handle }: FileToolSettings): Tool<{ readonly path: string }> {
  return {
    name: 'delete_file',
    description: 'Deletes a file, or a folder that is empty.',
    schema: argsOf({ path: pathIn(handle, 'the file or folder') }),
    sideEffect: true,
    async execute({ path }) {
      await handle.delete(path);
      return `deleted ${path}`;
    },
  };
}

export function insertTextFile({
  handle,
}: FileToolSettings): Tool<WriteArgs & { readonly line_number: number }> {
  return {
    name: 'insert_text_file',
    description: 'Inserts lines into a text file, before the line of a number.',
    schema: argsOf({
      path: pathIn(handle, 'the file'),
      content: text('The new lines.'),
      line_number: {
        type: 'integer',
        description:
          'Line number, from 1, before which the lines are inserted; one more than the last line appends them.',
      },
    }),
    sideEffect: true,
    async execute({ path, content, line_number: line }) {
      try {
        const changed = await changeLines(handle, path, (old) => {
          const valid = linesOf(old).length + 1;
          if (line < 1 || line > valid)
            throw new LineRangeError(`line_number is ${line}, but must be from 1 to ${valid} in ${path}.`);
          return replaceLines(old, line, line - 1, content || '\n'); // an empty content inserts an empty line
        });
        const last = line + Math.max(1, linesOf(content).length) - 1;
        return `Inserted into ${path} at line ${line}.\n${viewAround(path, changed, line, last)}`;
      } catch (error) {
        const isMissing = FileSystemError.isInstance(error) && error.kind === 'not_found';
        if (!isMissing && !(error instanceof LineRangeError)) throw error;
        return new ToolResponse(`InvalidArgumentsError: ${error.message}`, { status: 'error' });
      }
    },
  };
}

export function writeTextFile({
  handle,
}: FileToolSettings): Tool<WriteArgs & { readonly ranges?: LineRange }> {
  return {
    name: 'write_text_file',
    description: 'Makes a text file, replaces all of it, or replaces a range of its lines.',
    schema: argsOf(
      {
        path: pathIn(handle, 'the file'),
        content: text('The new text, or the new lines of the range.'),
        ranges: range(
          'The first and the last line that are replaced, from 1 on; -1 is the last line of the file.',
        ),
      },
      'ranges',
    ),
    sideEffect: true,
    async execute({ path, content, ranges }) {
      if (await createFile(handle, path, content)) {
        const note = ranges === undefined ? '' : ' It is new, so the ranges were ignored.';
        return `Created ${path}.${note}`;
      }
      if (ranges === undefined) {
        await handle.write(path, content);
        return `Overwrote ${path}.`;
      }
      let start = 1;
      const changed = await changeLines(handle, path, (old) => {
        const [first, last] = resolveRange(ranges, path, linesOf(old).length);
        start = first;
        return replaceLines(old, first, last, content);
      });
      const last = start + linesOf(content).length - 1;
      return `Wrote lines ${ranges[0]}-${ranges[1]} of ${path}.\n${viewAround(path, changed, start, last)}`;
    },
  };
}

/** Writes a new file. Resolves to false if the file exists. */
async function createFile(handle: FileSystemHandle, path: string, content: string): Promise<boolean> {
  try {
    await handle.write(path, content, { overwrite: false });
    return true;
  } catch (error) {
    if (FileSystemError.isInstance(error) && error.kind === 'conflict') return false;
    throw error;
  }
}

/** Changes a file and returns its new text. */
async function changeLines(
  handle: FileSystemHandle,
  path: string,
  change: (text: string) => string,
): Promise<string> {
  let changed = '';
  await handle.update(path, (text) => (changed = change(text)));
  return changed;
}
