// A service as a process of its own, for tests that kill it. Arguments: SQLite file or address of a PostgreSQL, file of effects, and when to
// kill itself.

import { appendFileSync } from 'node:fs';

import { createService, postgresStorage } from '../src/index.ts';
import { durableAgent } from './durable-agents.ts';
import { APPROVAL_KEY } from './postgres-database.ts';

const [path = '', effectsFile = '', killAt = ''] = process.argv.slice(2);
let bodies = 0;

/** Kills this process in the middle of the n-th model call or tool. */
async function dieAt(): Promise<void> {
  if (String(bodies++) !== killAt) return;
  process.kill(process.pid, 'SIGKILL');
  await new Promise(() => {});
}

const service = await createService({
  store: path.startsWith('postgres') ? postgresStorage(path, { approvalKey: APPROVAL_KEY }) : path,
  shutdownMs: 0,
  agents: {
    assistant: () =>
      durableAgent({
        onModel: dieAt,
        take: async (effect) => {
          appendFileSync(effectsFile, `${effect.tool} ${effect.key}\n`);
          await dieAt();
        },
      }),
  },
});
process.stdout.write(`${await service.listen({ port: 0 })}\n`);
