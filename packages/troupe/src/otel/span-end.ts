import { TroupeError } from '../errors.ts';
import type { FinishReason } from '../message/model-delta.ts';
import type { Usage } from '../message/usage.ts';
import { ModelError } from '../model/model-error.ts';
import type { SpanOutcome, SpanStatus, TracedOperation } from '../tracing/traced-operation.ts';
import { isJsonObject } from '../util/json.ts';
import { redactedMessage } from '../util/redaction/redacted-text.ts';
import { cutText } from '../util/text.ts';
import { ATTRIBUTES } from './attribute-names.ts';
import type { SafeText } from './safe-text.ts';
import { outputOf } from './message-parts.ts';
import type { AttributeTable } from './span-start.ts';

/** The failure of a span. */
export interface SpanProblem {
  /** Kind of a failed model call, code of the error, name of its class, or the status. */
  readonly type: string;
  /** One redacted line; undefined where a text of the program may hold content of the conversation. */
  readonly message: string | undefined;
}

const MAX_MESSAGE_CHARS = 500;
const FINISH_REASONS: Partial<Record<FinishReason, string>> = { tool_calls: 'tool_call', other: 'unknown' };
/** Nothing went wrong: a decision is awaited, or a tool call was denied as it should be. */
const NO_FAILURES: readonly SpanStatus[] = ['ok', 'suspended', 'denied'];

/** Attributes that are known when an operation has ended. Usage is on the spans of models only, so that sums count it once. */
export function endAttributes({ type }: TracedOperation, outcome: SpanOutcome): AttributeTable {
  const { status, answer, finishReason } = outcome;
  return {
    [ATTRIBUTES.status]: status,
    ...(type === 'model' || type === 'embedding' ? usageAttributes(outcome.usage) : {}),
    [ATTRIBUTES.responseId]: outcome.responseId,
    [ATTRIBUTES.responseFinishReasons]: finishReason && [finishReasonOf(finishReason)],
    [ATTRIBUTES.messageId]: type === 'agent' ? answer?.id : undefined,
    [type === 'format' ? ATTRIBUTES.formatCount : ATTRIBUTES.resultCount]: outcome.count,
    [ATTRIBUTES.compressionChanged]: outcome.hasChanged,
    [ATTRIBUTES.sessionRevision]: outcome.revision,
  };
}

/** Attributes with content of the conversation: the answer of an agent or model, the result of a tool or function. */
export function endContent({ type }: TracedOperation, outcome: SpanOutcome, text: SafeText): AttributeTable {
  const { status, answer, toolResult, finishReason = answer?.finishReason ?? 'stop' } = outcome;
  return {
    [ATTRIBUTES.outputMessages]: answer && text.messages([answer], finishReasonOf(finishReason)),
    [ATTRIBUTES.toolCallResult]: toolResult && text.json(outputOf(toolResult.output)),
    [ATTRIBUTES.functionOutput]:
      type === 'function' && status === 'ok' ? text.value(outcome.output) : undefined,
  };
}

/** The problem of an operation that failed or was stopped. An agent call that answered an interrupt has none. */
export function spanProblemOf(
  { type }: TracedOperation,
  outcome: SpanOutcome,
  capturesContent: boolean,
): SpanProblem | undefined {
  const { status, error } = outcome;
  if (NO_FAILURES.includes(status) || (type === 'agent' && outcome.answer !== undefined)) return undefined;
  if (error === undefined) return { type: status === 'error' ? 'tool_error' : status, message: undefined };
  if (!(error instanceof Error) && isJsonObject(error) && typeof error['code'] === 'string')
    return { type: error['code'], message: lineOf(error['message']) };
  const isSafe = TroupeError.isInstance(error) || capturesContent;
  return { type: errorTypeOf(error), message: isSafe ? lineOf(error) : undefined };
}

function errorTypeOf(error: unknown): string {
  if (ModelError.isInstance(error)) return error.kind;
  if (TroupeError.isInstance(error)) return error.code;
  return error instanceof Error ? cutText(error.constructor.name, 100) : typeof error;
}

function lineOf(error: unknown): string {
  return cutText(redactedMessage(error), MAX_MESSAGE_CHARS);
}

function usageAttributes(usage: Usage | undefined): AttributeTable {
  if (usage === undefined) return {};
  return {
    [ATTRIBUTES.inputTokens]: usage.inputTokens,
    [ATTRIBUTES.outputTokens]: usage.outputTokens,
    [ATTRIBUTES.cacheReadTokens]: usage.cachedTokens,
    [ATTRIBUTES.cacheWriteTokens]: usage.cacheWriteTokens,
    [ATTRIBUTES.reasoningTokens]: usage.reasoningTokens,
    [ATTRIBUTES.cost]: usage.cost,
  };
}

/** A finish reason in the words of the conventions. */
function finishReasonOf(reason: FinishReason): string {
  return FINISH_REASONS[reason] ?? reason;
}
