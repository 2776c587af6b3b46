import { chown, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { knownTool } from '../../toolkit/tool/known-tools.ts';
import { tool, type Tool } from '../../toolkit/tool/tool.ts';
import type { JsonObject } from '../../util/json.ts';
import type { ProcessToolOptions } from './process-options.ts';
import { ProcessRunner } from './process-runner.ts';
import { processSettings, timeoutSchema } from './process-settings.ts';

export interface PythonToolOptions extends ProcessToolOptions {
  /**
   * Name or path of the interpreter. An interpreter outside the system folders must be in `readPaths` to be
   * visible in a sandbox. @default 'python3'
   */
  readonly python?: string;
}

const DESCRIPTION =
  'Runs Python code in a process of its own and returns its return code, standard output and standard error. Print what you want to see.';
const UTF8 = { PYTHONUTF8: '1', PYTHONIOENCODING: 'utf-8', PYTHONDONTWRITEBYTECODE: '1' };

/**
 * Creates the tool `execute_python_code`, which runs any code of the model. Choose the isolation and the
 * working directory with care.
 * @throws TroupeError if an option is invalid.
 */
export function pythonTool(options: PythonToolOptions = {}): Tool<JsonObject> {
  const { python = 'python3', runAs } = options;
  const runner = new ProcessRunner(options);
  const made = tool({
    ...processSettings(runner),
    name: 'execute_python_code',
    description: DESCRIPTION,
    schema: {
      type: 'object',
      properties: { code: { type: 'string', description: 'The code.' }, timeout: timeoutSchema(runner) },
      required: ['code'],
      additionalProperties: false,
    },
    checkConfinement: (_, confinement) => runner.confinementProblem({}, confinement),
    async execute(input, context) {
      const { code, timeout = runner.timeoutSeconds } = input as { code: string; timeout?: number };
      const folder = await mkdtemp(join(await realpath(tmpdir()), 'troupe-python-'));
      try {
        const file = join(folder, 'code.py');
        await writeFile(file, code, { mode: 0o600 });
        if (runAs !== undefined) {
          for (const path of [folder, file]) await chown(path, runAs.uid, runAs.gid);
        }
        const argv = [python, '-u', file];
        const command = { argv, env: UTF8, readPaths: [file], timeoutSeconds: timeout, what: 'code' };
        return await runner.run(command, context);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
  });
  return knownTool(made, {});
}
