import { checkNumber, MAX_TIMER_MS } from '../../util/check-number.ts';
import { getLogger } from '../../config/run-config.ts';
import { TroupeError } from '../../errors.ts';
import { ToolResponse } from '../../toolkit/tool/tool-response.ts';
import type { ToolContext } from '../../toolkit/tool/tool.ts';
import type { Confinement } from '../../toolkit/tool/confinement.ts';
import { escapeTags } from '../../util/escape-tags.ts';
import { forgetSandbox, hasRun } from './find-sandbox.ts';
import { launcherProblem } from './confinement/launcher-errors.ts';
import { checkLimits } from './process-limits.ts';
import type { ProcessCommand, ProcessToolOptions } from './process-options.ts';
import { confinementProblem, planProcess, type ProcessPlan } from './process-plan.ts';
import { runProcess, type ProcessOutcome, type ProcessOutput } from './run-process.ts';

const DEFAULT_TIMEOUT_MS = 300_000;
const ROOT_HAS_NO_LIMIT =
  'limits.processes has no effect for root, not even in a sandbox. Set runAs to another user, or limit the container.';

/**
 * Runs programs for the shell and Python tools: in a sandbox if available, with resource limits, with a
 * minimal environment. Ends all started processes, except processes that hide on purpose outside a sandbox.
 * Folder `tools/process`: start here, then process-plan.ts and run-process.ts.
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

  /** Says why a tool call can't run within limits; undefined if it can. */
  confinementProblem(
    command: Pick<ProcessCommand, 'line'>,
    confinement: Confinement,
  ): Promise<string | undefined> {
    return confinementProblem(this.#options, command, confinement);
  }

  /**
   * Runs a program and emits its output meanwhile. @throws if the program can't be started or must not run.
   */
  async run(command: ProcessCommand, { signal, emit, confinement }: ToolContext): Promise<ToolResponse> {
    const { runAs, maxOutputBytes = 40_000, bwrap = 'bwrap' } = this.#options;
    if (command.argv.some((text) => text.includes('\0')))
      throw new Error(`The ${command.what} has a NUL in it.`);
    const plan = await planProcess(this.#options, command, confinement);
    const notes = [...plan.notes];
    let outcome: ProcessOutcome;
    try {
      outcome = await runProcess({
        ...plan.start,
        runAs,
        timeoutMs: command.timeoutSeconds * 1000,
        maxOutputBytes,
        signal,
        onOutput: (output) => emit(shown(output, '')),
      }).catch((error: unknown) => {
        if (!(error instanceof Error && 'code' in error && error.code === 'E2BIG')) throw error;
        const advice = 'Put long texts into a file, or do it in several calls.';
        throw new Error(`The ${command.what} is too long for the system (E2BIG). ${advice}`, {
          cause: error,
        });
      });
    } finally {
      notes.push(...(await plan.finish()));
    }
    if (plan.place !== 'outside' && !hasRun(outcome)) {
      forgetSandbox(bwrap, runAs);
      const { reason, remedy } = launcherProblem(outcome.stderr.toString());
      throw new Error(
        `The sandbox could not be started, and nothing ran: ${reason}. To change this: ${remedy}.`,
      );
    }
    return toResponse(outcome, command, plan, notes);
  }
}

function toResponse(
  outcome: ProcessOutcome,
  command: ProcessCommand,
  { place, profile }: ProcessPlan,
  notes: readonly string[],
): ToolResponse {
  const { returncode, stdout, stderr } = outcome;
  const timedOut = returncode === undefined;
  const late = `TimeoutError: The ${command.what} took longer than its time limit of ${command.timeoutSeconds} seconds and was ended.`;
  const text = `<returncode>${returncode ?? -1}</returncode>${shown(outcome, timedOut ? late : '')}`;
  // Notes may contain names of files that the program made.
  const infos = notes.map((note) => `\n<system-info>${escapeTags(note)}</system-info>`).join('');
  return new ToolResponse(text + infos, {
    status: timedOut ? 'error' : 'ok',
    metadata: {
      returncode: returncode ?? -1,
      timedOut,
      isolation: place === 'outside' ? 'none' : 'bubblewrap',
      ...(profile !== undefined && { confinement: profile }),
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
