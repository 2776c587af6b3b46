import type { AutoContextLimits } from './auto-context-options.ts';

/** Share of removable tokens to remove after the model refused a prompt. */
const FORCED_SHARE = 0.5;
/**
 * Share of removable tokens left by the last resort, so that the next message does not exceed the limit
 * again.
 */
const SHARE_LEFT = 0.75;
/** Share of removable tokens, and of messages, left by a summary of the history, so that it lasts for several rounds. */
export const HISTORY_SHARE_LEFT = 0.5;

/** Token limits of one prompt. Shares refer to removable tokens only. */
export interface PromptLimits {
  /** Tokens that can't be removed: system prompt, tools, hints and fixed units. */
  readonly fixed: number;
  /** True if the fixed tokens are below the limit. */
  readonly isPossible: boolean;
  /** Tokens left after the last resort has removed the oldest messages. */
  readonly goal: number;
  /** Tokens left after a summary of the history. */
  readonly historyGoal: number;
  /**
   * Limit below which unread tool results stay unchanged: the whole window if fixed tokens exceed the limit.
   */
  readonly limitForUnread: number;
}

/** Token limit: compression starts at this number. */
export function tokenLimitOf({ maxToken, tokenRatio }: AutoContextLimits): number {
  return Math.floor(maxToken * tokenRatio);
}

/** Token limit for a retry after the model refused a prompt. */
export function limitAfterRefusal(tokens: number, fixed: number, limits: AutoContextLimits): number {
  const limit = tokenLimitOf(limits);
  const upper = fixed < limit ? Math.min(tokens, limit) : tokens;
  return Math.floor(fixed + (upper - fixed) * FORCED_SHARE);
}

export function promptLimitsFor(fixed: number, limit: number, maxToken: number): PromptLimits {
  const isPossible = fixed < limit;
  return {
    fixed,
    isPossible,
    goal: isPossible ? Math.floor(fixed + (limit - fixed) * SHARE_LEFT) : limit,
    historyGoal: isPossible ? Math.floor(fixed + (limit - fixed) * HISTORY_SHARE_LEFT) : limit,
    limitForUnread: isPossible ? limit : Math.max(limit, maxToken),
  };
}
