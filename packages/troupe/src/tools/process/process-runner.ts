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
  /**
   * Working directory; in a sandbox also the only visible and writable folder outside the system.
   * @default the working directory of this process
   */
  readonly cwd?: string;
  /** Added to the inherited variables: PATH, HOME, language and time zone. */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * Sandbox by bubblewrap: `auto` uses it if available and adds a note to results otherwise, `require`
   * refuses to run without it, `none` never uses it. @default 'auto'
   */
  readonly isolation?: 'auto' | 'require' | 'none';
  /** Network access inside the sandbox. @default false */
  readonly allowNetwork?: boolean;
  /** Additional files and folders readable inside the sandbox. */
  readonly readPaths?: readonly string[];
  /** Limits of each process. */
  readonly limits?: ProcessLimits;
  /** System user that runs the programs. Requires this process to run as root. */
  readonly runAs?: SystemUser;
  /** Time limit of a tool call without `timeout`. @default 300 000, or `maxTimeoutMs` if less */
  readonly timeoutMs?: number;
  /** Largest `timeout` that a tool call may ask for. @default 300 000, or `timeoutMs` if more */
  readonly maxTimeoutMs?: number;
  /** Bytes kept of stdout and of stderr: beginning and end. @default 40 000 */
  readonly maxOutputBytes?: number;
  /** Name or path of bubblewrap. @default 'bwrap', searched in PATH */
  readonly bwrap?: string;
}

export interface ProcessCommand {
  readonly argv: readonly string[];
  /** Additional environment of this program. */
  readonly env?: Readonly<Record<string, string>>;
  readonly readPaths?: readonly string[];
  readonly timeoutSeconds: number;
  /** Noun for error texts, such as `command` or `code`. */
  readonly what: string;
}

const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin';
const DEFAULT_TIMEOUT_MS = 300_000;
const ROOT_HAS_NO_LIMIT =
  'limits.processes has no effect for root, not even in a sandbox. Set runAs to another user, or limit the container.';
const NOT_ISOLATED =
  '<system-info>This ran without isolation: it could read and change whatever the user of this program can.</system-info>';

/**
 * Runs programs for the shell and Python tools: in a sandbox if available, with resource limits, with a
 * minimal environment. Ends all started processes, except processes that hide on purpose outside a sandbox.
 * First file to read in this folder, then run-process.ts.
 */
export class ProcessRunner {
  readonly #options: ProcessToolOptions;
  readonly timeoutSeconds: number;
  readonly maxTimeoutSeconds: number;

  /** @throws TroupeError if an option is invalid. */
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

  /**
   * Runs a program and emits its output meanwhile. @throws if the program can't be started or must not run.
   */
  async run(command: ProcessCommand, { signal, emit }: ToolContext): Promise<ToolResponse> {
    const { limits = {}, runAs, maxOutputBytes = 40_000 } = this.#options;
    const cwd = await this.#folder();
    const bwrap = await this.#bwrap();
    const isSandboxed = bwrap !== undefined;
    const program = limitedArgv(limits, isSandboxed, command.argv);
    const argv = isSandboxed ? [bwrap, ...this.#sandboxArgs(cwd, command), ...program] : program;
    if (command.argv.some((text) => text.includes('\0')))
      throw new Error(`The ${command.what} has a NUL in it.`);
    const outcome = await runProcess({
      argv,
      cwd,
      env: this.#environment(isSandboxed, command),
      runAs,
      endsTogether: isSandboxed,
      timeoutMs: command.timeoutSeconds * 1000,
      maxOutputBytes,
      signal,
      onOutput: (output) => emit(shown(output, '')),
    }).catch((error: unknown) => {
      if (!(error instanceof Error && 'code' in error && error.code === 'E2BIG')) throw error;
      const advice = 'Put long texts into a file, or do it in several calls.';
      throw new Error(`The ${command.what} is too long for the system (E2BIG). ${advice}`, { cause: error });
    });
    return toResponse(outcome, command, isSandboxed);
  }

  async #folder(): Promise<string> {
    const { cwd = process.cwd() } = this.#options;
    const folder = await realpath(cwd).catch(() => refuse(`The working directory ${cwd} does not exist.`));
    if (!(await stat(folder)).isDirectory()) refuse(`The working directory ${cwd} is not a directory.`);
    return folder;
  }

  async #bwrap(): Promise<string | undefined> {
    const { isolation = 'auto', bwrap: command = 'bwrap', runAs } = this.#options;
    if (isolation === 'none') return undefined;
    const bwrap = await findBubblewrap(command, runAs);
    if (bwrap === undefined && isolation === 'require') {
      refuse(
        "isolation is 'require', but bubblewrap (bwrap) is not installed or can't create a sandbox here.",
      );
    }
    return bwrap;
  }

  #sandboxArgs(cwd: string, command: ProcessCommand): readonly string[] {
    if (cwd === '/') refuse('A sandbox needs a working directory of its own, not /. Set the option cwd.');
    const { readPaths = [], allowNetwork = false } = this.#options;
    return sandboxArgs({ cwd, readPaths: [...readPaths, ...(command.readPaths ?? [])], allowNetwork });
  }

  #environment(isSandboxed: boolean, command: ProcessCommand): Record<string, string> {
    const sandboxHome = isSandboxed ? { HOME: '/tmp', TMPDIR: '/tmp' } : {};
    return {
      PATH: DEFAULT_PATH,
      ...childEnvironment(),
      ...sandboxHome,
      ...command.env,
      ...this.#options.env,
    };
  }
}

function toResponse(outcome: ProcessOutcome, command: ProcessCommand, isSandboxed: boolean): ToolResponse {
  const { returncode, stdout, stderr } = outcome;
  const timedOut = returncode === undefined;
  const late = `TimeoutError: The ${command.what} took longer than its time limit of ${command.timeoutSeconds} seconds and was ended.`;
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

/** @param note appended to stderr */
function shown({ stdout, stderr }: ProcessOutput, note: string): string {
  const errors = stderr.toString();
  const separator = errors === '' || note === '' || errors.endsWith('\n') ? '' : '\n';
  return `<stdout>${stdout.toString()}</stdout><stderr>${errors}${separator}${note}</stderr>`;
}

function refuse(problem: string): never {
  throw new TroupeError('invalid_config', problem);
}
