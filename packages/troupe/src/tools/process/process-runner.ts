import { realpath, stat } from 'node:fs/promises';

import { checkNumber, MAX_TIMER_MS } from '../../util/check-number.ts';
import { getLogger } from '../../config/run-config.ts';
import { TroupeError } from '../../errors.ts';
import { ToolResponse } from '../../toolkit/tool/tool-response.ts';
import type { ToolContext } from '../../toolkit/tool/tool.ts';
import { childEnvironment } from '../../util/platform/child-environment.node.ts';
import { findBubblewrap, sandboxArgs } from './bubblewrap.ts';
import { checkLimits, limitedArgv, type ProcessLimits } from './process-limits.ts';
import { runProcess, type ProcessOutcome, type ProcessOutput, type SystemUser } from './run-process.ts';

export interface ProcessToolOptions {
  /** Where programs run; in a sandbox, also the only folder of yours that they see, and can write. @default that of this process */
  readonly cwd?: string;
  /** Added to the few variables that are handed on: PATH, HOME, language, time zone. */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * Whether programs run in a sandbox, which bubblewrap makes: `auto` uses it where it works and says so in the result
   * where it doesn't, `require` runs nothing without it, `none` doesn't use it. @default 'auto'
   */
  readonly isolation?: 'auto' | 'require' | 'none';
  /** Whether programs in the sandbox have a network. @default false */
  readonly allowNetwork?: boolean;
  /** Further files and folders that programs in the sandbox may read. */
  readonly readPaths?: readonly string[];
  /** For each process. */
  readonly limits?: ProcessLimits;
  /** Another user than that of this process, which has to be root then. */
  readonly runAs?: SystemUser;
  /** Time limit of a tool call without a `timeout` of its own. @default 300 000, or `maxTimeoutMs` if less */
  readonly timeoutMs?: number;
  /** Largest `timeout` that a tool call may ask for. @default 300 000, or `timeoutMs` if more */
  readonly maxTimeoutMs?: number;
  /** How much is kept of each of both outputs: the beginning and the end. @default 40 000 */
  readonly maxOutputBytes?: number;
  /** Where bubblewrap is. @default 'bwrap', looked for in PATH */
  readonly bwrap?: string;
}

export interface ProcessCall {
  readonly argv: readonly string[];
  /** For the environment of this program. */
  readonly env?: Readonly<Record<string, string>>;
  readonly readPaths?: readonly string[];
  readonly timeoutSeconds: number;
  /** What is run, for the sentence that tells that it took too long. */
  readonly what: string;
}

const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin';
const DEFAULT_TIMEOUT_MS = 300_000;
const ROOT_HAS_NO_LIMIT =
  "The system does not hold root's programs to limits.processes, in a sandbox neither. Set runAs to another user, or limit the container.";
const NOT_ISOLATED =
  '<system-info>This ran without isolation: it could read and change whatever the user of this program can.</system-info>';

/**
 * Runs programs for a tool: in a sandbox where there is one, within limits, with next to nothing of this process's environment,
 * and with nothing left running when it is over, unless it hides on purpose where there is no sandbox.
 */
export class ProcessRunner {
  readonly #options: ProcessToolOptions;
  readonly timeoutSeconds: number;
  readonly maxTimeoutSeconds: number;

  /** @throws TroupeError if an option is wrong. */
  constructor(options: ProcessToolOptions) {
    const { maxOutputBytes, limits, isolation = 'auto' } = options;
    const { maxTimeoutMs = Math.max(DEFAULT_TIMEOUT_MS, options.timeoutMs ?? 0) } = options;
    const { timeoutMs = Math.min(DEFAULT_TIMEOUT_MS, maxTimeoutMs) } = options;
    checkNumber('maxTimeoutMs', maxTimeoutMs, { least: 1, most: MAX_TIMER_MS - 60_000 });
    checkNumber('timeoutMs', timeoutMs, { least: 1, most: maxTimeoutMs });
    if (maxOutputBytes !== undefined)
      checkNumber('maxOutputBytes', maxOutputBytes, { least: 2, whole: true });
    if (limits !== undefined) checkLimits(limits);
    if (!['auto', 'require', 'none'].includes(isolation))
      refuse("isolation must be 'auto', 'require' or 'none'.");
    if (process.platform === 'win32')
      refuse('Programs are run on Linux and macOS only. On Windows, use WSL.');
    if ((limits?.processes ?? Infinity) !== Infinity && (options.runAs?.uid ?? process.getuid?.()) === 0) {
      getLogger().log('warn', ROOT_HAS_NO_LIMIT);
    }
    this.#options = options;
    this.timeoutSeconds = timeoutMs / 1000;
    this.maxTimeoutSeconds = maxTimeoutMs / 1000;
  }

