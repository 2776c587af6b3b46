/** Questions and approvals that wait for a person. */

import type { JsonObject, PendingCall } from 'troupe';
import type { QuestionFacts } from 'troupe/studio';

/** A question or an approval: one record for each tool call id or question id, wherever in the tree of agents it was asked. */
export type Waiting = ApprovalWaiting | QuestionWaiting;

/** `waiting` → `sent` (to the program) → `decided`. `gone`: withdrawn, or the program has left. */
export type WaitingState = 'waiting' | 'sent' | 'decided' | 'gone';

interface WaitingBase {
  /** Id for the action: of the pending tool call, or of the question. */
  readonly id: string;
  readonly runId: string;
  readonly runName: string;
  /** Agent names from the outermost agent to the one that asks. */
  readonly agentPath: readonly string[];
  readonly askedAt: string;
  readonly state: WaitingState;
  readonly changedAt: string;
  /** Decision in one word for people: `allowed`, `edited`, `denied`, `answered`, `declined`, or the reason why the record is gone. */
  readonly outcome?: string;
  /** Window that decided: the id in `ActionRequest.windowId`. */
  readonly decidedBy?: string;
}

/**
 * A pending tool call: of kind `approval` it needs permission, of kind `external` somebody gives its result, of kind `question` a person
 * answers `pending.question`.
 */
export interface ApprovalWaiting extends WaitingBase {
  readonly kind: 'approval';
  readonly pending: PendingCall;
  /** Hash of the arguments and the question shown. A decision carries the hash, so that nobody approves arguments without seeing them. */
  readonly argsHash: string;
  /** JSON Schema of the tool's arguments, for the form of *Edit*. */
  readonly schema?: JsonObject;
  /** Arguments that a person put in their place. */
  readonly editedInput?: JsonObject;
}

/** A question of a `UserAgent`. */
export interface QuestionWaiting extends WaitingBase, QuestionFacts {
  readonly kind: 'question';
}

/** `GET api/waiting` → `{ waiting: Waiting[] }` of all runs, the oldest first. */
