import type { PromptItem } from '../../formatter/prompt.ts';
import type { GenerationOptions } from '../../model/chat-model-base.ts';
import type { JsonObject } from '../../util/json.ts';
import { beginsWithThinking } from './anthropic-to-wire.ts';
import type { ClaudeModel } from './claude-models.ts';

/** Thinking settings of a model call. */
export interface ThinkingPlan {
  readonly isOn: boolean;
  /** Value of the field `thinking`, if sent. */
  readonly field?: JsonObject | undefined;
  readonly effort?: string | undefined;
  /** Token budget for thinking; 0 leaves the budget to the model. */
  readonly budget: number;
  /** Whether earlier thinking is sent back. */
  readonly keepsEarlier: boolean;
}

/** Minimum of both the thinking budget and the answer. */
const MIN_TOKENS = 1024;
const BUDGETS = { minimal: MIN_TOKENS, low: 2048, medium: 8192, high: 16_384, xhigh: 32_000 };
const EFFORTS = { minimal: 'low', low: 'low', medium: 'medium', high: 'high' };

/** Beta name to request in the header `anthropic-beta`. */
export const BINDING_BETA = 'thinking-binding-controls-2026-08-01';
/**
 * Drops thinking that no longer matches the history instead of failing, because memories delete and compress.
 */
const DROP_MISMATCHED = { block_binding: { prefix_mismatch_behavior: 'drop_block' } };

export function planThinking(
  { reasoningEffort: effort, thinkingTokens: tokens }: GenerationOptions,
  model: ClaudeModel,
  items: readonly PromptItem[],
): ThinkingPlan {
  const isOff = effort === 'none' || tokens === 0;
  const isAsked = !isOff && (effort !== undefined || tokens !== undefined);
  const plan = { isOn: false, budget: 0, keepsEarlier: model.thinking !== 'none' };
  if (model.thinking === 'adaptive') return { ...plan, ...adaptive(model, effort, isOff, isAsked) };
  if (model.thinking === 'none' || !isAsked || isTurnWithoutThinking(items)) return plan;
  const wanted = tokens ?? BUDGETS[effort ?? 'medium'];
  const budget = Math.max(MIN_TOKENS, Math.min(Math.floor(wanted), model.maxOutput - MIN_TOKENS));
  return { ...plan, isOn: true, budget, field: { type: 'enabled', budget_tokens: budget } };
}

function adaptive(
  model: ClaudeModel,
  effort: GenerationOptions['reasoningEffort'],
  isOff: boolean,
  isAsked: boolean,
): Partial<ThinkingPlan> {
  const { thinkingOff, bindsThinking } = model;
  if (isOff && thinkingOff !== 'never') {
    return {
      ...(thinkingOff !== 'unasked' && { field: { type: thinkingOff } }),
      keepsEarlier: !bindsThinking,
    };
  }
  return {
    isOn: isAsked || thinkingOff !== 'unasked',
    ...((isAsked || bindsThinking) && {
      field: {
        type: 'adaptive',
        ...(isAsked && { display: 'summarized' }),
        ...(bindsThinking && DROP_MISMATCHED),
      },
    }),
    effort: isOff ? 'low' : effortOf(effort, model),
  };
}

function effortOf(effort: GenerationOptions['reasoningEffort'], model: ClaudeModel): string | undefined {
  if (effort === undefined || effort === 'none') return undefined;
  return effort === 'xhigh' ? model.topEffort : EFFORTS[effort];
}

/**
 * Whether the tool calls at the end of the history belong to a turn that began without thinking, by another
 * model or with thinking off. Models with a thinking budget can't start thinking in the middle of a turn.
 */
function isTurnWithoutThinking(items: readonly PromptItem[]): boolean {
  if (items.at(-1)?.role !== 'tool') return false;
  const start = items.findLastIndex(({ role }) => role === 'user' || role === 'system') + 1;
  const first = items[start];
  return first?.role === 'assistant' && !beginsWithThinking(first);
}
