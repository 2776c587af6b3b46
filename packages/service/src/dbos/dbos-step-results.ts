import { AsyncLocalStorage } from 'node:async_hooks';

import { DBOS, Error as DBOSErrors } from '@dbos-inc/dbos-sdk';

import type { RecordedResult, StepResults } from '../runs/durable-runner.ts';
import { FencedError } from '../store/run-table.ts';

/** A step as DBOS lists it. */
interface ListedStep {
  readonly functionID: number;
  readonly name: string;
  readonly output: unknown;
}

/** Output of a place without a result: the process ended before the step was recorded. */
const NOTHING = 'nothing';

/**
 * Results of the steps of one run, as steps of its DBOS workflow.
 *
 * DBOS knows a step by its place in the workflow, and a run by the key of the step: steps of parallel tool calls end in another order
 * each time. So an execution first passes all places that earlier ones have used, in their order, and takes the results by their keys.
 * What comes then is new. A result is recorded behind the body of its step, not around it, so that the steps of a sub-agent inside of
 * a tool call are steps of the workflow too.
 */
export class DbosStepResults implements StepResults {
  readonly recorded: RecordedResult[] = [];
  readonly #runId: string;
  /** Runs code in the workflow: results are recorded from wherever the agent has its end of a step. */
  readonly #within = AsyncLocalStorage.snapshot();

  private constructor(runId: string) {
    this.#runId = runId;
  }

  /** Passes the places of earlier executions. Called in the workflow, before anything else of DBOS. */
  static async open(runId: string, listed: readonly ListedStep[]): Promise<DbosStepResults> {
    const results = new DbosStepResults(runId);
    const names = new Map(listed.map(({ functionID, name }) => [functionID, name]));
    const places = Math.max(-1, ...names.keys()) + 1;
    for (let place = 0; place < places; place++) {
      const name = names.get(place) ?? NOTHING;
      const output: unknown = await results.#step(name, async () => NOTHING);
      if (isResult(output)) results.recorded.push(output);
    }
    return results;
  }

  async record(result: RecordedResult): Promise<void> {
    await this.#step(result.key, async () => result);
    this.recorded.push(result);
  }

  async #step<T>(name: string, body: () => Promise<T>): Promise<T> {
    try {
      return await this.#within(() => DBOS.runStep(body, { name }));
    } catch (error) {
      if (error instanceof DBOSErrors.DBOSWorkflowConflictError) throw new FencedError(this.#runId);
      throw error;
    }
  }
}

/** The results among the steps of a workflow, in the order of their places. */
export function resultsIn(listed: readonly ListedStep[]): readonly RecordedResult[] {
  const inOrder = listed.toSorted((a, b) => a.functionID - b.functionID);
  return inOrder.flatMap(({ output }) => (isResult(output) ? [output] : []));
}

function isResult(output: unknown): output is RecordedResult {
  return typeof output === 'object' && output !== null && 'key' in output && 'result' in output;
}
