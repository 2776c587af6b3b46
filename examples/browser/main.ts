// An agent on a web page: text while it is written, tool calls while their arguments are written, approvals with
// buttons, and Stop. In a terminal it serves the page on this machine until Ctrl-C. Without a terminal, or with
// --check, it checks itself: a client reads the same events over HTTP, and folds them as the page does.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { OfflineModel } from 'troupe/offline';
import { JsonSession } from 'troupe/stores/json';

import { chooseModel } from '../chat/choose-model.ts';
import { travelAgent } from './agent.ts';
import { check } from './check.ts';
import { startServer } from './server.ts';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '8484' },
    folder: { type: 'string' },
    serve: { type: 'boolean', default: process.stdin.isTTY },
    check: { type: 'boolean', default: false },
    delay: { type: 'string', default: '60' }, // milliseconds before each word of the offline model
  },
});

/** Serves until Ctrl-C. */
async function serve(folder: string): Promise<void> {
  const { model, description } = await chooseModel(process.env, Number(values.delay));
  const server = await startServer({
    port: Number(values.port),
    store: new JsonSession(folder),
    makeAgent: () => travelAgent(model),
  });
  console.log(`Open ${server.url}`);
  console.log(`The model: ${description}.`);
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
  });
  await server.close();
}

const folder = values.folder ?? (await mkdtemp(join(tmpdir(), 'conversations-')));
try {
  if (values.serve && !values.check) await serve(folder);
  else {
    await check((delayMs) =>
      startServer({
        port: 0,
        store: new JsonSession(folder),
        makeAgent: () => travelAgent(new OfflineModel({ delayMs })),
      }),
    );
  }
} finally {
  if (values.folder === undefined) await rm(folder, { recursive: true });
}
