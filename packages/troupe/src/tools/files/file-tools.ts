import { checkNumber } from '../../util/check-number.ts';
import { TroupeError } from '../../errors.ts';
import type { FileOperation } from '../../filesystem/file-policy.ts';
import type { FileSystemHandle } from '../../filesystem/file-system-handle.ts';
import type { Tool } from '../../toolkit/tool/tool.ts';
import type { FileToolSettings } from './file-args.ts';
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
  /** What a handle must allow somewhere for the tool to be of use. */
  readonly needs: readonly FileOperation[];
  /** Does the same as another one; only there when asked for by name. */
  readonly isDouble?: boolean;
}

const KINDS = {
  read_text_file: { make: readTextFile, needs: ['read'] },
  read_multiple_files: { make: readMultipleFiles, needs: ['read'] },
  list_directory: { make: listDirectory, needs: ['list'] },
  get_file_info: { make: getFileInfo, needs: ['list'] },
  list_allowed_directories: { make: listAllowedDirectories, needs: [] },
  write_file: { make: writeFile, needs: ['write'] },
  delete_file: { make: deleteFile, needs: ['delete'] },
  edit_file: { make: editFile, needs: ['read', 'write'] },
  fs_describe_permissions_markdown: { make: describePermissions, needs: [] },
  insert_text_file: { make: insertTextFile, needs: ['read', 'write'] },
  glob: { make: globTool, needs: ['list'] },
  grep: { make: grepTool, needs: ['list', 'read'] },
  view_text_file: { make: viewTextFile, needs: ['read'], isDouble: true },
  write_text_file: { make: writeTextFile, needs: ['write'], isDouble: true },
} as const satisfies Record<string, FileToolKind>;

export type FileToolName = keyof typeof KINDS;

export interface FileToolsOptions {
  /** Which tools. @default all that the handle allows, except `view_text_file` and `write_text_file`, which others cover */
  readonly names?: readonly FileToolName[] | undefined;
  /** Names of folders that `glob` and `grep` leave out, unless they are told to begin there. @default .git, node_modules */
  readonly skipFolders?: readonly string[] | undefined;
  /** How many files or lines `glob` and `grep` show. @default 200 */
  readonly maxMatches?: number | undefined;
  /** How much text of a result the model gets. @default 50 000 */
  readonly maxOutputChars?: number | undefined;
}

/**
 * Tools by which a model uses files, and no others than the handle allows: it is bound to them and no argument of theirs.
 * They belong to no toolkit until they are registered.
 * @throws TroupeError if a name is none of theirs
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
  const isOfUse = ({ isDouble = false, needs }: FileToolKind): boolean =>
    !isDouble && needs.every((operation) => allowed.includes(operation));
  const chosen = names ?? [...kinds].filter(([, kind]) => isOfUse(kind)).map(([name]) => name);
  return chosen.map((name) => {
    const kind = kinds.get(name);
    if (kind === undefined) {
      const known = [...kinds.keys()].join(', ');
      throw new TroupeError('invalid_config', `There is no file tool '${name}'. There are: ${known}.`);
    }
    return Object.freeze({
      ...kind.make({ handle, skipFolders, maxMatches, maxOutputChars }),
      maxOutputChars,
    });
  });
}
