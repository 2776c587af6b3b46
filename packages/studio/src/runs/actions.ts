import type { ContentBlock, JsonObject } from 'troupe';
import { Msg } from 'troupe';
import type { UserAnswer } from 'troupe/ask-user';
import { validateWith } from 'troupe/kernel';
import { fieldProblems, type CommandBody, type CommandResult } from 'troupe/studio';

import type { Action, ActionRecord, ActionRequest, ActionResult, Decision, Waiting } from '../protocol.ts';
import { ApiFailure } from '../server/api-failure.ts';
import { isRecord } from '../store/json-text.ts';
import type { RunHub } from './run-hub.ts';

/** Where actions of a person go. */
export interface ActionTarget {
  command(runId: string, body: CommandBody): Promise<CommandResult>;
}

/** A run that answers questions in another way than by commands, such as a run of an AgentScope program. */
export type AnswerElsewhere = (
  runId: string,
  questionId: string,
  content: string | readonly ContentBlock[],
  structured: JsonObject | undefined,
) => boolean;

/** Checks actions of people, sends each to its program, and records it on the tape. */
export class Actions {
  readonly #hub: RunHub;
  readonly #target: ActionTarget;
  readonly #answerElsewhere: AnswerElsewhere;

  constructor(hub: RunHub, target: ActionTarget, answerElsewhere: AnswerElsewhere) {
    this.#hub = hub;
    this.#target = target;
    this.#answerElsewhere = answerElsewhere;
  }

  /** @throws ApiFailure */
  async perform(runId: string, body: unknown): Promise<ActionResult> {
    const { action, windowId } = readRequest(body);
    if (this.#hub.run(runId) === undefined) throw new ApiFailure('not_found', 'There is no such run.');
    if (action.type === 'decide') return this.#decide(runId, action, windowId);
    if (action.type === 'answer') return this.#answer(runId, action, windowId);
    const agentId = action.agentId ?? this.#rootAgent(runId);
    const { content } = action;
    const command: CommandBody =
      action.type === 'interrupt'
        ? { type: 'interrupt', agentId, ...(content !== undefined && { content }) }
        : { type: action.type, agentId, content: action.content };
    const record: ActionRecord = {
      type: action.type,
      agentId,
      windowId,
      ...(content !== undefined && { content }),
    };
    return this.#send(runId, command, record);
  }

  async #decide(runId: string, action: Action & { type: 'decide' }, windowId: string): Promise<ActionResult> {
    const record = this.#open(runId, action.id);
    const { waiting } = record;
    if (waiting.kind !== 'approval')
      throw new ApiFailure('invalid', 'This is a question: it needs an answer.');
    if (waiting.argsHash !== action.argsHash)
      throw new ApiFailure(
        'changed',
        'The arguments have changed since they were shown. Look at them again.',
      );
    const { decision } = action;
    if (decision.verdict === 'allow' && decision.input !== undefined && waiting.schema !== undefined)
      await checkInput(waiting.schema, decision.input);
    const { question } = waiting.pending;
    if (decision.verdict !== 'deny' && (decision.verdict === 'answer') !== (question !== undefined))
      throw new ApiFailure(
        'invalid',
        question === undefined
          ? 'This is no question: decide it.'
          : 'This is a question: answer or decline it.',
      );
    if (decision.verdict === 'answer' && question?.schema !== undefined)
      await checkInput(question.schema, isJsonObject(decision.answer) ? decision.answer : {});
    const outcome = outcomeOf(decision, question !== undefined);
    const edited = decision.verdict === 'allow' ? decision.input : undefined;
    const details = { outcome, decidedBy: windowId, ...(edited && { editedInput: edited }) };
    this.#hub.setWaitingState(record, 'sent', details);
    try {
      const { agentId } = record;
      const sent = { ...decision, id: action.id } as JsonObject;
      const recorded: ActionRecord = { type: 'decide', agentId, windowId, waitingId: action.id, decision };
      const result = await this.#send(runId, { type: 'decide', agentId, decision: sent }, recorded);
      this.#close(runId, action.id, details);
      return result;
    } catch (error) {
      this.#reopen(runId, action.id);
      throw error;
    }
  }

