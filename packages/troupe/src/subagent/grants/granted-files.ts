import { TroupeError } from '../../errors.ts';
import { filesOf } from '../../file-tools/file-tool.ts';
import { fileTools } from '../../file-tools/file-tools.ts';
import type { FileSystemHandle } from '../../filesystem/file-system-handle.ts';
import type { Tool } from '../../toolkit/tool/tool.ts';
import type { SubAgentPermissions } from './permission-bundle.ts';

/** Tools for granted files, as far as the handle allows; none without any files. */
export function fileToolsFor(filesystem: FileSystemHandle): readonly Tool[] {
  return filesystem.allowedDirectories.length === 0 ? [] : fileTools(filesystem);
}

/**
 * The tool for the files of a sub-agent; name and settings stay. Tools that use no files are returned as they are.
 * @throws TroupeError if the tool can't be bound to other files, or the sub-agent has none.
 */
export function boundToFiles(
  tool: Tool,
  subagent: string,
  { filesystem, supervisorName }: Pick<SubAgentPermissions, 'filesystem' | 'supervisorName'>,
): Tool {
  const bound = filesOf(tool);
  if (bound === undefined) return tool;
  const refuse = (problem: string): TroupeError =>
    new TroupeError(
      'invalid_config',
      `The sub-agent '${subagent}' can't have the tool '${tool.name}': it is bound to files of ${supervisorName}, and ${problem}`,
    );
  if (filesystem === undefined) throw refuse('the sub-agent has none. Grant it a filesystem.');
  const { tool: made, bind } = bound;
  if (tool.execute !== made.execute || tool.schema !== made.schema) {
    throw refuse(
      'its function or schema was replaced. Make it by makeFileTool(), so that it can be bound to other files.',
    );
  }
  const { execute, schema, files } = bind(filesystem);
  return { ...tool, execute, schema, files };
}
