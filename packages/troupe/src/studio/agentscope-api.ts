import type { RunConfig } from '../config/run-config.ts';
import { localTimestamp } from '../util/clock.ts';
import type { JsonObject } from '../util/json.ts';
import { readAnswer } from '../util/net/background-http.ts';
import { programFacts, requestInBackground } from '#background-http';
import { backgroundDeadline } from './background-deadline.ts';

const TIMEOUT_MS = 10_000;
const MAX_ANSWER_CHARS = 1_000_000;

/** Failure of a request to AgentScope's Studio. Status 0: no answer. */
export class AgentScopeApiError extends Error {
  constructor(
    readonly procedure: string,
    readonly status: number,
  ) {
    super(`${procedure} was answered with status ${status}`);
  }
}

/** The procedures of AgentScope's Studio that programs call. */
export class AgentScopeApi {
  readonly base: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(base: string, headers: Readonly<Record<string, string>> = {}) {
    this.base = base;
    this.headers = headers;
  }

  registerRun({ runId, project, name, createdAt }: RunConfig, signal?: AbortSignal): Promise<void> {
    const input = {
      id: runId,
      project,
      name,
      timestamp: agentScopeTime(createdAt),
      pid: programFacts().pid ?? 0,
      status: 'running',
      run_dir: '',
    };
    return this.call('registerRun', input, signal);
  }

  /** Calls a procedure. Rejects with `AgentScopeApiError` if the server refuses. */
  async call(procedure: string, input: JsonObject, signal?: AbortSignal): Promise<void> {
    const deadline = backgroundDeadline(TIMEOUT_MS, signal);
    try {
      const answer = await requestInBackground(`${this.base}/trpc/${procedure}`, {
        method: 'POST',
        headers: { ...this.headers, 'content-type': 'application/json' },
        body: JSON.stringify(input),
        signal: deadline.signal,
      });
      await readAnswer(answer, MAX_ANSWER_CHARS);
      if (answer.status !== 200) throw new AgentScopeApiError(procedure, answer.status);
    } finally {
      deadline.clear();
    }
  }
}

/** A time as AgentScope writes it, in the zone of this machine: `2026-01-31 09:30:00.000`. */
export function agentScopeTime(iso: string): string {
  return localTimestamp(iso).replace('T', ' ');
}
