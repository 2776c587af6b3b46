// Secrets in traces, errors and state: keys that pass through agents are in no row of the database and in no answer.

import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { gunzipSync } from 'node:zlib';

import { afterEach, expect, test } from 'vitest';

import { ReActAgent, tool, withRunConfig } from 'troupe';
import { StudioConnection } from 'troupe/studio';
import { ScriptedModel } from 'troupe/testing';
import { z } from 'zod';

import { Studios } from './studio-client.ts';

const studios = new Studios();
afterEach(() => studios.closeAll());

const CANARY = 'sk-canary0123456789abcdefghijklmnop';

function leakyAgent(): ReActAgent {
  return new ReActAgent({
    name: 'Friday',
    sysPrompt: `Your key is ${CANARY}.`,
    model: new ScriptedModel([
      {
        text: `I use ${CANARY}.`,
        toolCalls: [{ id: 'c1', name: 'look', input: { authorization: `Bearer ${CANARY}` } }],
      },
      `The key is ${CANARY}.`,
    ]),
    tools: [
      tool({
        name: 'look',
        description: 'Looks.',
        schema: z.object({ authorization: z.string() }),
        readOnly: true,
        execute: () => `found ${CANARY}`,
      }),
    ],
    console: false,
  });
}

/** Everything in a database as text, packed values too. */
function contentOf(dir: string): string {
  const db = new DatabaseSync(join(dir, 'studio.sqlite'), { readOnly: true });
  const tables = db.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table'`).all();
  const rows = tables.flatMap(({ name }) => db.prepare(`SELECT * FROM ${String(name)}`).all());
  const values = rows.flatMap((row) => Object.values(row));
  db.close();
  expect(rows.length).toBeGreaterThan(10);
  return values
    .map((value) => {
      if (!(value instanceof Uint8Array)) return String(value);
      return value[0] === 0x1f ? gunzipSync(value).toString('utf8') : Buffer.from(value).toString('latin1');
    })
    .join('\n');
}

test('a key in prompt, text, arguments and results is not kept, of conversations, programs and tracers', async () => {
  const dir = studios.folder();
  const page = await studios.start({ dir, agents: { friday: { create: leakyAgent } } });
  const live = await page.live();
  const { body: run } = await page.post('api/conversations', { agent: 'friday' });
  live.send({ type: 'watch_run', runId: run.id, after: 0 });
  await page.act(run.id, { type: 'send', content: `Use ${CANARY}, please.` });
  const isEnd = ({ kind, ...rest }: any) => kind === 'event' && rest.event.type === 'run_end';
  await live.entry(run.id, isEnd);
  await live.entry(run.id, ({ kind }) => kind === 'snapshot');

  await withRunConfig({ runId: 'remote', logging: 'silent' }, async () => {
    const connection = new StudioConnection({ studioUrl: page.studio.url, studioToken: page.studio.token });
    await leakyAgent().call(`Use ${CANARY}.`);
    await connection.close();
  });
  const attributes = [{ key: 'authorization', value: { stringValue: `Bearer ${CANARY}` } }];
  const span = { traceId: 'ab', spanId: 'cd', name: CANARY, startTimeUnixNano: '1', attributes };
  const answer = await fetch(`${page.studio.agentscopeUrl}/v1/traces`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] }),
  });
  expect(answer.status).toBe(200);

  const told = JSON.stringify([
    live.messages,
    (await page.get('api/runs')).body,
    (await page.get('api/traces')).body,
  ]);
  expect(told).toContain('[redacted]');
  expect(told).not.toContain('canary');
  await page.studio.close();
  const stored = contentOf(dir);
  expect(stored).toContain('[redacted]');
  expect(stored).not.toContain('canary');
});

test('a Studio that is logged, inspected or turned into JSON shows neither its token nor its key', async () => {
  const { studio } = await studios.start();
  const { token, loginUrl, agentscopeUrl } = studio;
  expect(loginUrl).toBe(`${studio.url}/#t=${token}`);
  const key = agentscopeUrl.split('/').at(-1) ?? '';
  expect(Math.min(token.length, key.length)).toBeGreaterThan(20);
  const shown = [inspect(studio, { depth: 9, showHidden: true }), JSON.stringify(studio)].join('\n');
  expect(shown).toContain(studio.url);
  expect(shown).not.toContain(token);
  expect(shown).not.toContain(key);
});
