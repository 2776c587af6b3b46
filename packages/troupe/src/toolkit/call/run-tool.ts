import { whenAborted } from '../../util/abort.ts';
import { sleep } from '../../util/clock.ts';
import { randomFraction } from '../../util/ids.ts';
import { yieldToEventLoop } from '#platform';
import { DeadlineError, runLimited, type DeadlineOptions } from '../../util/async/deadline.ts';
import type { SnapshotQueue } from './snapshot-queue.ts';
import { suspendedByTool } from './suspended-call.ts';
import type { SuspendedToolCall } from './tool-call-outcome.ts';
import { toToolOutput, type ToolOutput } from '../tool/tool-output.ts';
import { ToolSuspension } from '../tool/tool-suspension.ts';
import type { Tool, ToolContext } from '../tool/tool.ts';

/** Maximum snapshots of one tool call; a generator with more counts as endless. */
const MAX_SNAPSHOTS = 100_000;
/** Number of snapshots without a wait after which timers and interrupts get time. */
const SNAPSHOTS_BETWEEN_PAUSES = 64;
const DEFAULT_RETRY_DELAY_MS = 500;
const MAX_RETRY_DELAY_MS = 30_000;

export interface ToolRun {
  readonly tool: Tool;
  /** Arguments after validation by the tool's schema. */
  readonly input: unknown;
  readonly context: Omit<ToolContext, 'signal' | 'emit'>;
  readonly deadline: DeadlineOptions;
  /** Waits until the concurrency limits let the tool run. The returned function is called when the tool has ended. @default no limits */
  readonly acquire?: ((signal: AbortSignal) => Promise<() => void>) | undefined;
  /** Called for each attempt, so that late snapshots of an earlier attempt are dropped. */
  readonly newSnapshots: () => SnapshotQueue;
}

/**
 * Runs a tool, with retries where the tool asks for them. A `ToolSuspension` is caught here, the one place, and becomes data.
 * @throws the error of the last attempt, a `DeadlineError`, or the reason of the caller's signal.
 */
export async function runTool(run: ToolRun): Promise<ToolOutput | SuspendedToolCall> {
  const { maxAttempts = 1, shouldRetry, baseDelayMs = DEFAULT_RETRY_DELAY_MS } = run.tool.retry ?? {};
  for (let attempt = 1; ; attempt++) {
    try {
      return await runOnce(run);
    } catch (error) {
      run.deadline.signal?.throwIfAborted();
      if (ToolSuspension.isInstance(error)) return suspendedByTool(error, run.context.call, run.tool);
      const mayStillRun = run.tool.sideEffect === true && error instanceof DeadlineError;
      if (attempt >= maxAttempts || !(shouldRetry?.(error, attempt) ?? !mayStillRun)) throw error;
      const limit = Math.min(MAX_RETRY_DELAY_MS, baseDelayMs * 2 ** (attempt - 1));
      await sleep(randomFraction() * limit, run.deadline.signal);
    }
  }
}

async function runOnce(run: ToolRun): Promise<ToolOutput> {
  const { tool, input, context, deadline, acquire } = run;
  let snapshots: SnapshotQueue | undefined; // made by the first snapshot, which most tools do not have
  let isOver = false;
  const show = async (snapshot: ToolOutput): Promise<void> => {
    if (!isOver) await (snapshots ??= run.newSnapshots()).show(snapshot);
  };
  const emit = (snapshot: unknown): void => void show(toToolOutput(snapshot));
  try {
    const output = await runLimited(deadline, async (limit) => {
      const release = acquire && (await limit.untimed(acquire(limit.signal)));
      try {
        const toolContext: ToolContext = {
          ...context,
          emit,
          get signal() {
            return limit.signal; // made for tools that ask for it
          },
        };
        // The only cast: `execute` takes the output of the schema, and `input` has passed the schema.
        const returned: unknown = await tool.execute(input as never, toolContext);
        const items = iteratorOf(returned);
        if (items === undefined) return toToolOutput(returned);
        return await lastOf(items, (snapshot) => limit.untimed(show(snapshot)), limit.signal);
      } finally {
        release?.();
      }
    });
    await snapshots?.flush(); // outside of the deadline: slow viewers are not the tool's fault
    return output;
  } finally {
    isOver = true;
    snapshots?.close();
  }
}

/** Reads a generator to its end and returns the last value. @throws Error after too many snapshots */
async function lastOf(
  items: AnyIterator,
  show: (snapshot: ToolOutput) => Promise<void>,
  signal: AbortSignal,
): Promise<ToolOutput> {
  let last: ToolOutput | undefined;
  let isDone = false;
  const unlink = whenAborted(signal, () => void close(items));
  try {
    for (let count = 1; count <= MAX_SNAPSHOTS; count++) {
      const item = await items.next();
      const value: unknown = await item.value;
      signal.throwIfAborted();
      if (item.done) {
        isDone = true;
        return value === undefined && last !== undefined ? last : toToolOutput(value);
      }
      last = toToolOutput(value);
      await show(last);
      if (count % SNAPSHOTS_BETWEEN_PAUSES === 0) await yieldToEventLoop();
    }
    throw new Error(`The tool gave more than ${MAX_SNAPSHOTS} snapshots, and no end was in sight.`);
  } finally {
    unlink();
    if (!isDone && !signal.aborted) void close(items);
  }
}

interface AnyIterator {
  next(): Promise<IteratorResult<unknown, unknown>> | IteratorResult<unknown, unknown>;
  return?(): unknown;
}

/** The iterator of a generator or another async iterable. A list, map or set is a plain value. */
function iteratorOf(value: unknown): AnyIterator | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (Symbol.asyncIterator in value) return (value as AsyncIterable<unknown>)[Symbol.asyncIterator]();
  return Symbol.iterator in value && 'next' in value
    ? (value as Iterable<unknown>)[Symbol.iterator]()
    : undefined;
}

/** Lets a generator run its `finally` blocks. Nothing waits for them. */
async function close(items: AnyIterator): Promise<void> {
  try {
    await items.return?.();
  } catch {
    // The tool call already has its outcome.
  }
}
