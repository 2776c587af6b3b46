import type { ToolUseBlock } from '../../message/blocks.ts';
import { describe } from '../../util/json.ts';
import type { ToolResponse } from '../tool/tool-response.ts';
import type { ToolCallResult } from '../tool/tool.ts';
import { resulting, type SuspendedToolCall, type ToolCallOutcome } from './tool-call-outcome.ts';

/** Facts about a tool call for middleware. */
export interface ToolCallContext {
  readonly signal: AbortSignal;
  readonly context: unknown;
  readonly agentName: string | undefined;
}

type MiddlewareResult = ToolCallResult | SuspendedToolCall | ToolResponse | string;
type ChunkResult = ToolCallResult | ToolResponse | string | undefined;

export interface NextOptions {
  /**
   * Changes each snapshot of a streaming tool before anybody sees it; nothing in its place holds the snapshot back.
   * @default no snapshot gets out: the middleware may have something to hide in them
   */
  readonly mapChunk?: ((snapshot: ToolCallResult) => ChunkResult | Promise<ChunkResult>) | undefined;
}

/**
 * Continues with the tool call, or with another one in its place; every use runs the tool. A suspended tool call has no
 * result yet: see `isSuspended`.
 */
export type NextToolCall = (
  call?: ToolUseBlock,
  options?: NextOptions,
) => Promise<ToolCallResult | SuspendedToolCall>;

/** Passes a snapshot outwards through the middlewares; undefined if it is held back. */
export type PassChunk = (snapshot: ToolCallResult) => Promise<ToolCallResult | undefined>;

/**
 * Surrounds every tool call: may change the tool call, answer without running the tool, or change the result. `next`
 * rejects only if the tool call is interrupted; from then on no tool runs. Snapshots of a streaming tool get out only
 * through `mapChunk` of `next`.
 *
 * A suspended tool call stays suspended, whatever the middleware returns or throws; when the tool call is resumed, the
 * middleware runs again.
 */
export type ToolMiddleware = (
  call: ToolUseBlock,
  next: NextToolCall,
  context: ToolCallContext,
) => MiddlewareResult | Promise<MiddlewareResult>;

/** Sends a tool call through the middlewares, the first of which is the outermost, to `run`. */
export async function throughMiddlewares(
  middlewares: readonly ToolMiddleware[],
  call: ToolUseBlock,
  context: ToolCallContext,
  run: (call: ToolUseBlock, passChunk: PassChunk) => Promise<ToolCallOutcome>,
  toResult: (value: unknown) => ToolCallResult,
): Promise<ToolCallOutcome> {
  const passing =
    ({ mapChunk }: NextOptions, outwards: PassChunk): PassChunk =>
    async (snapshot) => {
      const given = await mapChunk?.(snapshot);
      return given === undefined ? undefined : outwards(toResult(given));
    };
  const enter = async (index: number, call: ToolUseBlock, passChunk: PassChunk): Promise<ToolCallOutcome> => {
    const middleware = middlewares[index];
    if (middleware === undefined) return run(call, passChunk);
    const inner: { suspended?: SuspendedToolCall } = {}; // beside the results: middleware can't turn it into one
    const runInner: NextToolCall = async (changed = call, options = {}) => {
      const outcome = await enter(index + 1, changed, passing(options, passChunk));
      if (outcome.kind === 'result') return outcome.result;
      inner.suspended = outcome;
      return outcome;
    };
    const next: NextToolCall = (changed, options) => {
      const result = runInner(changed, options);
      result.catch(() => {}); // a middleware need not await the promise
      return result;
    };
    try {
      const returned = await middleware(call, next, context);
      return inner.suspended ?? resulting(toResult(checked(returned)));
    } catch (error) {
      if (inner.suspended !== undefined) return inner.suspended;
      throw error;
    }
  };
  return enter(0, call, async (snapshot) => snapshot);
}

function checked(returned: unknown): unknown {
  if (returned !== undefined && returned !== null) return returned;
  throw new TypeError(
    `A tool middleware returned ${describe(returned)}. It must return the result of next(), or a result of its own.`,
  );
}
