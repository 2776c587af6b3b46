import { afterEach, expect, test } from 'vitest';

import { Studios, type StudioClient } from './studio-client.ts';

const studios = new Studios();
afterEach(() => studios.closeAll());

const RUN = {
  runId: 'r',
  kind: 'run',
  run: { project: 'p', name: 'n', createdAt: '2026-01-01T00:00:00.000Z' },
};
const EVENT = {
  runId: 'c',
  replyId: 'p',
  agentPath: ['Friday'],
  seq: 1,
  timestamp: '2026-01-01T00:00:00.000Z',
};

function send({ studio }: StudioClient, number: number, items: readonly unknown[]) {
  return fetch(`${studio.url}/program/batches`, {
    method: 'POST',
    headers: { authorization: `Bearer ${studio.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ program: { id: 'p1', library: 'x', protocol: 1 }, number, dropped: 0, items }),
  });
}

test('damaged items of a batch are counted and left out: the others are kept, and runs go on', async () => {
  const page = await studios.start();
  const start = {
    runId: 'r',
    kind: 'event',
    agentId: 'a',
    event: { ...EVENT, type: 'reply_start', name: 'Friday' },
  };
  expect((await send(page, 1, [RUN, start])).status).toBe(200);
  const damaged = [
    null,
    'text',
    { kind: 'event' },
    { runId: 'r', kind: 'no such kind' },
    { runId: 'r', kind: 'toString' },
    { runId: 'r', kind: '__proto__' },
    { runId: 'r', kind: 'run' },
    { runId: 'r', kind: 'event', agentId: 'a' },
    { runId: 'r', kind: 'event', agentId: 'a', event: { ...EVENT, type: 'text_delta', agentPath: 'Friday' } },
    { runId: 'r', kind: 'event', agentId: 'a', event: { ...EVENT, type: 'tool_result' } },
    { runId: 'r', kind: 'event', agentId: 'a', event: { ...EVENT, type: 'model_end' } },
    { runId: 'r', kind: 'agent', agent: { id: 'a' } },
    { runId: 'r', kind: 'input', input: { messages: [null] } },
    { runId: 'r', kind: 'prompt', prompt: { parts: null } },
    { runId: 'r', kind: 'inside', inside: null },
    { runId: 'r', kind: 'pending', agentId: 'a', pending: [{}], schemas: {} },
    { runId: 'r', kind: 'question', question: {} },
    { runId: 'r', kind: 'question_end' },
  ];
  const later = {
    runId: 'r',
    kind: 'event',
    agentId: 'a',
    event: { ...EVENT, type: 'text_delta', text: 'Hi' },
  };
  expect((await send(page, 2, [...damaged, later])).status).toBe(200);
  const { run } = (await page.get('api/runs/r')).body;
  expect(run).toMatchObject({ status: 'running', dropped: damaged.length });
  const { entries } = (await page.get('api/runs/r/entries')).body;
  expect(entries.map(({ kind, event }: any) => event?.type ?? kind)).toEqual([
    'reply_start',
    'program',
    'text_delta',
    'dropped',
  ]);
});
