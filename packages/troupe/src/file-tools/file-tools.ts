import { checkNumber } from '../util/check-number.ts';
import { TroupeError } from '../errors.ts';
import type { FileOperation } from '../filesystem/file-policy.ts';
import type { FileSystemHandle } from '../filesystem/file-system-handle.ts';
import { knownTool, type MeaningByArgument } from '../toolkit/tool/known-tools.ts';
import type { Tool } from '../toolkit/tool/tool.ts';
import type { FileToolSettings } from './file-args.ts';
import { makeFileTool } from './file-tool.ts';
import {
  describePermissions,
  getFileInfo,
  listAllowedDirectories,
  listDirectory,
  readMultipleFiles,
  readTextFile,
  viewTextFile,
} from './read-tools.ts';
import { globTool, grepTool } from './search-tools.ts';
import { deleteFile, editFile, insertTextFile, writeFile, writeTextFile } from './write-tools.ts';

interface FileToolKind {
  readonly make: (settings: FileToolSettings) => Tool;
  readonly meanings: MeaningByArgument;
  /** Operations that the handle must allow somewhere; otherwise the tool is left out. */
  readonly needs: readonly FileOperation[];
  /** Duplicate of another tool, added only when named. */
  readonly isDuplicate?: boolean;
}

const READS: MeaningByArgument = { path: 'read' };
const EDITS: MeaningByArgument = { path: 'edit' };

const KINDS = {
  read_text_file: { make: readTextFile, meanings: READS, needs: ['read'] },
  read_multiple_files: { make: readMultipleFiles, meanings: { paths: 'read' }, needs: ['read'] },
  list_directory: { make: listDirectory, meanings: READS, needs: ['list'] },
  get_file_info: { make: getFileInfo, meanings: READS, needs: ['list'] },
  list_allowed_directories: { make: listAllowedDirectories, meanings: {}, needs: [] },
  write_file: { make: writeFile, meanings: EDITS, needs: ['write'] },
  delete_file: { make: deleteFile, meanings: EDITS, needs: ['delete'] },
  edit_file: { make: editFile, meanings: EDITS, needs: ['read', 'write'] },
  fs_describe_permissions_markdown: { make: describePermissions, meanings: {}, needs: [] },
  insert_text_file: { make: insertTextFile, meanings: EDITS, needs: ['read', 'write'] },
  glob: { make: globTool, meanings: READS, needs: ['list'] },
  grep: { make: grepTool, meanings: READS, needs: ['list', 'read'] },
  view_text_file: { make: viewTextFile, meanings: READS, needs: ['read'], isDuplicate: true },
  write_text_file: { make: writeTextFile, meanings: EDITS, needs: ['write'], isDuplicate: true },
} as const satisfies Record<string, FileToolKind>;

export type FileToolName = keyof typeof KINDS;

export interface FileToolsOptions {
  /**
   * Tools to create.
   * @default all that the handle allows, without the duplicates `view_text_file` and `write_text_file`
   */
  readonly names?: readonly FileToolName[] | undefined;
  /**
   * Folder names skipped by `glob` and `grep`, unless the search starts inside. @default .git, node_modules
   */
  readonly skipFolders?: readonly string[] | undefined;
  /** Maximum files or lines shown by `glob` and `grep`. @default 200 */
  readonly maxMatches?: number | undefined;
  /** Maximum characters of a tool result. @default 50 000 */
  readonly maxOutputChars?: number | undefined;
}

/**
 * Creates tools for file access, limited to the permissions of the handle. The tools must still be registered
 * in a toolkit. The other files define the tools. Folder `file-tools`: start here.
 * @throws TroupeError for an unknown tool name
 */
export function fileTools(handle: FileSystemHandle, options: FileToolsOptions = {}): readonly Tool[] {
  const {
    names,
    skipFolders = ['.git', 'node_modules'],
    maxMatches = 200,
    maxOutputChars = 50_000,
  } = options;
  checkNumber('maxMatches', maxMatches, { least: 0 });
  const kinds = new Map<string, FileToolKind>(Object.entries(KINDS));
  const allowed = handle.allowedDirectories.flatMap(({ operations }) => operations);
  const isUsable = ({ isDuplicate = false, needs }: FileToolKind): boolean =>
    !isDuplicate && needs.every((operation) => allowed.includes(operation));
  const chosen = names ?? [...kinds].filter(([, kind]) => isUsable(kind)).map(([name]) => name);
  return chosen.map((name) => {
    const kind = kinds.get(name);
    if (kind === undefined) {
      const known = [...kinds.keys()].join(', ');
      throw new TroupeError('invalid_config', `There is no file tool '${name}'. File tools: ${known}.`);
    }
    return makeFileTool(handle, (files) => {
      const made = kind.make({ handle: files, skipFolders, maxMatches, maxOutputChars });
      return knownTool({ ...made, maxOutputChars }, kind.meanings);
    });
  });
}
