import { knownTool } from '../../toolkit/tool/known-tools.ts';
import { tool, type Tool } from '../../toolkit/tool/tool.ts';
import type { JsonObject } from '../../util/json.ts';
import type { ProcessToolOptions } from './process-options.ts';
import { ProcessRunner } from './process-runner.ts';
import { processSettings, timeoutSchema } from './process-settings.ts';

export interface ShellToolOptions extends ProcessToolOptions {
  /** @default '/bin/sh' */
  readonly shell?: string;
}

const DESCRIPTION =
  'Runs a shell command and returns its return code, standard output and standard error. Nothing that it starts goes on running afterwards.';

/**
 * Creates the tool `execute_shell_command`, which runs any command of the model. Choose the isolation and the
 * working directory with care.
 *
 * @example
 * ```ts
 * import { PermissionRules, ReActAgent } from 'troupe';
 * import { OfflineModel } from 'troupe/offline';
 * import { shellTool } from 'troupe/tools';
 *
 * const agent = new ReActAgent({
 *   name: 'Friday',
 *   model: new OfflineModel(),
 *   tools: [shellTool({ cwd: '/tmp' })],
 *   permissionPolicy: new PermissionRules(), // asks before commands that change something
 *   console: false,
 * });
 * console.log(agent.toolkit.get('execute_shell_command')?.name);
 * ```
 * @throws TroupeError if an option is invalid.
 */
export function shellTool(options: ShellToolOptions = {}): Tool<JsonObject> {
  const { shell = '/bin/sh' } = options;
  const runner = new ProcessRunner(options);
  const made = tool({
    ...processSettings(runner),
    name: 'execute_shell_command',
    description: DESCRIPTION,
    schema: {
      type: 'object',
      properties: {
        command: { type: 'string', description: 'The command.' },
        timeout: timeoutSchema(runner),
      },
      required: ['command'],
      additionalProperties: false,
    },
    checkConfinement: ({ command }, confinement) =>
      runner.confinementProblem({ line: command as string }, confinement),
    execute(input, context) {
      const { command, timeout = runner.timeoutSeconds } = input as { command: string; timeout?: number };
      const argv = [shell, '-c', command];
      return runner.run({ argv, line: command, timeoutSeconds: timeout, what: 'command' }, context);
    },
  });
  return knownTool(made, { command: 'command' });
}
