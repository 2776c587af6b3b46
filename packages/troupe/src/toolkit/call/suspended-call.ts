import type { ToolUseBlock } from '../../message/blocks.ts';
import { isPendingCall, type PendingCall } from '../../message/pending-call.ts';
import { toUserQuestion } from '../../message/user-question.ts';
import { copyJson } from '../../util/json.ts';
import { foreignSourceOf } from '../tool/known-tools.ts';
import type { Suspension, ToolSuspension } from '../tool/tool-suspension.ts';
import type { Tool } from '../tool/tool.ts';
import type { SuspendedToolCall } from './tool-call-outcome.ts';

/** Facts about a pending tool call for the person who decides. */
type PendingFacts = {
  readonly [Key in 'reason' | 'suggestions' | 'isAskedEachTime']?: PendingCall[Key] | undefined;
};

/** Suspends a tool call that needs an approval to run. */
export function suspendedForApproval(call: ToolUseBlock, facts: PendingFacts, tool: Tool): SuspendedToolCall {
  return suspended(suspension('approval', call, facts), tool);
}

/**
 * Suspends a tool call whose tool threw: the thrown value becomes data here, and nowhere else.
 * @throws the thrown value, if it names no pending tool calls to decide; NotJsonError if its state can't be saved
 */
export function suspendedByTool(thrown: ToolSuspension, call: ToolUseBlock, tool: Tool): SuspendedToolCall {
  const { reason, nested, asked } = thrown;
  if (asked !== undefined)
    return suspended({ ...asked, kind: 'question', call, question: toUserQuestion(asked.question) }, tool);
  if (nested === undefined) return suspended(suspension('external', call, { reason }), tool);
  const { pending } = nested;
  if (!Array.isArray(pending) || pending.length === 0 || !pending.every(isPendingCall)) throw thrown;
  const state = copyJson(nested.state, 'the state of a suspended tool');
  return suspended({ kind: 'nested', pending, state }, tool);
}

/** @param tool what a decision allows is bound to the source of the tool */
function suspended(suspension: Suspension, tool: Tool): SuspendedToolCall {
  const source = foreignSourceOf(tool);
  return { kind: 'suspended', suspension: { ...suspension, ...(source !== undefined && { source }) } };
}

function suspension(
  kind: 'approval' | 'external',
  call: ToolUseBlock,
  { reason, suggestions = [], isAskedEachTime = false }: PendingFacts,
): Suspension {
  return {
    kind,
    call,
    ...(reason !== undefined && { reason }),
    ...(suggestions.length > 0 && { suggestions }),
    ...(isAskedEachTime && { isAskedEachTime }),
  };
}
