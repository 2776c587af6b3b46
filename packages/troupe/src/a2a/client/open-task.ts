import type { Part } from '@a2a-js/sdk';

import { TroupeError } from '../../errors.ts';
import type { ToolOutputBlock, ToolUseBlock } from '../../message/blocks.ts';
import type { PendingCall, PendingDecision } from '../../message/pending-call.ts';
import {
  QUESTION_LIMITS,
  toUserQuestion,
  type UserAnswer,
  type UserQuestion,
} from '../../message/user-question.ts';
import { newId } from '../../util/ids.ts';
import { copyJson, copyJsonObject, isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';
import { cutText } from '../../util/text.ts';
import { dataOf } from '../protocol/data-block.ts';
import { dataPart, textPart, toParts } from '../protocol/parts.ts';

/** Pending tool call of the remote agent, under an id of our own, because remote ids are untrusted. */
interface RemoteCall {
  readonly pending: PendingCall;
  /** Id at the remote agent; null for a question in text. */
  readonly remoteId: string | null;
}

const MAX_CALLS = 100;
/** Questions for tasks without a question of their own. */
const NO_QUESTION = {
  input_required: 'The remote agent needs input.',
  auth_required: 'The remote agent needs a login.',
};

/** Remote task that waits for input. Part of the agent's state as JSON. */
export class OpenTask {
  constructor(
    readonly taskId: string,
    readonly calls: readonly RemoteCall[],
  ) {}

  /**
   * Reads the request of a waiting task. Pending tool calls sent as data become pending tool calls; any other
   * request becomes one question in words.
   */
  static from(
    taskId: string,
    state: 'input_required' | 'auth_required',
    closing: readonly ToolOutputBlock[],
    agentPath: readonly string[],
  ): OpenTask {
    const named = closing.flatMap((block) => namedCalls(block) ?? []);
    const calls = named.slice(0, MAX_CALLS).flatMap((one) => remoteCall(one, agentPath) ?? []);
    if (calls.length > 0) return new OpenTask(taskId, calls);
    const question = closing.flatMap((block) => (block.type === 'text' ? block.text : [])).join('\n');
    const call: ToolUseBlock = { type: 'tool_use', id: newId('call_'), name: state, input: { question } };
    const message = cutText(question, QUESTION_LIMITS.maxChars).trim() || NO_QUESTION[state];
    const pending: PendingCall = {
      id: newId('pending_'),
      agentPath,
      kind: 'question',
      call,
      question: { message },
    };
    return new OpenTask(taskId, [{ pending, remoteId: null }]);
  }

  get pending(): readonly PendingCall[] {
    return this.calls.map(({ pending }) => pending);
  }

  /** Message parts for decisions. @throws TroupeError if a decision matches no pending tool call. */
  partsFor(decisions: readonly PendingDecision[]): readonly Part[] {
    const forwarded: JsonValue[] = [];
    const answers = decisions.flatMap((decision) => {
      const call = this.calls.find(({ pending }) => pending.id === decision.id);
      if (call === undefined)
        throw refused(
          decision.id,
          'was never asked for, or has been decided already: read pendingCalls again',
        );
      if (call.remoteId !== null) {
        forwarded.push(copyJson({ ...decision, id: call.remoteId }, 'decision'));
        return [];
      }
      if (decision.verdict === 'allow')
        throw refused(decision.id, "is a question: give the verdict 'answer' or 'deny'");
      if (decision.verdict === 'deny') return [textPart(decision.reason ?? 'The question was not answered.')];
      if (decision.verdict === 'answer') return answerParts(decision.answer);
      const { output } = decision;
      return typeof output === 'string' ? [textPart(output)] : toParts(output);
    });
    return forwarded.length === 0 ? answers : [...answers, dataPart({ decisions: forwarded })];
  }

  toJSON(): JsonObject {
    return copyJsonObject({ taskId: this.taskId, calls: this.calls }, 'the open task');
  }

  /** @throws TypeError if the JSON was not made by `toJSON`. */
  static fromJson(json: JsonValue): OpenTask {
    if (!isJsonObject(json)) throw new TypeError('it is no object');
    const { taskId, calls } = json;
    if (typeof taskId !== 'string' || !Array.isArray(calls)) throw new TypeError('it has no task');
    if (calls.length === 0) throw new TypeError('it waits for nothing');
    return new OpenTask(
      taskId,
      (calls as readonly JsonValue[]).map((one) => {
        const pending = isJsonObject(one) ? toPending(one['pending']) : undefined;
        const remoteId = isJsonObject(one) ? one['remoteId'] : undefined;
        if (pending !== undefined && (typeof remoteId === 'string' || remoteId === null))
          return { pending, remoteId };
        throw new TypeError('a pending tool call of the task is invalid');
      }),
    );
  }
}

/** Pending tool calls named in a data block. */
export function namedCalls(block: ToolOutputBlock): readonly JsonValue[] | undefined {
  const data = dataOf(block);
  const list = isJsonObject(data) ? data['pending'] : undefined;
  return Array.isArray(list) ? (list as readonly JsonValue[]) : undefined;
}

/** Validates a pending tool call from the remote agent. */
function remoteCall(json: JsonValue, agentPath: readonly string[]): RemoteCall | undefined {
  const pending = toPending(json);
  if (pending === undefined) return undefined;
  const path = [...agentPath, ...pending.agentPath];
  return { pending: { ...pending, id: newId('pending_'), agentPath: path }, remoteId: pending.id };
}

function toPending(json: JsonValue | undefined): PendingCall | undefined {
  if (!isJsonObject(json)) return undefined;
  const { id, agentPath, kind, call, reason } = json;
  const question = kind === 'question' ? questionFrom(json['question']) : undefined;
  const isKnown = kind === 'approval' || kind === 'external' || question !== undefined;
  if (typeof id !== 'string' || !isKnown || !isJsonObject(call)) return undefined;
  const { id: callId, name, input } = call;
  if (typeof callId !== 'string' || typeof name !== 'string' || !isJsonObject(input)) return undefined;
  const path = Array.isArray(agentPath) ? agentPath.filter((one) => typeof one === 'string') : [];
  return {
    id,
    agentPath: path,
    kind: question === undefined ? (kind === 'approval' ? kind : 'external') : 'question',
    call: { type: 'tool_use', id: callId, name, input },
    ...(typeof reason === 'string' && { reason }),
    ...(question && { question }),
  };
}

/** A question of the remote agent, if it is one and not too large. */
function questionFrom(json: JsonValue | undefined): UserQuestion | undefined {
  try {
    return toUserQuestion(json, QUESTION_LIMITS);
  } catch {
    return undefined;
  }
}

function answerParts(answer: UserAnswer = ''): readonly Part[] {
  if (typeof answer === 'string') return [textPart(answer)];
  return [isJsonObject(answer) ? dataPart(answer) : textPart(answer.join(', '))];
}

function refused(id: unknown, problem: string): TroupeError {
  return new TroupeError(
    'decision_refused',
    `The pending tool call '${String(id).slice(0, 64)}' ${problem}.`,
  );
}
