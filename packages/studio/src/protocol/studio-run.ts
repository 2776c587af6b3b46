/** Projects, studio runs and their agents. */

import type { AgentFacts, ProgramIdentity } from 'troupe/studio';

import type { Waiting } from './waiting.ts';

/** `GET api/projects` → `{ projects: Project[] }`, the most recent first. */
export interface Project {
  readonly name: string;
  readonly runs: number;
  readonly running: number;
  readonly lastAt: string;
  readonly usage: UsageSum;
}

/** `POST api/projects/delete`: `{ names: string[] }` → `{ deleted: number }` runs. */

/** Status of a studio run. `waiting`: a person is asked. `lost`: the program stopped without ending the run. */
export type StudioRunStatus = 'running' | 'waiting' | 'idle' | 'done' | 'failed' | 'lost';

/** Origin of a studio run. */
export type RunSource = 'program' | 'conversation' | 'agentscope' | 'otlp';

export interface StudioRun {
  readonly id: string;
  readonly project: string;
  readonly name: string;
  readonly source: RunSource;
  readonly status: StudioRunStatus;
  readonly createdAt: string;
  /** Time of the last entry. */
  readonly updatedAt: string;
  /** Number of the last entry; 0: none yet. */
  readonly lastSeq: number;
  /** Entries up to this number were removed by a limit of size; 0: none. */
  readonly removedUpTo: number;
  /** Whether the program is connected now. */
  readonly isConnected: boolean;
  /** Name of the first agent that was called. */
  readonly rootAgent?: string;
  /** First line of the last message, for lists. */
  readonly preview?: string;
  readonly messages: number;
  readonly errors: number;
  /** Number of questions and approvals that wait. */
  readonly waiting: number;
  /** Time in which an agent worked, and in which it waited for a person. */
  readonly workMs: number;
  readonly waitMs: number;
  readonly usage: UsageSum;
  /** Entries that the program dropped because the Studio was slow or away. */
  readonly dropped: number;
  /** The run and the entry that this run is a branch of. */
  readonly forkOf?: ForkPoint;
  /** Session in which the conversation is saved. */
  readonly sessionId?: string;
  /** Key of the agent of a conversation. */
  readonly agentKey?: string;
  readonly can: RunAbilities;
  /** Process id and versions of the program. */
  readonly program?: ProgramInfo;
}

/** Actions that a person can take in a run now. The page hides or disables the others. */
export interface RunAbilities {
  /** Send a message that starts an agent call. */
  readonly send: boolean;
  /** Interrupt, steer and follow up. */
  readonly stepIn: boolean;
  readonly branch: boolean;
  readonly replay: boolean;
}

export type ProgramInfo = Omit<ProgramIdentity, 'id'>;

export interface ForkPoint {
  readonly runId: string;
  /** Entry of the parent from which on the branch is its own: the parent's entries before `seq` are the branch's history. */
  readonly seq: number;
}

/** Sum of the usage of model calls. */
export interface UsageSum {
  readonly modelCalls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
  readonly cost: number;
}

/**
 * `GET api/runs?project=&status=&source=&q=&agent=&cursor=&limit=` → `RunPage`, the most recent first. `q` searches names, projects, agents
 * and the text of messages. `status` may be repeated.
 */
export interface RunPage {
  readonly runs: readonly StudioRun[];
  /** Cursor of the next page. */
  readonly next?: string;
  readonly total: number;
}

/** `GET api/runs/:id` → `RunDetail`. */
export interface RunDetail {
  readonly run: StudioRun;
  readonly agents: readonly AgentInfo[];
  /** Everything that waits, the oldest first. */
  readonly waiting: readonly Waiting[];
  /** Runs that branched from this one. */
  readonly branches: readonly StudioRun[];
}

/** `POST api/runs/delete`: `{ ids: string[] }` → `{ deleted: number }`. */
/** `POST api/runs/:id/rename`: `{ name: string }` → `StudioRun`. */

export interface AgentInfo extends AgentFacts {
  readonly isRunning: boolean;
  /** Whether the program still has the agent, so that a person can step in. */
  readonly isReachable: boolean;
}
