import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { constants } from 'node:os';
import type { Readable } from 'node:stream';

import { DeadlineError, withDeadline } from '../../util/async/deadline.ts';
import { abortable } from '../../util/abort.ts';
import { startTimer } from '../../util/clock.ts';
import { newId } from '../../util/ids.ts';
import { CappedOutput } from './capped-output.ts';
import { endWithProgram } from '../../util/platform/process-group.node.ts';
import { endProcesses, familyOf } from './process-tree.ts';

/** A user of the system. */
export interface SystemUser {
  readonly uid: number;
  readonly gid: number;
}

export interface ProcessRequest {
  /** The program and its arguments. No shell reads them. */
  readonly argv: readonly string[];
  readonly cwd: string;
  /** All of the environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly runAs?: SystemUser | undefined;
  /** Whether whatever the program starts ends with it, without being looked for. */
  readonly endsAsOne: boolean;
  readonly timeoutMs: number;
  /** How much is kept of each of both outputs. */
  readonly maxOutputBytes: number;
  readonly signal: AbortSignal;
  /** Told now and then that there is more output. */
  readonly onOutput: (output: ProcessOutput) => void;
}

export interface ProcessOutput {
  readonly stdout: CappedOutput;
  readonly stderr: CappedOutput;
}

export interface ProcessOutcome extends ProcessOutput {
  /** Minus the number of the signal that ended it; undefined if it took too long. */
  readonly returncode: number | undefined;
}

const MARK = 'TROUPE_PROCESS';
/** How often new output is shown. A snapshot costs no more than what is kept, so all of them cost what the time does. */
const SHOW_EVERY_MS = 200;
/** How long output is awaited that others write once the program has ended. */
const DRAIN_MS = 100;
/** How long the system may take to close the pipes of processes that were ended. */
const CLOSE_MS = 1000;

/**
 * Runs a program to its end, or until it takes too long. Its output is read as it comes. Whatever the outcome, nothing that it
 * started is left when this settles: also not what went on in the background, and holds its outputs open. Except, without a
 * sandbox, what hides on purpose: see `endProcesses`.
 * @throws the reason of the signal once that is aborted, or an error if the program can't be started.
 */
export async function runProcess(request: ProcessRequest): Promise<ProcessOutcome> {
  const { argv, cwd, env, runAs, endsAsOne, timeoutMs, maxOutputBytes, signal, onOutput } = request;
  signal.throwIfAborted();
  const [file = '', ...args] = argv;
  const mark = newId();
  const child = spawn(file, args, {
    cwd,
    env: { ...env, [MARK]: mark },
    ...runAs,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true, // it leads a group and a session of its own, which can be ended as a whole
  });
  const output = { stdout: new CappedOutput(maxOutputBytes), stderr: new CappedOutput(maxOutputBytes) };
  const stopShowing = readOutput(child, output, () => onOutput(output));
  const family = child.pid === undefined ? undefined : familyOf(child.pid, `${MARK}=${mark}\0`, endsAsOne);
  const stayOnExit = endWithProgram(child);
  const closed = new Promise<void>((resolve) => void child.once('close', () => resolve()));
  const exited = exitOf(child);
  let returncode: number | undefined;
  try {
    returncode = await withDeadline({ timeoutMs, signal }, () => exited);
    await abortable(orAfter(DRAIN_MS, closed), signal);
  } catch (error) {
    if (!(error instanceof DeadlineError)) throw error;
  } finally {
    stopShowing();
    if (family !== undefined) {
      await endProcesses(family);
      await orAfter(CLOSE_MS, closed);
    }
    stayOnExit();
    child.stdout.destroy();
    child.stderr.destroy();
  }
  return { ...output, returncode };
}

type Child = ChildProcessByStdio<null, Readable, Readable>;

function exitOf(child: Child): Promise<number> {
  const exited = new Promise<number>((resolve, reject) => {
    child.on('error', reject);
    child.once('exit', (code, signal) => resolve(code ?? -constants.signals[signal ?? 'SIGKILL']));
  });
  exited.catch(() => {}); // whoever was interrupted doesn't want to know
  return exited;
}

/** Keeps what comes, and tells of it: at once, then now and then. The returned function ends the telling, not the reading. */
function readOutput(child: Child, output: ProcessOutput, show: () => void): () => void {
  let cancel: (() => void) | undefined;
  let hasMore = false;
  let isOver = false;
  const tell = (): void => {
    hasMore = false;
    show();
    cancel = startTimer(SHOW_EVERY_MS, () => {
      cancel = undefined;
      if (hasMore) tell();
    });
  };
  const read = (stream: Readable, kept: CappedOutput): void => {
    stream.on('error', () => {});
    stream.on('data', (chunk: Uint8Array) => {
      kept.push(chunk);
      hasMore = true;
      if (!isOver && cancel === undefined) tell();
    });
  };
  read(child.stdout, output.stdout);
  read(child.stderr, output.stderr);
  return () => {
    isOver = true;
    cancel?.();
  };
}

/** Waits for something, but no longer than so many milliseconds. */
async function orAfter(ms: number, event: Promise<void>): Promise<void> {
  let cancel = (): void => {};
  const later = new Promise<void>((resolve) => {
    cancel = startTimer(ms, resolve);
  });
  await Promise.race([event, later]).finally(cancel);
}
