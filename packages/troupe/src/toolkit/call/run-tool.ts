import { whenAborted } from '../../util/abort.ts';
import { sleep } from '../../util/clock.ts';
import { randomFraction } from '../../util/ids.ts';
import { yieldToEventLoop } from '#platform';
import { DeadlineError, withDeadline, type DeadlineOptions } from '../../util/async/deadline.ts';
import type { Snapshots } from './snapshots.ts';
import { toToolOutput, type ToolOutput } from '../tool/tool-output.ts';
import { ToolSuspension } from '../tool/tool-suspension.ts';
import type { Tool, ToolContext } from '../tool/tool.ts';

/** A generator that yields more than that is taken for an endless one. */
const MAX_SNAPSHOTS = 100_000;
/** After so many snapshots without a pause timers and interrupts get a chance. */
const SNAPSHOTS_BETWEEN_PAUSES = 64;
const DEFAULT_RETRY_DELAY_MS = 500;
const MAX_RETRY_DELAY_MS = 30_000;

export interface ToolRun {
  readonly tool: Tool;
  /** Arguments that the tool's schema has checked. */
  readonly input: unknown;
  readonly context: Omit<ToolContext, 'signal' | 'emit'>;
  readonly deadline: DeadlineOptions;
  /** Waits until the tool may run; what it resolves to is told when the tool has ended. @default it may at once */
  readonly takePlace?: ((signal: AbortSignal) => Promise<() => void>) | undefined;
  /** Made anew for each attempt: what an earlier one shows late doesn't count. */
  readonly newSnapshots: () => Snapshots;
}

/**
 * Runs a tool, with retries where the tool asks for them. A `ToolSuspension` is caught here, the one place, and returned.
 * @throws the error of the last attempt, a `DeadlineError`, or the reason of the caller's signal.
 */
export async function runTool(run: ToolRun): Promise<ToolOutput | ToolSuspension> {
  const { maxAttempts = 1, shouldRetry, baseDelayMs = DEFAULT_RETRY_DELAY_MS } = run.tool.retry ?? {};
  for (let attempt = 1; ; attempt++) {
    try {
      return await runOnce(run);
    } catch (error) {
      run.deadline.signal?.throwIfAborted();
      if (ToolSuspension.isInstance(error)) return error;
      const mayStillRun = run.tool.sideEffect === true && error instanceof DeadlineError;
      if (attempt >= maxAttempts || !(shouldRetry?.(error, attempt) ?? !mayStillRun)) throw error;
      const limit = Math.min(MAX_RETRY_DELAY_MS, baseDelayMs * 2 ** (attempt - 1));
      await sleep(randomFraction() * limit, run.deadline.signal);
    }
  }
}

async function runOnce(run: ToolRun): Promise<ToolOutput> {
  const { tool, input, context, deadline, takePlace } = run;
  const snapshots = run.newSnapshots();
  const emit = (snapshot: unknown): void => void snapshots.show(toToolOutput(snapshot));
  try {
    const output = await withDeadline(deadline, async (signal, untimed) => {
      const leave = takePlace && (await untimed(takePlace(signal)));
      try {
        // The one cast: `execute` takes what the schema gives, and that has been checked.
        const returned: unknown = await tool.execute(input as never, { ...context, signal, emit });
        const items = iteratorOf(returned);
        const show = (snapshot: ToolOutput): Promise<void> => untimed(snapshots.show(snapshot));
        return items ? await lastOf(items, show, signal) : toToolOutput(returned);
      } finally {
        leave?.();
      }
    });
    await snapshots.flush(); // how long viewers take is not the tool's fault
    return output;
  } finally {
    snapshots.close();
  }
}

/** Goes through a generator to its end, which may never come. */
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

/** A generator, or something else that is iterated asynchronously. A mere list, map or set is a value. */
function iteratorOf(value: unknown): AnyIterator | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  if (Symbol.asyncIterator in value) return (value as AsyncIterable<unknown>)[Symbol.asyncIterator]();
  return Symbol.iterator in value && 'next' in value
    ? (value as Iterable<unknown>)[Symbol.iterator]()
    : undefined;
}

/** Lets a generator clean up. Whether it does, and how long that takes, is its own affair. */
async function close(items: AnyIterator): Promise<void> {
  try {
    await items.return?.();
  } catch {
    // Its result is known already.
  }
}