  /** Runs a program. What it writes is shown while it runs. @throws if it can't be started, or may not. */
  async run(call: ProcessCall, { signal, emit }: ToolContext): Promise<ToolResponse> {
    const { limits = {}, runAs, maxOutputBytes = 40_000 } = this.#options;
    const cwd = await this.#folder();
    const bwrap = await this.#bwrap();
    const isSandboxed = bwrap !== undefined;
    const program = limitedArgv(limits, isSandboxed, call.argv);
    const argv = isSandboxed ? [bwrap, ...this.#sandboxArgs(cwd, call), ...program] : program;
    if (call.argv.some((text) => text.includes('\0'))) throw new Error(`The ${call.what} has a NUL in it.`);
    const outcome = await runProcess({
      argv,
      cwd,
      env: this.#environment(isSandboxed, call),
      runAs,
      endsAsOne: isSandboxed,
      timeoutMs: call.timeoutSeconds * 1000,
      maxOutputBytes,
      signal,
      onOutput: (output) => emit(shown(output, '')),
    }).catch((error: unknown) => {
      if (!(error instanceof Error && 'code' in error && error.code === 'E2BIG')) throw error;
      const advice = 'Put long texts into a file, or do it in several calls.';
      throw new Error(`The ${call.what} is too long for the system (E2BIG). ${advice}`, { cause: error });
    });
    return toResponse(outcome, call, isSandboxed);
  }

  async #folder(): Promise<string> {
    const { cwd = process.cwd() } = this.#options;
    const folder = await realpath(cwd).catch(() => refuse(`The working directory ${cwd} is not there.`));
    if (!(await stat(folder)).isDirectory()) refuse(`The working directory ${cwd} is no directory.`);
    return folder;
  }

  async #bwrap(): Promise<string | undefined> {
    const { isolation = 'auto', bwrap: command = 'bwrap', runAs } = this.#options;
    if (isolation === 'none') return undefined;
    const bwrap = await findBubblewrap(command, runAs);
    if (bwrap === undefined && isolation === 'require') {
      refuse(
        'Nothing is run here without isolation, and bubblewrap (bwrap) is not installed or can not make a sandbox.',
      );
    }
    return bwrap;
  }

  #sandboxArgs(cwd: string, call: ProcessCall): readonly string[] {
    if (cwd === '/') refuse('A sandbox needs a working directory of its own, not /. Set the option cwd.');
    const { readPaths = [], allowNetwork = false } = this.#options;
    return sandboxArgs({ cwd, readPaths: [...readPaths, ...(call.readPaths ?? [])], allowNetwork });
  }

  #environment(isSandboxed: boolean, call: ProcessCall): Record<string, string> {
    const atHome = isSandboxed ? { HOME: '/tmp', TMPDIR: '/tmp' } : {};
    return {
      PATH: DEFAULT_PATH,
      ...childEnvironment(),
      ...atHome,
      ...call.env,
      ...this.#options.env,
    };
  }
}

function toResponse(outcome: ProcessOutcome, call: ProcessCall, isSandboxed: boolean): ToolResponse {
  const { returncode, stdout, stderr } = outcome;
  const timedOut = returncode === undefined;
  const late = `TimeoutError: The ${call.what} took longer than its time limit of ${call.timeoutSeconds} seconds and was ended.`;
  const text = `<returncode>${returncode ?? -1}</returncode>${shown(outcome, timedOut ? late : '')}`;
  return new ToolResponse(isSandboxed ? text : `${text}\n${NOT_ISOLATED}`, {
    status: timedOut ? 'error' : 'ok',
    metadata: {
      returncode: returncode ?? -1,
      timedOut,
      isolation: isSandboxed ? 'bubblewrap' : 'none',
      stdoutBytes: stdout.totalBytes,
      stderrBytes: stderr.totalBytes,
    },
  });
}

/** @param note a last line of the errors */
function shown({ stdout, stderr }: ProcessOutput, note: string): string {
  const errors = stderr.toString();
  const separator = errors === '' || note === '' || errors.endsWith('\n') ? '' : '\n';
  return `<stdout>${stdout.toString()}</stdout><stderr>${errors}${separator}${note}</stderr>`;
}

function refuse(problem: string): never {
  throw new TroupeError('invalid_config', problem);
}
