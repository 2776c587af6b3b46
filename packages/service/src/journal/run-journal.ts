import type { Step, StepRunner, Usage } from 'troupe';

import type { StepResults } from '../runs/durable-runner.ts';
import type { RunOutcome, RunRecord } from '../store/run-record.ts';
import type { ServiceStore } from '../store/service-store.ts';
import { withinStep } from './idempotency-key.ts';

/** Version of the journal's format. A run with another one can't be replayed. */
export const JOURNAL_FORMAT = 1;

/** Key under which a journal keeps the end of its run. */
export const OUTCOME_KEY = '$outcome';
const UNKNOWN_OUTCOME =
  'The call was started, and then the program ended: its outcome is unknown. It may have taken effect. Check before you call it again.';

/** A run whose steps no longer fit its journal, such as after a change of the program. */
export class ReplayError extends Error {
  override readonly name = 'ReplayError';
}

interface Recorded {
  readonly kind: string;
  /** JSON of the result; undefined if the step was started and has not ended. */
  readonly result: string | undefined;
}

/** The end of a run, and the events that tell it, as the journal keeps them before the session is saved. */
export interface JournalledOutcome {
  readonly outcome: RunOutcome;
  readonly usage?: Usage | undefined;
  readonly events: readonly string[];
}

export interface AttemptListener {
  /** Called when a step could not be journalled: the attempt has to end, whatever the agent makes of the failed step. */
  onFailure(error: unknown): void;
  /** Called before each step but writes. `isRecorded`: the step is replayed. */
  onStep(step: Step, isRecorded: boolean): void;
}

/**
 * The journal of one run: results of steps, written before the run goes on. A later attempt gets the recorded results and runs only
 * what has none. A tool with a side effect that was started (`beginEffect`, behind any approval) and has no result is not repeated: its
 * outcome is unknown.
 * Folder `journal`: start here.
 */
export class RunJournal {
  readonly #store: ServiceStore;
  readonly #runId: string;
  readonly #attempt: number;
  readonly #recorded: Map<string, Recorded>;
  readonly #results: StepResults | undefined;

  private constructor(
    store: ServiceStore,
    runId: string,
    attempt: number,
    recorded: Map<string, Recorded>,
    results: StepResults | undefined,
  ) {
    this.#store = store;
    this.#runId = runId;
    this.#attempt = attempt;
    this.#recorded = recorded;
    this.#results = results;
  }

  /** @param results results of steps in an engine; without it, they are rows beside the starts of steps */
  static async open(
    store: ServiceStore,
    { id: runId, attempt, forkedFrom }: Pick<RunRecord, 'id' | 'attempt' | 'forkedFrom'>,
    results?: StepResults,
  ): Promise<RunJournal> {
    const sql = 'SELECT step_key, kind, result FROM service_steps WHERE run_id = ?';
    const isFirst = attempt === 1 && forkedFrom === undefined;
    const rows = isFirst ? [] : await store.database.query(sql, [runId]);
    const recorded = new Map<string, Recorded>();
    for (const { step_key: key, kind, result } of rows)
      recorded.set(String(key), {
        kind: String(kind),
        result: typeof result === 'string' ? result : undefined,
      });
    for (const { key, kind, result } of results?.recorded ?? []) recorded.set(key, { kind, result });
    return new RunJournal(store, runId, attempt, recorded, results);
  }

  /** Number of recorded steps. */
  get size(): number {
    return this.#recorded.size;
  }

  /** The end of the run, if an earlier attempt came that far. */
  get outcome(): JournalledOutcome | undefined {
    const result = this.#recorded.get(OUTCOME_KEY)?.result;
    return result === undefined ? undefined : (JSON.parse(result) as JournalledOutcome);
  }

  /** Writes the end of the run, before the session is saved. */
  async setOutcome(outcome: JournalledOutcome): Promise<void> {
    await this.#record({ kind: 'other', name: 'outcome', key: OUTCOME_KEY }, JSON.stringify(outcome));
  }

  /** A step runner for this attempt. */
  runner(listener: AttemptListener): StepRunner {
    const taken = new Set<string>();
    return async <T>(step: Step, body: () => Promise<T>): Promise<T> => {
      if (step.kind === 'write') return body();
      if (taken.has(step.key)) throw new ReplayError(`Two steps of one run share the key ${step.key}.`);
      taken.add(step.key);
      const recorded = this.#recorded.get(step.key);
      if (recorded !== undefined && recorded.kind !== step.kind)
        throw new ReplayError(
          `The step ${step.key} was a ${recorded.kind} step before, and is a ${step.kind} step now.`,
        );
      listener.onStep(step, recorded !== undefined);
      if (recorded?.result !== undefined) return JSON.parse(recorded.result) as T;
      const record = (result: string | undefined): Promise<void> =>
        this.#record(step, result).catch((error: unknown) => {
          listener.onFailure(error);
          throw error;
        });
      if (recorded !== undefined) {
        const json = unknownOutcome(step);
        await record(json);
        return JSON.parse(json) as T;
      }
      let start: Promise<void> | undefined;
      const begin = async (): Promise<void> => {
        if (step.hasSideEffect === true) await (start ??= record(undefined));
      };
      const result = await withinStep({ key: `${this.#runId}:${step.key}`, begin }, body);
      await record(JSON.stringify(result ?? null));
      return result;
    };
  }

  async #record({ kind, key }: Step, result: string | undefined): Promise<void> {
    if (this.#results !== undefined && result !== undefined)
      return this.#results.record({ key, kind, result });
    await this.#store.commits.add(async (tx) => {
      await this.#store.runs.assertAttempt(tx, this.#runId, this.#attempt);
      await tx.query(
        `INSERT INTO service_steps (run_id, step_key, kind, n, attempt, result)
         VALUES (?, ?, ?, (SELECT COALESCE(MAX(n), -1) + 1 FROM service_steps WHERE run_id = ?), ?, ?)
         ON CONFLICT (run_id, step_key) DO UPDATE SET result = excluded.result, attempt = excluded.attempt, n = excluded.n`,
        [this.#runId, key, kind, this.#runId, this.#attempt, result ?? null],
      );
    });
  }
}

/** The result of a tool call that was started and has no result. */
function unknownOutcome({ key, name }: Step): string {
  const start = key.indexOf('tool:');
  const end = key.lastIndexOf('#');
  const id = start >= 0 && end > start && /^\d+$/.test(key.slice(end + 1)) ? key.slice(start + 5, end) : key;
  const result = { type: 'tool_result', id, name, output: UNKNOWN_OUTCOME, status: 'error' };
  return JSON.stringify({ kind: 'result', result });
}
