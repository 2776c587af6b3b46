import type { AgentEvent } from 'troupe';
import { expect, test } from 'vitest';

import { LiveRun } from './live-run.ts';

const EVENT = {
  id: 'e1',
  runId: 'c1',
  replyId: 'p1',
  agentPath: ['Ann'],
  seq: 1,
  timestamp: '2026-01-01T00:00:00.000Z',
};
const START: AgentEvent = { ...EVENT, type: 'reply_start', name: 'Ann' };
const END: AgentEvent = { ...EVENT, type: 'run_end', status: 'finished', durationMs: 5000 };

test('time in which a person was asked is no work, also while the agent call runs', () => {
  const run = LiveRun.create({
    id: 'r1',
    project: 'p',
    name: 'n',
    source: 'conversation',
    createdAt: EVENT.timestamp,
  });
  const add = (event: AgentEvent): void => run.addEvent(event, 'a', (text) => text);
  add(START);
  run.addWait(4000);
  add(END);
  expect(run.record).toMatchObject({ workMs: 1000, waitMs: 4000 });
  run.addWait(7000); // an approval: its agent call has ended
  add(START);
  add(END);
  expect(run.record).toMatchObject({ workMs: 6000, waitMs: 11_000 });
});
