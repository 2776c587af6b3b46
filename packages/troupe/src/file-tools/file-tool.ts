import type { FileSystemHandle } from '../filesystem/file-system-handle.ts';
import type { Tool, ToolFiles } from '../toolkit/tool/tool.ts';

/**
 * Makes a tool that works on files, so that it can be made again for other files: a sub-agent that is granted the
 * tool gets it for the files that the sub-agent may use.
 * @param make makes the tool for any handle
 *
 * @example
 * ```ts
 * import { tool } from 'troupe';
 * import { FileSystemHandle, InMemoryFileSystem } from 'troupe/filesystem';
 * import { makeFileTool } from 'troupe/tools';
 *
 * const files = new FileSystemHandle(new InMemoryFileSystem());
 * const countFiles = makeFileTool(files, (handle) =>
 *   tool({ name: 'count_files', execute: async () => (await handle.glob('**')).matches.length }),
 * );
 * console.log(countFiles.name); // count_files
 * ```
 */
export function makeFileTool<Input>(
  handle: FileSystemHandle,
  make: (handle: FileSystemHandle) => Tool<Input>,
): Tool<Input> {
  const made = make(handle);
  const files: ToolFiles = { tool: made, bind: (other) => makeFileTool(other, make) };
  bindings.set(made.execute, files);
  return Object.freeze({ ...made, files });
}

/** Files of tools by their functions: a copy that leaves `files` out has the same files. */
const bindings = new WeakMap<Tool['execute'], ToolFiles>();

/** Files of a tool, also of a copy of a tool. */
export function filesOf({ files, execute }: Tool): ToolFiles | undefined {
  return files ?? bindings.get(execute);
}
