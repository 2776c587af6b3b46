// Keys in errors and headers of requests are in no answer, no event, no log line, no metric and no row.

import { ReActAgent, withRunConfig } from 'troupe';
import { ScriptedModel } from 'troupe/testing';
import { expect, test } from 'vitest';

import { BearerTokens, createService, sqliteStorage } from '../src/index.ts';
import { ServiceClient } from './service-client.ts';

const CANARY = 'sk-canary0123456789abcdefghijklmnop';

function fails(): never {
  throw new Error(`The vendor refused the key ${CANARY}.`);
}

test('a key in an error of a model, a factory or a database, and the token of a request, are kept nowhere', async () => {
  const store = sqliteStorage(':memory:');
  const tokens = new BearerTokens(store.database);
  const { token } = await tokens.make('anna');
  const lines: string[] = [];
  const logger = { log: (...line: readonly unknown[]) => void lines.push(JSON.stringify(line)) };
  await withRunConfig({ logging: logger }, async () => {
    await using service = await createService({
      agents: {
        model: () =>
          new ReActAgent({
            name: 'model',
            model: new ScriptedModel([{ error: new Error(`401 for ${CANARY}`) }]),
            console: false,
          }),
        factory: fails,
      },
      store,
      auth: tokens.authenticate,
      shutdownMs: 0,
    });
    const client = new ServiceClient(service.fetch, { authorization: `Bearer ${token}` });
    const told: string[] = [];
    for (const agent of ['model', 'factory']) {
      const session = await client.session(agent);
      const { id } = await client.json('POST', `/api/sessions/${session}/runs`, { input: 'Go.' });
      await client.ended(id);
      for (const path of [`/api/runs/${id}`, `/api/runs/${id}/events`, `/api/sessions/${session}/messages`])
        told.push(await (await client.send('GET', path)).text());
    }
    store.database.query = fails; // the database is broken from now on
    const broken = await client.send('GET', '/api/sessions');
    expect(broken.status).toBe(500);
    told.push(await broken.text(), await (await client.send('GET', '/metrics')).text());
    delete (store.database as Partial<typeof store.database>).query;
    const tables = await store.database.query("SELECT name FROM sqlite_schema WHERE type = 'table'");
    for (const { name } of tables)
      told.push(JSON.stringify(await store.database.query(`SELECT * FROM ${String(name)}`)));
    expect(told.join('\n')).toContain('401 for');
    expect(told.join('\n')).not.toContain('canary');
    expect(told.join('\n')).not.toContain(token);
  });
  expect(lines.join('\n')).toContain('A request failed');
  expect(lines.join('\n')).not.toContain('canary');
});