  async #answer(runId: string, action: Action & { type: 'answer' }, windowId: string): Promise<ActionResult> {
    const record = this.#open(runId, action.id);
    const { waiting } = record;
    if (waiting.kind !== 'question')
      throw new ApiFailure('invalid', 'This is an approval: it needs a decision.');
    const { content, structured } = action;
    if (waiting.schema !== null) await checkInput(waiting.schema, structured ?? {});
    const recorded: ActionRecord = {
      type: 'answer',
      agentId: waiting.agentId,
      windowId,
      waitingId: action.id,
      content,
      ...(structured && { structured }),
    };
    const details = { outcome: 'answered', decidedBy: windowId };
    this.#hub.setWaitingState(record, 'sent', details);
    try {
      if (this.#answerElsewhere(runId, action.id, content, structured)) {
        const seq = this.#hub.addEntry(runId, { kind: 'action', action: recorded });
        this.#close(runId, action.id, details);
        return { ok: true, seq };
      }
      const command = {
        type: 'answer',
        questionId: action.id,
        content,
        ...(structured && { structured }),
      } as const;
      const result = await this.#send(runId, command, recorded);
      this.#close(runId, action.id, details);
      return result;
    } catch (error) {
      this.#reopen(runId, action.id);
      throw error;
    }
  }

  async #send(runId: string, command: CommandBody, record: ActionRecord): Promise<ActionResult> {
    const result = await this.#target.command(runId, command);
    if (!result.ok)
      throw new ApiFailure(
        result.code ?? 'failed',
        result.message ?? 'The program refused.',
        result.problems,
      );
    return { ok: true, seq: this.#hub.addEntry(runId, { kind: 'action', action: record }) };
  }

  #open(runId: string, id: string): { waiting: Waiting; agentId: string } {
    const record = this.#hub.store.waiting(runId, id);
    if (record === undefined) throw new ApiFailure('not_found', 'There is no such question.');
    const { state, outcome = '' } = record.waiting;
    if (state === 'gone') throw new ApiFailure('gone', `No longer waiting: ${outcome}.`);
    if (state !== 'waiting') throw new ApiFailure('decided', `Another window has decided: ${outcome}.`);
    return record;
  }

  /** Marks a record as decided, unless the program has done so already. */
  #close(runId: string, id: string, details: { outcome: string; decidedBy: string }): void {
    const record = this.#hub.store.waiting(runId, id);
    if (record?.waiting.state === 'sent') this.#hub.setWaitingState(record, 'decided', details);
  }

  /** Lets a person decide again after a failure. */
  #reopen(runId: string, id: string): void {
    const record = this.#hub.store.waiting(runId, id);
    if (record?.waiting.state !== 'sent') return;
    const { outcome: _outcome, decidedBy: _decidedBy, ...waiting } = record.waiting;
    this.#hub.setWaitingState({ ...record, waiting }, 'waiting');
  }

  #rootAgent(runId: string): string {
    const root = this.#hub.store.agents(runId).find(({ path }) => path.length === 1);
    if (root === undefined) throw new ApiFailure('unsupported', 'No agent of this run can be reached.');
    return root.id;
  }
}

function outcomeOf(decision: Decision, isQuestion: boolean): string {
  if (decision.verdict === 'deny') return isQuestion ? 'declined' : 'denied';
  if (decision.verdict === 'result' || decision.verdict === 'answer') return 'answered';
  return decision.input === undefined ? 'allowed' : 'edited';
}

/** @throws ApiFailure with the problems of each field */
async function checkInput(schema: JsonObject, value: JsonObject): Promise<void> {
  const checked = await validateWith(schema, value);
  if (checked.ok) return;
  throw new ApiFailure('invalid', 'The values do not fit.', fieldProblems(checked.problems));
}

/** @throws ApiFailure if the body is no action */
function readRequest(body: unknown): ActionRequest {
  const { action, windowId = '' } = isRecord(body) ? body : {};
  if (!isRecord(action) || typeof windowId !== 'string')
    throw new ApiFailure('invalid', 'An action is missing.');
  const shown = windowId.slice(0, 100);
  const { type, agentId, id, argsHash, decision, structured } = action;
  if (agentId !== undefined && typeof agentId !== 'string')
    throw new ApiFailure('invalid', 'agentId is not a text.');
  const agent = agentId === undefined ? {} : { agentId };
  switch (type) {
    case 'send':
    case 'steer':
    case 'follow_up':
      return { windowId: shown, action: { type, ...agent, content: readContent(action['content']) } };
    case 'interrupt': {
      const content = action['content'] === undefined ? {} : { content: readContent(action['content']) };
      return { windowId: shown, action: { type, ...agent, ...content } };
    }
    case 'decide':
      if (typeof id !== 'string' || typeof argsHash !== 'string')
        throw new ApiFailure('invalid', 'An id is missing.');
      return { windowId: shown, action: { type, id, argsHash, decision: readDecision(decision) } };
    case 'answer': {
      if (typeof id !== 'string') throw new ApiFailure('invalid', 'An id is missing.');
      const data = isRecord(structured) ? { structured: structured as JsonObject } : {};
      return {
        windowId: shown,
        action: { type, id, content: readContent(action['content'] ?? ''), ...data },
      };
    }
    default:
      throw new ApiFailure('invalid', 'There is no such action.');
  }
}

/** @throws ApiFailure if the content is none of a message */
function readContent(content: unknown): string | readonly ContentBlock[] {
  try {
    return Msg.user(content as string).content;
  } catch {
    throw new ApiFailure('invalid', 'The content of the message is not valid.');
  }
}

function readDecision(value: unknown): Decision {
  const { verdict, input, scope, reason, output, status, answer } = isRecord(value) ? value : {};
  const text = (given: unknown): given is string => typeof given === 'string';
  if (verdict === 'allow')
    return {
      verdict,
      ...(isRecord(input) && { input: input as JsonObject }),
      ...((scope === 'run' || scope === 'once') && { scope }),
    };
  if (verdict === 'deny') return { verdict, ...(text(reason) && { reason }) };
  if (verdict === 'result' && text(output))
    return { verdict, output, ...((status === 'ok' || status === 'error') && { status }) };
  if (verdict === 'answer' && (answer === undefined || isAnswer(answer)))
    return { verdict, ...(answer !== undefined && { answer }) };
  throw new ApiFailure('invalid', "A decision is 'allow', 'deny', 'answer', or 'result' with an output.");
}

function isJsonObject(answer: UserAnswer | undefined): answer is JsonObject {
  return isRecord(answer);
}

function isAnswer(value: unknown): value is UserAnswer {
  if (typeof value === 'string' || isRecord(value)) return true;
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}
