import { randomUUID } from 'node:crypto';

import type { SqlQueries } from '../store/database.ts';
import type { RunOutcome, RunRecord } from '../store/run-record.ts';
import type { ServiceStore } from '../store/service-store.ts';

/**
 * Has messages answered that a run accepted and could not take before its end: they start the next run of the session. Those of a
 * suspended run wait for the run with the decisions, and those of a run that never began are dropped with its request.
 */
export async function answerUnread(
  tx: SqlQueries,
  { runs }: ServiceStore,
  { id, user, session, agent, baseRevision }: RunRecord,
  { status }: RunOutcome,
  now: number,
): Promise<void> {
  if (status === 'suspended' || (status === 'interrupted' && baseRevision === undefined)) return;
  const unread = (await runs.inputs(id, tx)).filter(({ seenStep }) => seenStep === undefined);
  if (unread.length === 0) return;
  const next = randomUUID();
  const request = { msgs: unread.map(({ msg }) => msg) };
  const createdAt = Math.max(now, (await runs.newestOf(tx, user, session)) + 1);
  await runs.add(tx, { id: next, user, session, agent, request, fingerprint: '', createdAt }, `run:${next}`);
}
