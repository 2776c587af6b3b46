/** A finished step as an engine keeps it. */
export interface RecordedResult {
  readonly key: string;
  readonly kind: string;
  /** JSON of the result. */
  readonly result: string;
}

/** Results of the steps of one run, kept by an engine. */
export interface StepResults {
  /** Results that earlier executions have recorded. */
  readonly recorded: readonly RecordedResult[];
  /** Records a result before the run goes on. Rejects, and records nothing, if the run goes on elsewhere. */
  record(result: RecordedResult): Promise<void>;
}

/** The process of a service, as an engine sees it. */
export interface RunWorker {
  /** Id of this process, new at each start. Runs of an id that no longer lives are taken over. */
  readonly id: string;
  /** Maximum runs of this process at the same time. 0: it only enqueues. */
  readonly maxRuns: number;
  /**
   * Executes an attempt at a run. @returns false if it has to be executed again, such as after a lost connection to the database. Never
   * resolves for a run that is handed over while the process closes. @throws FencedError if the run goes on elsewhere
   */
  execute(runId: string, results: StepResults): Promise<boolean>;
}

/**
 * An engine for durable runs: decides which process executes a run, and keeps the results of its steps. Sessions, requests, events and
 * outcomes stay in the store of the service. The built-in engine is `RunScheduler` with `RunJournal`; `@troupe/service/dbos` is another.
 */
export interface DurableRunner {
  start(worker: RunWorker): Promise<void>;
  /** Has a run executed by some process. Called again for a run that was enqueued before, which changes nothing. */
  enqueue(runId: string): Promise<void>;
  /** Has the runs of a process that is dead executed by others. */
  takeOver(workerId: string): Promise<void>;
  /** Ids of the processes that have runs, alive or not. */
  workers(): Promise<readonly string[]>;
  /** Results of the steps of a run, in the order in which they were recorded. */
  resultsOf(runId: string): Promise<readonly RecordedResult[]>;
  /** Deletes workflows and results of ended runs. */
  forget(runIds: readonly string[]): Promise<void>;
  /** Ends without waiting: runs of this process were handed over. */
  close(): Promise<void>;
}
