import type { RecordedResult } from '../runs/durable-runner.ts';
import type { SqlQueries } from '../store/database.ts';
import type { ServiceStore } from '../store/service-store.ts';
import { OUTCOME_KEY } from './run-journal.ts';

/** The finished steps of a run, in the order in which they were journalled. Without its end. */
export async function finishedSteps(store: ServiceStore, runId: string): Promise<readonly RecordedResult[]> {
  const sql =
    'SELECT step_key, kind, result FROM service_steps WHERE run_id = ? AND result IS NOT NULL ORDER BY n';
  const rows = await store.database.query(sql, [runId]);
  return withoutEnd(
    rows.map((row) => ({
      key: String(row['step_key']),
      kind: String(row['kind']),
      result: String(row['result']),
    })),
  );
}

export function withoutEnd(steps: readonly RecordedResult[]): readonly RecordedResult[] {
  return steps.filter(({ key }) => key !== OUTCOME_KEY);
}

/** Writes finished steps as the beginning of the journal of a run that has not begun. */
export async function writeSteps(
  tx: SqlQueries,
  runId: string,
  steps: readonly RecordedResult[],
): Promise<void> {
  for (const [n, { key, kind, result }] of steps.entries())
    await tx.query(
      'INSERT INTO service_steps (run_id, step_key, kind, n, attempt, result) VALUES (?, ?, ?, ?, 0, ?)',
      [runId, key, kind, n, result],
    );
}
