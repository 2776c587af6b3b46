import type { AutoContextLimits } from './auto-context-options.ts';

/** If the model refused a prompt, this share of what can go has to. */
const FORCED_SHARE = 0.5;
/** More is taken out than has to be, so that the next message does not make it necessary again. */
const SHARE_TO_LEAVE = 0.75;

/** How many tokens a prompt may have. Shares are of what can be taken out only: the rest can't be helped. */
export interface PromptLimits {
  /** What must stay: the system prompt, the tools and hints, and what nobody may touch of the conversation. */
  readonly stays: number;
  /** Whether there is room for that. */
  readonly isPossible: boolean;
  /** How many are left once the oldest messages were taken out. */
  readonly goal: number;
  /** Fewer are enough to leave results alone that the model has yet to read: its whole window, if it can't be helped. */
  readonly limitForUnread: number;
}

/** How many tokens are too many. */
export function tokenLimitOf({ maxToken, tokenRatio }: AutoContextLimits): number {
  return Math.floor(maxToken * tokenRatio);
}

/** How many are too many after the model has refused a prompt. */
export function limitAfterRefusal(tokens: number, stays: number, limits: AutoContextLimits): number {
  const limit = tokenLimitOf(limits);
  const most = stays < limit ? Math.min(tokens, limit) : tokens;
  return Math.floor(stays + (most - stays) * FORCED_SHARE);
}

export function promptLimitsFor(stays: number, limit: number, maxToken: number): PromptLimits {
  const isPossible = stays < limit;
  return {
    stays,
    isPossible,
    goal: isPossible ? Math.floor(stays + (limit - stays) * SHARE_TO_LEAVE) : limit,
    limitForUnread: isPossible ? limit : Math.max(limit, maxToken),
  };
}
