import type { EventError, JsonObject, PendingCall, PendingDecision, Usage } from 'troupe';

/**
 * `queued`: waits for its session, or for a process that runs it. `suspended`: ended with pending tool calls; a run with decisions
 * continues. The rest as in events.
 */
export type ServiceRunStatus = 'queued' | 'running' | 'finished' | 'suspended' | 'interrupted' | 'failed';

/** The request of a run, as it is stored: a replay begins with exactly these messages. */
export interface RunRequest {
  /** Messages as JSON of `msg.toJSON()`. */
  readonly msgs: readonly JsonObject[];
  readonly decisions?: readonly PendingDecision[];
  /** Closes pending tool calls when new messages come. */
  readonly closePending?: boolean;
  /** Headers of the trace that the request belongs to. */
  readonly trace?: Readonly<Record<string, string>>;
}

/** The end of a run. */
export interface RunOutcome {
  readonly status: Exclude<ServiceRunStatus, 'queued' | 'running'>;
  /** The answer, or the question of a suspended run, as JSON of a message. */
  readonly msg?: JsonObject;
  readonly error?: EventError;
  readonly pending?: readonly PendingCall[];
  /** Whether the session was saved with this end; otherwise it is as it was before the run. */
  readonly isSaved?: boolean;
}

/** One run as it is stored. */
export interface RunRecord {
  readonly id: string;
  readonly user: string;
  readonly session: string;
  readonly agent: string;
  readonly status: ServiceRunStatus;
  readonly request: RunRequest;
  readonly fingerprint: string;
  /** Revision of the session when the run began; undefined before the first attempt. */
  readonly baseRevision: number | undefined;
  /** Number of the attempt that may write. A process with an older number is refused. */
  readonly attempt: number;
  readonly owner: string | undefined;
  /** Id of the run whose first steps this run begins with. */
  readonly forkedFrom: string | undefined;
  readonly createdAt: number;
  readonly startedAt: number | undefined;
  readonly endedAt: number | undefined;
  readonly outcome: RunOutcome | undefined;
  readonly usage: Usage | undefined;
  /** Messages of a requested interrupt. */
  readonly interrupt: readonly JsonObject[] | undefined;
  /** Number of the newest event. */
  readonly lastEvent: number;
  /** Format of the journal; undefined before the first attempt. */
  readonly journalFormat: number | undefined;
}

/** Whether a run has ended. A suspended run has: its continuation is another run. */
export function isEnded(status: ServiceRunStatus): boolean {
  return status !== 'queued' && status !== 'running';
}

/** A session as it is stored by the service, beside the state of its agent. */
export interface SessionRecord {
  readonly user: string;
  readonly id: string;
  readonly agent: string;
  readonly title: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly activeRun: string | undefined;
  /** Whether somebody talks with the agent: meanwhile the session takes no runs. */
  readonly isTalking: boolean;
  /** Tool calls that are pending in the saved state of the agent. */
  readonly pending: readonly PendingCall[];
}

/** A message for a running run. */
export interface RunInput {
  readonly n: number;
  readonly kind: 'steer' | 'follow_up';
  readonly msg: JsonObject;
  /** Key of the last model step that had started when the message was handed over; undefined before. */
  readonly seenStep: string | undefined;
}
