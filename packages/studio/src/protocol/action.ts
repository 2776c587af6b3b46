/** Actions of a person in a run. */

import type { JsonObject, ToolStatus } from 'troupe';
import type { UserAnswer } from 'troupe/ask-user';
import type { CommandContent } from 'troupe/studio';

/**
 * `POST api/runs/:id/actions`: `ActionRequest` → 200 `ActionResult`, after the program has taken the action. Failures are `ApiError` with the
 * codes `gone`, `decided`, `changed`, `busy`, `invalid` (with `problems`), `timeout`, `failed`.
 */
export interface ActionRequest {
  readonly action: Action;
  /** Random id of the tab, so that the page knows its own actions again. */
  readonly windowId: string;
}

export type Action =
  /** Starts an agent call with a message. Without `agentId`: the agent of the conversation. */
  | { readonly type: 'send'; readonly agentId?: string; readonly content: CommandContent }
  | {
      readonly type: 'interrupt';
      readonly agentId?: string;
      readonly content?: CommandContent;
    }
  | { readonly type: 'steer'; readonly agentId?: string; readonly content: CommandContent }
  | {
      readonly type: 'follow_up';
      readonly agentId?: string;
      readonly content: CommandContent;
    }
  /** Decides one pending tool call. Others of the same agent stay pending. */
  | { readonly type: 'decide'; readonly id: string; readonly argsHash: string; readonly decision: Decision }
  /** Answers a question. */
  | {
      readonly type: 'answer';
      readonly id: string;
      readonly content: CommandContent;
      readonly structured?: JsonObject;
    };

export type Decision =
  /** `input`: edited arguments. `scope: 'run'`: also allows further calls of this tool until the reply ends. */
  | { readonly verdict: 'allow'; readonly input?: JsonObject; readonly scope?: 'once' | 'run' }
  /** Refuses permission, or declines to answer a question. */
  | { readonly verdict: 'deny'; readonly reason?: string }
  /** Answer to a question of a tool. A question with an address needs no `answer`. */
  | { readonly verdict: 'answer'; readonly answer?: UserAnswer }
  /** Result of a tool that somebody outside runs. */
  | { readonly verdict: 'result'; readonly output: string; readonly status?: ToolStatus };

export interface ActionResult {
  readonly ok: true;
  /** Number of the entry that records the action. */
  readonly seq: number;
}

/** An action as the tape keeps it. */
export interface ActionRecord {
  readonly type: Action['type'];
  readonly agentId?: string;
  readonly windowId: string;
  /** Id of the decided or answered record. */
  readonly waitingId?: string;
  readonly content?: CommandContent;
  readonly structured?: JsonObject;
  readonly decision?: Decision;
}
