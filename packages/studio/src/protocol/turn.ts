/** Conversations, and their turns: branched, replayed and compared. */

import type { ContentBlock, RunStatus as CallStatus } from 'troupe';

import type { PromptChange } from './prompt.ts';
import type { StudioRun } from './studio-run.ts';
import type { MsgJson } from './tape.ts';

/** `POST api/conversations`: `ConversationRequest` → `StudioRun`. */
export interface ConversationRequest {
  /** Key of an offered agent. */
  readonly agent: string;
  readonly name?: string;
}

/**
 * `GET api/runs/:id/turns` → `{ turns: Turn[] }`: the agent calls of a run from which it can be branched or replayed.
 */
export interface TurnInfo {
  readonly callId: string;
  /** Entry of the input, and of the end. */
  readonly seq: number;
  readonly endSeq?: number;
  readonly input: readonly MsgJson[];
  readonly status?: CallStatus;
  /** First line of the answer. */
  readonly answer?: string;
  readonly canBranch: boolean;
  readonly canReplay: boolean;
  /** Tools that ran in this turn, with their counts: they would act again in a branch. */
  readonly tools: Readonly<Record<string, number>>;
}

/**
 * `POST api/runs/:id/branch`: `BranchRequest` → `StudioRun`, a new run whose history is the parent's before the turn. The turn then runs
 * live: it may spend and act. `tools`: what tools do in the branch. @default 'ask'
 */
export interface BranchRequest {
  /** Turn (`TurnInfo.callId`) that is said again. */
  readonly callId: string;
  /** Message in place of the turn's input. @default the same input */
  readonly content?: string | readonly ContentBlock[];
  readonly model?: string;
  readonly toolSet?: string;
  readonly tools?: 'run' | 'ask' | 'recorded';
}

/**
 * `POST api/runs/:id/replay`: `{ callId: string }` → `ReplayReport`. The turn runs against the present code with the recorded answers of
 * models and tools: nothing is spent, nothing acts. It stops at the first difference.
 */
export interface ReplayReport {
  readonly callId: string;
  /** Steps that were the same. */
  readonly steps: number;
  /** `same`: the whole turn. */
  readonly result: 'same' | 'different' | 'failed';
  readonly difference?: ReplayDifference;
}

export interface ReplayDifference {
  readonly kind: 'prompt' | 'step' | 'answer' | 'error';
  /** For people, such as `The prompt of model call 2 differs`. */
  readonly message: string;
  readonly before?: string;
  readonly after?: string;
  /** Changes of a prompt. */
  readonly changes?: readonly PromptChange[];
}

/** `GET api/compare?a=&b=` → `Comparison` of two runs, aligned at their fork, otherwise turn by turn. */
export interface Comparison {
  readonly a: StudioRun;
  readonly b: StudioRun;
  readonly rows: readonly ComparedTurn[];
  /** Index of the first row that differs. */
  readonly firstDifferent?: number;
}

export interface ComparedTurn {
  readonly a?: TurnInfo;
  readonly b?: TurnInfo;
  readonly isSame: boolean;
  /** Whether both are the same recorded turn, before the fork. */
  readonly isShared: boolean;
}
