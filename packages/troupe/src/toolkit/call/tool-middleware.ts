import type { ToolUseBlock } from '../../message/blocks.ts';
import { describe } from '../../util/json.ts';
import type { ToolResponse } from '../tool/tool-response.ts';
import type { ToolCallResult } from '../tool/tool.ts';

/** What a middleware may know of a call. */
export interface ToolCallContext {
  readonly signal: AbortSignal;
  readonly context: unknown;
  readonly agentName: string | undefined;
}

/** Goes on with the call, or with another one in its place. Each time that it is called, the tool runs. */
export type NextToolCall = (call?: ToolUseBlock) => Promise<ToolCallResult>;

type MiddlewareResult = ToolCallResult | ToolResponse | string;

/**
 * Stands around every tool call: it may change the call, answer it by itself, or change the result. `next` rejects
 * only if the call is interrupted, and from then on no tool is run any more.
 */
export type ToolMiddleware = (
  call: ToolUseBlock,
  next: NextToolCall,
  context: ToolCallContext,
) => MiddlewareResult | Promise<MiddlewareResult>;

/** Sends a call through the middlewares, the first of which is the outermost, to `last`. */
export async function throughMiddlewares(
  middlewares: readonly ToolMiddleware[],
  call: ToolUseBlock,
  context: ToolCallContext,
  last: (call: ToolUseBlock) => Promise<ToolCallResult>,
  toResult: (value: unknown) => ToolCallResult,
): Promise<ToolCallResult> {
  const enter = async (index: number, call: ToolUseBlock): Promise<ToolCallResult> => {
    const middleware = middlewares[index];
    if (middleware === undefined) return last(call);
    const next: NextToolCall = (changed = call) => {
      const result = enter(index + 1, changed);
      result.catch(() => {}); // a middleware may not wait for it
      return result;
    };
    const result: unknown = await middleware(call, next, context);
    if (result === undefined || result === null) {
      throw new TypeError(
        `A tool middleware returned ${describe(result)}. It must return what next() gave, or a result.`,
      );
    }
    return toResult(result);
  };
  return enter(0, call);
}
