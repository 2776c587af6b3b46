// A service as a process of its own, for tests that kill it. Arguments: SQLite file or address of a PostgreSQL, file of effects, when to
// kill itself, the engine (`dbos`, or the built-in one), and the agent (`parallel`, or one step after the other).

import { appendFileSync } from 'node:fs';

import { dbosRunner } from '../src/dbos/index.ts';
import { createService, postgresStorage } from '../src/index.ts';
import { durableAgent, parallelAgent } from './durable-agents.ts';
import { APPROVAL_KEY } from './postgres-database.ts';

const [path = '', effectsFile = '', killAt = '', engine = '', kind = ''] = process.argv.slice(2);
const makeAgent = kind === 'parallel' ? parallelAgent : durableAgent;
let bodies = 0;

/** Kills this process in the middle of the n-th model call or tool. */
async function dieAt(): Promise<void> {
  appendFileSync(`${effectsFile}-bodies`, 'body\n');
  if (String(bodies++) !== killAt) return;
  process.kill(process.pid, 'SIGKILL');
  await new Promise(() => {});
}

const service = await createService({
  store: path.startsWith('postgres') ? postgresStorage(path, { approvalKey: APPROVAL_KEY }) : path,
  shutdownMs: 0,
  ...(engine === 'dbos' && { runner: dbosRunner({ systemDatabaseUrl: path }) }),
  agents: {
    assistant: () =>
      makeAgent({
        onModel: dieAt,
        take: async (effect) => {
          appendFileSync(effectsFile, `${effect.tool} ${effect.key}\n`);
          await dieAt();
        },
      }),
  },
});
process.stdout.write(`${await service.listen({ port: 0 })}\n`);
