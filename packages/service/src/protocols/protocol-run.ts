import { createHash, randomUUID } from 'node:crypto';

import { Msg, type JsonObject, type PendingCall, type PendingDecision } from 'troupe';

import type { EventLog } from '../events/event-log.ts';
import type { RunRequests } from '../runs/run-requests.ts';
import { ServiceFailure } from '../service-failure.ts';
import type { RunRecord } from '../store/run-record.ts';

export interface ProtocolParts {
  readonly requests: RunRequests;
  readonly log: EventLog;
}

/** A request of another protocol, as a run. */
export interface ProtocolRequest {
  readonly user: string;
  readonly agent: string;
  /** Id of the conversation, as the client chose it. */
  readonly conversation: string;
  readonly msgs: readonly JsonObject[];
  /** Makes decisions of the pending tool calls of the session; undefined or none: the messages are new input. */
  readonly decide?: (pending: readonly PendingCall[]) => readonly PendingDecision[];
  readonly key?: string | undefined;
  /** Closes pending tool calls when new messages come; otherwise the messages are refused. @default true */
  readonly closePending?: boolean;
}

/**
 * Starts the run of a request: in the session of its conversation, which is made when it is new. Decisions count only for tool calls
 * that are pending in the session: the history that a client sends is a claim. Folder `protocols`: start here.
 */
export async function startProtocolRun(
  { requests }: ProtocolParts,
  request: ProtocolRequest,
): Promise<RunRecord> {
  const { user, agent, msgs, key, closePending = true } = request;
  const session = sessionIdOf(agent, request.conversation);
  const found = await requests.ensureSession(user, agent, session);
  if (found.agent !== agent)
    throw new ServiceFailure('session_exists', `The conversation belongs to the agent '${found.agent}'.`);
  const pending = request.decide === undefined ? [] : found.pending;
  const decisions = request.decide?.(pending) ?? [];
  if (decisions.length === 0 && msgs.length === 0)
    throw new ServiceFailure(
      'invalid_request',
      'The request has neither a new message nor a decision about a pending tool call.',
    );
  const { run } = await requests.start(
    user,
    session,
    decisions.length > 0 ? { msgs: [], decisions } : { msgs, ...(closePending && { closePending }) },
    { key },
  );
  return run;
}

/** Id of a new conversation. A repeated request with a key has the same one, in which the key is known. */
export function newConversation(prefix: string, agent: string, key: string | undefined): string {
  if (key === undefined) return `${prefix}-${randomUUID()}`;
  return `${prefix}-${createHash('sha256').update(`${agent}\0${key}`).digest('hex')}`;
}

/** Decision with the result of a tool call that a client has run, or with the answer to a question. */
export function decisionWith({ id, kind }: PendingCall, output: unknown): PendingDecision {
  if (kind !== 'question')
    return {
      id,
      verdict: 'result',
      output: typeof output === 'string' ? output : JSON.stringify(output ?? null),
    };
  const isAnswer = typeof output === 'string' || isObject(output) || isTexts(output);
  return { id, verdict: 'answer', ...(isAnswer && { answer: output }) };
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

/** Text of the message of a client: a string, or the text of its parts. What is neither is left out. */
export function textOf(content: unknown): string {
  return typeof content === 'string' ? content : partsOf(content).map(textOfPart).join('\n');
}

/** The parts of a message of a client that are objects. */
export function partsOf(content: unknown): readonly JsonObject[] {
  return Array.isArray(content) ? content.filter(isObject) : [];
}

/** Text of a part; empty for a part of another type. */
export function textOfPart({ type, text }: JsonObject): string {
  return isTextType(type) && typeof text === 'string' ? text : '';
}

function isTextType(type: unknown): boolean {
  return type === 'text' || type === 'input_text' || type === 'output_text';
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Id of a session for any id that a client chose. */
export function sessionIdOf(agent: string, conversation: string): string {
  const isPlain = /^[A-Za-z0-9][A-Za-z0-9._:@|-]{0,127}$/.test(conversation);
  return isPlain ? conversation : createHash('sha256').update(`${agent}\0${conversation}`).digest('hex');
}

/** A user message with a text, and the id that the client gave. */
export function userMsg(text: string, id?: string): JsonObject {
  return Msg.user(text, id === undefined ? {} : { id }).toJSON();
}
