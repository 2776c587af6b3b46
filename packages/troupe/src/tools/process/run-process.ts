import { spawn, type ChildProcess } from 'node:child_process';
import { constants } from 'node:os';
import { Duplex, type Readable } from 'node:stream';

import { DeadlineError, withDeadline } from '../../util/async/deadline.ts';
import { abortable } from '../../util/abort.ts';
import { startTimer } from '../../util/clock.ts';
import { newId } from '../../util/ids.ts';
import { CappedOutput } from './capped-output.ts';
import { withoutInherited } from './confinement/inherited-descriptors.ts';
import { endWithProgram } from '../../util/platform/process-group.node.ts';
import { endProcesses, processTreeOf } from './process-tree.ts';

/** User and group id of a system user. */
export interface SystemUser {
  readonly uid: number;
  readonly gid: number;
}

export interface ProcessRequest {
  /** Program and arguments, not interpreted by a shell. */
  readonly argv: readonly string[];
  readonly cwd: string;
  /** The complete environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Descriptors of a launcher, which starts the program in a sandbox. */
  readonly launcher?: LauncherInput | undefined;
  readonly runAs?: SystemUser | undefined;
  /** True if all started processes end with the program, so that no search is needed. */
  readonly endsTogether: boolean;
  readonly timeoutMs: number;
  /** Bytes kept of stdout and of stderr. */
  readonly maxOutputBytes: number;
  readonly signal: AbortSignal;
  /** Called at intervals while there is new output. */
  readonly onOutput: (output: ProcessOutput) => void;
}

/** Data for a launcher: read from descriptors 3 and following. The next descriptor takes its status. */
export interface LauncherInput {
  readonly data: readonly Uint8Array[];
}

export interface ProcessOutput {
  readonly stdout: CappedOutput;
  readonly stderr: CappedOutput;
}

export interface ProcessOutcome extends ProcessOutput {
  /** Exit code, or the negative number of the ending signal; undefined after a timeout. */
  readonly returncode: number | undefined;
  /** Status that the launcher wrote; empty without one. */
  readonly launcherStatus: string;
}

const MARK = 'TROUPE_PROCESS';
/** Minimum time between two `onOutput` calls. */
const SHOW_EVERY_MS = 200;
/** Time to wait for output of background processes after the program has ended. */
const DRAIN_MS = 100;
/** Time to wait for the pipes of ended processes to close. */
const CLOSE_MS = 1000;
/** Maximum characters of a launcher's status. */
const MAX_STATUS_CHARS = 10_000;

/**
 * Runs a program until it ends or exceeds the time limit, reading its output meanwhile. When the promise
 * settles, no started process is left, not even in the background; except, without a sandbox, processes that
 * hide on purpose (see `endProcesses`).
 * @throws the abort reason of the signal, or an error if the program can't be started.
 */
export async function runProcess(request: ProcessRequest): Promise<ProcessOutcome> {
  const { endsTogether, timeoutMs, maxOutputBytes, signal, onOutput } = request;
  signal.throwIfAborted();
  const mark = newId();
  const child = start(request, mark);
  const status = serveLauncher(child, request.launcher);
  const output = { stdout: new CappedOutput(maxOutputBytes), stderr: new CappedOutput(maxOutputBytes) };
  const stopShowing = readOutput(child, output, () => onOutput(output));
  const tree =
    child.pid === undefined
      ? undefined
      : processTreeOf(child.pid, `${MARK}=${mark}\0`, {
          endsTogether,
          firstInside: () => firstInside(status.text),
        });
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
    if (tree !== undefined) {
      await endProcesses(tree);
      await orAfter(CLOSE_MS, closed);
    }
    stayOnExit();
    for (const stream of child.stdio) stream?.destroy();
  }
  return { ...output, returncode, launcherStatus: status.text };
}

interface Child extends ChildProcess {
  readonly stdout: Readable;
  readonly stderr: Readable;
}

function start({ argv, cwd, env, runAs, launcher }: ProcessRequest, mark: string): Child {
  const [file = '', ...args] = argv;
  const options = { cwd, env: { ...env, [MARK]: mark }, ...runAs };
  const forLauncher = launcher === undefined ? [] : [...launcher.data, 'status'].map(() => 'pipe' as const);
  // The program leads its own process group and session, which can be ended together.
  return withoutInherited(
    ['ignore', 'pipe', 'pipe', ...forLauncher],
    (stdio) => spawn(file, args, { ...options, stdio, detached: true }) as Child,
  );
}

/** Sends a launcher its data and reads its status meanwhile. */
function serveLauncher(child: Child, launcher: LauncherInput | undefined): { text: string } {
  const status = { text: '' };
  if (launcher === undefined) return status;
  const streams = child.stdio.slice(3).filter((stream) => stream instanceof Duplex);
  for (const [i, data] of launcher.data.entries()) {
    streams[i]?.on('error', () => {}); // the launcher ended early
    streams[i]?.end(data);
  }
  const last = streams[launcher.data.length];
  last?.on('error', () => {});
  last?.on('data', (chunk: Uint8Array) => {
    if (status.text.length < MAX_STATUS_CHARS) status.text += Buffer.from(chunk).toString('latin1');
  });
  return status;
}

/** Process id that bwrap reports before the program starts. */
function firstInside(status: string): number | undefined {
  const [, pid] = /"child-pid": (\d+)/.exec(status) ?? [];
  return pid === undefined ? undefined : Number(pid);
}

function exitOf(child: Child): Promise<number> {
  const exited = new Promise<number>((resolve, reject) => {
    child.on('error', reject);
    child.once('exit', (code, signal) => resolve(code ?? -constants.signals[signal ?? 'SIGKILL']));
  });
  exited.catch(() => {}); // ignored after an interrupt
  return exited;
}

/**
 * Stores output and calls `show`: at once, then at intervals. The returned function stops the calls, not the
 * reading.
 */
function readOutput(child: Child, output: ProcessOutput, show: () => void): () => void {
  let cancel: (() => void) | undefined;
  let hasMore = false;
  let isOver = false;
  const showNow = (): void => {
    hasMore = false;
    show();
    cancel = startTimer(SHOW_EVERY_MS, () => {
      cancel = undefined;
      if (hasMore) showNow();
    });
  };
  const read = (stream: Readable, kept: CappedOutput): void => {
    stream.on('error', () => {});
    stream.on('data', (chunk: Uint8Array) => {
      kept.push(chunk);
      hasMore = true;
      if (!isOver && cancel === undefined) showNow();
    });
  };
  read(child.stdout, output.stdout);
  read(child.stderr, output.stderr);
  return () => {
    isOver = true;
    cancel?.();
  };
}

/** Resolves after the event or after `ms` milliseconds. */
async function orAfter(ms: number, event: Promise<void>): Promise<void> {
  let cancel = (): void => {};
  const later = new Promise<void>((resolve) => {
    cancel = startTimer(ms, resolve);
  });
  await Promise.race([event, later]).finally(cancel);
}
