import type { SpanOutcome } from '../../tracing/traced-operation.ts';
import type { Suspension } from '../tool/tool-suspension.ts';
import type { ToolCallResult } from '../tool/tool.ts';

/** A tool call without a result yet: a person, or another program, has to decide or to supply the result. */
export interface SuspendedToolCall {
  readonly kind: 'suspended';
  readonly suspension: Suspension;
}

/** Outcome of running a tool call. JSON, so that a step can be recorded and replayed. */
export type ToolCallOutcome =
  | { readonly kind: 'result'; readonly result: ToolCallResult }
  | SuspendedToolCall;

export function resulting(result: ToolCallResult): ToolCallOutcome {
  return { kind: 'result', result };
}

/** Outcome of a tool call for its span. */
export function spanOutcomeOf(outcome: ToolCallOutcome): SpanOutcome {
  if (outcome.kind === 'suspended') return { status: 'suspended' };
  return { status: outcome.result.status, toolResult: outcome.result };
}

/** Whether `acting` of an agent, or `next` of a middleware, gave a suspension in place of a tool result. */
export function isSuspended(value: unknown): value is SuspendedToolCall {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'suspended';
}
