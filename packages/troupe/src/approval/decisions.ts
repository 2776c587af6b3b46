import { messageOf, TroupeError } from '../errors.ts';
import { toBlock, type ToolResultBlock, type ToolUseBlock } from '../message/blocks.ts';
import type { PendingCall, PendingDecision } from '../message/pending-call.ts';
import type { UserAnswer, UserQuestion } from '../message/user-question.ts';
import { copyJsonObject, describe, type JsonObject } from '../util/json.ts';
import { answerText } from './answers.ts';
import { refused } from './refused.ts';

/** Effect of a decision: a tool result, or permission to run, with edited arguments or with those that were asked about. */
export type Verdict = ToolResultBlock | { readonly type: 'grant'; readonly input: JsonObject | undefined };

/** Cuts a result that was supplied from outside to the maximum length of its tool. */
export type FitResult = (result: ToolResultBlock) => ToolResultBlock;

/** Copies decisions as JSON, so that getters and prototypes have no effect later. @throws TroupeError if one is not JSON */
export function readDecisions(given: readonly PendingDecision[]): readonly PendingDecision[] {
  if (!Array.isArray(given))
    throw new TroupeError('decision_refused', `decisions must be a list, not ${describe(given)}.`);
  return given.map((decision: unknown, i) => {
    try {
      return copyJsonObject(decision, 'it') as JsonObject & PendingDecision;
    } catch (error) {
      throw new TroupeError('decision_refused', `decisions[${i}] is not readable: ${messageOf(error)}.`);
    }
  });
}

/** @throws TroupeError if the decision does not fit the kind of the pending tool call. */
export function toVerdict(decision: PendingDecision, pending: PendingCall, fit: FitResult): Verdict {
  const { id, kind, call, question } = pending;
  try {
    switch (decision.verdict) {
      case 'allow':
        if (kind === 'external') throw refused(id, 'is run elsewhere: supply its result');
        if (kind === 'question') throw refused(id, "is a question: give the verdict 'answer' or 'deny'");
        checkScope(decision.scope);
        checkConfinement(decision.confinement);
        return { type: 'grant', input: editedInput(decision.input) };
      case 'deny':
        return fit(toResult(call, rejectionText(kind, decision.reason), 'denied'));
      case 'answer':
        if (question === undefined) throw refused(id, 'is no question');
        return fit(answerResult(call, question, decision.answer));
      case 'result':
        return fit(toResult(call, decision.output, decision.status ?? 'ok'));
    }
  } catch (error) {
    if (TroupeError.isInstance(error) && error.code === 'decision_refused') throw error;
    throw refused(id, `has a decision that is not valid: ${messageOf(error).replace(/\.$/, '')}`);
  }
  throw refused(id, "needs a verdict: 'allow', 'deny', 'answer' or 'result'");
}

function checkScope(scope: unknown): void {
  if (scope !== undefined && scope !== 'once' && scope !== 'run')
    throw new TypeError("scope must be 'once' or 'run'");
}

function checkConfinement(confinement: unknown): void {
  if (confinement !== undefined && confinement !== 'none') throw new TypeError("confinement must be 'none'");
}

function editedInput(input: unknown): JsonObject | undefined {
  return input === undefined ? undefined : copyJsonObject(input, 'input');
}

/** The result of a question: readable text, with JSON for a form or choices, and the answer for the program. */
function answerResult(
  call: ToolUseBlock,
  question: UserQuestion,
  answer: UserAnswer | undefined,
): ToolResultBlock {
  const result = toResult(call, answerText(question, answer), 'ok');
  return answer === undefined ? result : { ...result, metadata: { answer } };
}

function toResult(
  { id, name }: ToolUseBlock,
  output: ToolResultBlock['output'],
  status: ToolResultBlock['status'],
): ToolResultBlock {
  return toBlock({ type: 'tool_result', id, name, output, status }, 'result') as ToolResultBlock;
}

function rejectionText(kind: PendingCall['kind'], reason: unknown = ''): string {
  if (typeof reason !== 'string') throw new TypeError(`reason must be a string, not ${describe(reason)}`);
  const what =
    kind === 'question'
      ? 'The user declined to answer'
      : 'PermissionDenied: The user did not allow the tool call, and the tool did not run';
  return `${what}${reason === '' ? '.' : `: ${reason}`}`;
}
