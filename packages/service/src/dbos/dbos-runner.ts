import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout } from 'node:timers/promises';

import { DBOS, type DLogger } from '@dbos-inc/dbos-sdk';
import { DBOSExecutor } from '@dbos-inc/dbos-sdk/internal/dbos-executor';
import { getLogger, type LogLevel } from 'troupe';

import { JOURNAL_FORMAT } from '../journal/run-journal.ts';
import type { DurableRunner, RecordedResult, RunWorker } from '../runs/durable-runner.ts';
import { DbosStepResults, resultsIn } from './dbos-step-results.ts';

export interface DbosRunnerOptions {
  /** Address of the PostgreSQL with the tables of DBOS, such as the address of the service's own. */
  readonly systemDatabaseUrl: string;
  /** Name of the application in DBOS. @default 'troupe' */
  readonly name?: string | undefined;
  /** Schema of the tables of DBOS. @default 'dbos' */
  readonly schema?: string | undefined;
  /** Connections of DBOS to its database. @default 10 */
  readonly poolSize?: number | undefined;
}

const QUEUE = 'troupe-runs';
const WORKFLOW = 'troupe-run';
const POLL_MS = 100;
/** Wait before a run is executed again whose session is not free, or whose store failed. */
const RETRY_MS = 250;
/** Executions after which DBOS gives a run up. The service gives up earlier, and says so in the run. */
const MAX_EXECUTIONS = 100;
/** Maximum ids of enqueued runs that a process remembers. */
const MAX_REMEMBERED = 10_000;

/**
 * Runs on DBOS Transact: each run is a workflow, each step of the run a step of the workflow, and a queue gives runs to workers. For the
 * option `runner` of a service whose `store` is a PostgreSQL. Needs the packages `@dbos-inc/dbos-sdk` and `pg`. One process has one DBOS:
 * this runner launches it, and shuts it down.
 * Folder `dbos`: start here.
 *
 * Runs are stopped by the service, not by DBOS: a workflow canceled there leaves its run as it is.
 */
export function dbosRunner(options: DbosRunnerOptions): DurableRunner {
  return new DbosRunner(options);
}

class DbosRunner implements DurableRunner {
  readonly #options: DbosRunnerOptions;
  readonly #enqueued = new Set<string>();
  #isClosed = false;

  constructor(options: DbosRunnerOptions) {
    this.#options = options;
  }

  async start(worker: RunWorker): Promise<void> {
    if (DBOS.isInitialized())
      throw new Error(
        'This process has launched DBOS before. The runner launches it: one process has one DBOS.',
      );
    const { systemDatabaseUrl, name = 'troupe', schema, poolSize } = this.#options;
    const outside = AsyncLocalStorage.snapshot();
    DBOS.setConfig({
      name,
      systemDatabaseUrl,
      ...(schema !== undefined && { systemDatabaseSchemaName: schema }),
      ...(poolSize !== undefined && { systemDatabasePoolSize: poolSize }),
      // Pinned: with the default, a hash of the program, a new program would strand all runs that are not done.
      applicationVersion: `troupe-${JOURNAL_FORMAT}`,
      executorID: worker.id,
      listenQueues: [worker.maxRuns > 0 ? QUEUE : 'none'],
      logger: LOGGER,
    });
    const run = async (runId: string): Promise<void> => {
      const steps = await outside(() => DBOS.listWorkflowSteps(runId));
      const results = await DbosStepResults.open(runId, steps ?? []);
      while (!(await worker.execute(runId, results))) await setTimeout(RETRY_MS);
    };
    DBOS.registerWorkflow(run, { name: WORKFLOW, maxRecoveryAttempts: MAX_EXECUTIONS });
    await DBOS.launch();
    await DBOS.registerQueue(QUEUE, {
      minPollingIntervalMs: POLL_MS,
      ...(worker.maxRuns > 0 && { workerConcurrency: worker.maxRuns }),
      onConflict: worker.maxRuns > 0 ? 'always_update' : 'never_update',
    });
  }

  async enqueue(runId: string): Promise<void> {
    if (this.#isClosed || this.#enqueued.has(runId)) return;
    await DBOS.enqueueWorkflowWithOptions(
      { workflowName: WORKFLOW, queueName: QUEUE, workflowID: runId },
      runId,
    );
    this.#enqueued.add(runId);
    const [oldest] = this.#enqueued;
    if (this.#enqueued.size > MAX_REMEMBERED && oldest !== undefined) this.#enqueued.delete(oldest);
  }

  async takeOver(workerId: string): Promise<void> {
    if (!this.#isClosed) await DBOSExecutor.globalInstance?.recoverPendingWorkflows([workerId]);
  }

  async workers(): Promise<readonly string[]> {
    if (this.#isClosed) return [];
    const found = await DBOS.listWorkflows({
      status: 'PENDING',
      queueName: QUEUE,
      loadInput: false,
      loadOutput: false,
    });
    return [...new Set(found.flatMap(({ executorId }) => executorId ?? []))];
  }

  async resultsOf(runId: string): Promise<readonly RecordedResult[]> {
    return resultsIn((await DBOS.listWorkflowSteps(runId)) ?? []);
  }

  async forget(runIds: readonly string[]): Promise<void> {
    if (runIds.length > 0) await DBOS.deleteWorkflows([...runIds]);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await DBOS.shutdown({ deregister: true });
  }
}

function log(level: LogLevel, entry: unknown): void {
  getLogger().log(level, `DBOS: ${entry instanceof Error ? entry.message : String(entry)}`);
}

/** Warnings and errors of DBOS go to the logger of the library. */
const LOGGER: DLogger = {
  info: () => {},
  debug: () => {},
  warn: (entry) => log('warn', entry),
  error: (entry) => log('error', entry),
};
