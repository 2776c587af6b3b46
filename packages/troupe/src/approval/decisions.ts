import { messageOf, TroupeError } from '../errors.ts';
import { toBlock, type ToolResultBlock, type ToolUseBlock } from '../message/blocks.ts';
import type { PendingCall, PendingDecision } from '../message/pending-call.ts';
import { copyJsonObject, describe, type JsonObject } from '../util/json.ts';

/** What a decision comes to: a result, or leave to run, with other arguments or with those that were asked about. */
export type Verdict = ToolResultBlock | { readonly type: 'grant'; readonly input: JsonObject | undefined };

/** What is wanted of a result that comes from outside, such as that it is not too long. */
export type FitResult = (result: ToolResultBlock) => ToolResultBlock;

/** Decisions as they can be saved; what looks like one by its prototype, or by a getter, is none. @throws TroupeError */
export function readDecisions(given: readonly PendingDecision[]): readonly PendingDecision[] {
  if (!Array.isArray(given))
    throw new TroupeError('decision_refused', `decisions must be a list, not ${describe(given)}.`);
  return given.map((decision: unknown, i) => {
    try {
      return copyJsonObject(decision, 'it') as JsonObject & PendingDecision;
    } catch (error) {
      throw new TroupeError('decision_refused', `decisions[${i}] is none: ${messageOf(error)}.`);
    }
  });
}

/** @throws TroupeError if the decision says what can't be said about the call. */
export function verdictOf(decision: PendingDecision, pending: PendingCall, fit: FitResult): Verdict {
  const { id, kind, call } = pending;
  try {
    switch (decision.verdict) {
      case 'allow':
        if (kind === 'external') throw refused(id, 'is run elsewhere: supply its result');
        checkScope(decision.scope);
        return { type: 'grant', input: editedInput(decision.input) };
      case 'deny':
        return fit(toResult(call, rejectionText(decision.reason), 'denied'));
      case 'result':
        return fit(toResult(call, decision.output, decision.status ?? 'ok'));
    }
  } catch (error) {
    if (TroupeError.isInstance(error) && error.code === 'decision_refused') throw error;
    throw refused(id, `can't be decided so: ${messageOf(error).replace(/\.$/, '')}`);
  }
  throw refused(id, "needs a verdict: 'allow', 'deny' or 'result'");
}

export function refused(id: unknown, problem: string): TroupeError {
  return new TroupeError('decision_refused', `The pending call '${String(id).slice(0, 64)}' ${problem}.`);
}

function checkScope(scope: unknown): void {
  if (scope !== undefined && scope !== 'once' && scope !== 'run')
    throw new TypeError("scope must be 'once' or 'run'");
}

function editedInput(input: unknown): JsonObject | undefined {
  return input === undefined ? undefined : copyJsonObject(input, 'input');
}

function toResult(
  { id, name }: ToolUseBlock,
  output: ToolResultBlock['output'],
  status: ToolResultBlock['status'],
): ToolResultBlock {
  return toBlock({ type: 'tool_result', id, name, output, status }, 'result') as ToolResultBlock;
}

function rejectionText(reason: unknown = ''): string {
  if (typeof reason !== 'string') throw new TypeError(`reason must be a text, not ${describe(reason)}`);
  return `PermissionDenied: The user did not allow the call, and it did not run${reason === '' ? '.' : `: ${reason}`}`;
}
