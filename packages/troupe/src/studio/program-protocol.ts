/**
 * The contract between a program and the Studio's server. Types and constants only. Folder `studio`: start here.
 *
 * A program speaks HTTP with the header `authorization: Bearer <token>`:
 *
 * - `GET program/hello` → `ProgramWelcome`. Also tells a Studio of troupe from other servers.
 * - `POST program/batches`: `ProgramBatch` → `BatchAnswer`. Items of a batch are in order. A batch that is sent again counts once.
 * - `GET program/commands?program=<id>` → server-sent events with the data `ProgramCommand`, as long as the program is connected.
 * - `POST program/results`: `CommandResult` → 204.
 */

import type { AgentEvent } from '../event/agent-event.ts';
import type { ContentBlock } from '../message/blocks.ts';
import type { PendingCall } from '../message/pending-call.ts';
import type { JsonObject, JsonValue } from '../util/json.ts';

/** Version of this contract. */
export const PROGRAM_PROTOCOL = 1;

/** Value of `studio` in the answer to `program/hello`. */
export const STUDIO_MARK = 'troupe-studio';

export interface ProgramWelcome {
  readonly studio: typeof STUDIO_MARK;
  readonly protocol: number;
  readonly version: string;
  /** Id of the Studio, new at each start. */
  readonly instance: string;
}

export interface ProgramBatch {
  readonly program: ProgramIdentity;
  /** Number of the batch, from 1, without gaps. */
  readonly number: number;
  /** Items that were dropped since the last batch, because the buffer was full. */
  readonly dropped: number;
  readonly items: readonly ProgramItem[];
}

/** One process of a program. */
export interface ProgramIdentity {
  readonly id: string;
  readonly pid?: number;
  readonly host?: string;
  readonly library: string;
  readonly protocol: number;
}

/** `isUnknown`: the server was restarted and needs the open state (`open: true` items) again. */
export interface BatchAnswer {
  readonly isUnknown: boolean;
}

/** One thing that a program tells. `runId` is the id of the run configuration (`init`). */
export type ProgramItem = { readonly runId: string } & ProgramItemBody;

export type ProgramItemBody =
  | { readonly kind: 'run'; readonly run: RunInfo }
  /** The program ends the run on purpose. */
  | { readonly kind: 'run_end' }
  | { readonly kind: 'agent'; readonly agent: AgentFacts }
  | { readonly kind: 'input'; readonly input: CallInput }
  | { readonly kind: 'event'; readonly event: AgentEvent; readonly agentId: string }
  | { readonly kind: 'prompt'; readonly prompt: PromptFacts }
  | { readonly kind: 'inside'; readonly inside: InsideFacts }
  /** All pending tool calls of a root agent. Earlier ones that are missing were decided or withdrawn. */
  | {
      readonly kind: 'pending';
      readonly agentId: string;
      readonly pending: readonly PendingCall[];
      /** JSON Schema of the arguments, by the name of the tool. */
      readonly schemas: JsonObject;
    }
  | { readonly kind: 'question'; readonly question: QuestionFacts }
  | { readonly kind: 'question_end'; readonly id: string; readonly outcome: string };

export interface RunInfo {
  readonly project: string;
  readonly name: string;
  readonly createdAt: string;
}

export interface AgentFacts {
  readonly id: string;
  readonly name: string;
  /** Class of the agent, such as `ReActAgent`. */
  readonly className: string;
  /** Agent names from the outermost agent. */
  readonly path: readonly string[];
  readonly modelName?: string;
  /** Ids of the hubs in which it takes part: agents with the same id share a room. */
  readonly hubs: readonly string[];
  /** Names of these hubs, by id. */
  readonly hubNames?: Readonly<Record<string, string>>;
}

/** Messages with which an agent call began. */
export interface CallInput {
  readonly callId: string;
  /** Reply of the agent call: messages of its agent carry this id (`MsgView.replyId`). */
  readonly replyId: string;
  readonly agentId: string;
  readonly agentPath: readonly string[];
  readonly messages: readonly JsonObject[];
  /** Tool call of the agent around: a sub-agent is folded under this tool call. Its messages are not added to the conversation. */
  readonly toolCallId?: string;
}

/** A prompt, with each part once for each program: later prompts name parts by their hash alone. */
export interface PromptFacts {
  readonly callId: string;
  readonly replyId: string;
  readonly agentId: string;
  readonly agentPath: readonly string[];
  readonly purpose: string;
  readonly modelName: string;
  /** Hashes of tool schemas and messages, in the order of the prompt. */
  readonly tools: readonly string[];
  readonly messages: readonly string[];
  readonly settings: JsonObject;
  /** New parts, by their hash. */
  readonly parts: Readonly<Record<string, JsonValue>>;
}

/** Memory, plan, tools, hooks and state of one agent at one moment. */
export interface InsideFacts {
  readonly agentId: string;
  readonly data: JsonObject;
  /** Parts that were too large. */
  readonly leftOut: readonly string[];
}

export interface QuestionFacts {
  readonly id: string;
  readonly agentId: string;
  readonly agentName: string;
  readonly agentPath: readonly string[];
  /** Start of the message that a nested agent was called with: it is not in the conversation. */
  readonly about?: string;
  /** JSON Schema of the structured answer, for a form; null: text only. */
  readonly schema: JsonObject | null;
}

/** A request of the Studio to a program. */
export type ProgramCommand = { readonly id: string; readonly runId: string } & CommandBody;

export type CommandContent = string | readonly ContentBlock[];

export type CommandBody =
  | { readonly type: 'send'; readonly agentId: string; readonly content: CommandContent }
  | { readonly type: 'interrupt'; readonly agentId: string; readonly content?: CommandContent }
  | { readonly type: 'steer'; readonly agentId: string; readonly content: CommandContent }
  | { readonly type: 'follow_up'; readonly agentId: string; readonly content: CommandContent }
  /** `agentId`: the outermost agent, which takes the decision. */
  | { readonly type: 'decide'; readonly agentId: string; readonly decision: JsonObject }
  | {
      readonly type: 'answer';
      readonly questionId: string;
      readonly content: CommandContent;
      readonly structured?: JsonObject;
    }
  | { readonly type: 'inside'; readonly agentId: string };

export type CommandFailure = 'gone' | 'busy' | 'invalid' | 'failed';

export interface CommandResult {
  readonly program: string;
  readonly id: string;
  readonly ok: boolean;
  readonly code?: CommandFailure;
  readonly message?: string;
  readonly problems?: readonly FieldProblem[];
}

/** A problem of one field, such as a field of an answer with another type than its schema. */
export interface FieldProblem {
  /** Path in the value, such as `['address', 'city']`. */
  readonly path: readonly (string | number)[];
  readonly message: string;
}
