import type { Msg } from '../../message/msg.ts';
import type { PendingDecision } from '../../message/pending-call.ts';
import { newId } from '../../util/ids.ts';
import type { AnySchema } from '../../util/schema.ts';

/** The open tool calls of one reply. An agent that makes tool calls attaches them to its reply. */
export interface ReplyScope {
  /** Whether a tool call of the reply has no result yet. */
  isUnfinished(toolCallId: string): boolean;
  /** Messages with the tool results so far of the model message whose tool calls run. They are not in memory yet. */
  readonly unstoredResultMsgs: readonly Msg[];
  /** Notes that an agent in this tool call is about to change something. */
  noteStart(toolCallId: string): void;
}

/** Options of the caller for the reply. */
export interface ReplyRequest {
  readonly structuredModel?: AnySchema | undefined;
  readonly decisions?: readonly PendingDecision[] | undefined;
  /** See `Turn`. */
  readonly onPending?: 'refuse' | 'close' | undefined;
  /** Ids of messages that were given to a call before, which this call goes on with. */
  readonly retriedIds?: readonly string[] | undefined;
}

/** The reply that an agent call gives now: the first one, or the one to a follow-up. */
export class CurrentReply {
  /** See `Turn`. */
  readonly onPending: 'refuse' | 'close' | undefined;
  /** Ids of messages that were given to a call before, which this call goes on with. */
  readonly retriedIds: readonly string[];
  /** Schema of the structured output: the caller's, unless a hook replaced it. */
  structuredModel: AnySchema | undefined;
  /** The open tool calls, of an agent that makes tool calls. */
  scope: ReplyScope | undefined;
  readonly #request: ReplyRequest;
  #id: string;
  #decisions: readonly PendingDecision[];

  constructor(request: ReplyRequest, id: string = newId()) {
    this.onPending = request.onPending;
    this.retriedIds = request.retriedIds ?? [];
    this.structuredModel = request.structuredModel;
    this.#request = request;
    this.#id = id;
    this.#decisions = request.decisions ?? [];
  }

  get id(): string {
    return this.#id;
  }

  /** See `Turn`. */
  takeDecisions(): readonly PendingDecision[] {
    const decisions = this.#decisions;
    this.#decisions = [];
    return decisions;
  }

  /** Begins the next reply of the call, with an id of its own and the schema of the caller. */
  restart(): void {
    this.#id = newId();
    this.structuredModel = this.#request.structuredModel;
  }
}
