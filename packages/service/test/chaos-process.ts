// A gateway or worker as a process of its own, for the chaos test. Arguments: database, port, maximum runs, and the engine (`dbos`, or the
// built-in one).

import { setTimeout } from 'node:timers/promises';

import pg from 'pg';

import { dbosRunner } from '../src/dbos/index.ts';
import { createService, postgresStorage } from '../src/index.ts';
import { durableAgent } from './durable-agents.ts';

const [database = '', port = '0', maxRuns = '0', engine = ''] = process.argv.slice(2);
const log = new pg.Pool({ connectionString: database, max: 2 });
log.on('error', () => {});

/** Writes a row of work, and works for a while, so that a kill meets work in the middle. */
async function begin(run: string | undefined, what: string, key = ''): Promise<void> {
  const sql = 'INSERT INTO chaos_work (run, what, step, pid, at) VALUES ($1, $2, $3, $4, clock_timestamp())';
  for (;;) {
    try {
      await log.query(sql, [run, what, key, process.pid]);
      break;
    } catch {
      await setTimeout(20); // its connection was ended
    }
  }
  await setTimeout(20 + Math.random() * 60);
}

const service = await createService({
  store: postgresStorage(
    { connectionString: database, max: 8 },
    { approvalKey: 'a key of sixteen bytes or more' },
  ),
  maxRuns: Number(maxRuns),
  ...(engine === 'dbos' && { runner: dbosRunner({ systemDatabaseUrl: database }) }),
  limits: { openRuns: Infinity, requestsPerMinute: Infinity },
  shutdownMs: 2000,
  agents: {
    assistant: ({ run }) =>
      durableAgent({
        asks: 'charge',
        onModel: () => begin(run, 'model'),
        take: ({ tool, key }) => begin(run, tool, key),
      }),
  },
});
const url = await service.listen({ port: Number(port) });
process.once('SIGTERM', () => {
  void service
    .close()
    .then(() => log.end())
    .then(() => process.exit(0));
});
process.stdout.write(`${url}\n`);
