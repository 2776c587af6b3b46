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

/**
 * Continues with the tool call, or with another one in its place; every use runs the tool. A suspended tool call has no
 * result yet: see `isSuspended`.
 */
export type NextToolCall = (call?: ToolUseBlock) => Promise<ToolCallResult | SuspendedToolCall>;

type MiddlewareResult = ToolCallResult | SuspendedToolCall | ToolResponse | string;

/**
 * Surrounds every tool call: may change the tool call, answer without running the tool, or change the result. `next`
 * rejects only if the tool call is interrupted; from then on no tool runs.
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
  run: (call: ToolUseBlock) => Promise<ToolCallOutcome>,
  toResult: (value: unknown) => ToolCallResult,
): Promise<ToolCallOutcome> {
  const enter = async (index: number, call: ToolUseBlock): Promise<ToolCallOutcome> => {
    const middleware = middlewares[index];
    if (middleware === undefined) return run(call);
    const inner: { suspended?: SuspendedToolCall } = {}; // beside the results: middleware can't turn it into one
    const runInner: NextToolCall = async (changed = call) => {
      const outcome = await enter(index + 1, changed);
      if (outcome.kind === 'result') return outcome.result;
      inner.suspended = outcome;
      return outcome;
    };
    const next: NextToolCall = (changed) => {
      const result = runInner(changed);
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
  return enter(0, call);
}

function checked(returned: unknown): unknown {
  if (returned !== undefined && returned !== null) return returned;
  throw new TypeError(
    `A tool middleware returned ${describe(returned)}. It must return the result of next(), or a result of its own.`,
  );
}
