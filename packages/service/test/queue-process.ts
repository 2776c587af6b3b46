// A service as a process of its own, for tests with several processes on one session. Arguments: SQLite file or address of a PostgreSQL,
// and the file into which its tool writes when it begins and ends.

import { appendFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';

import { ReActAgent, tool } from 'troupe';
import { ScriptedModel } from 'troupe/testing';

import { createService, postgresStorage } from '../src/index.ts';
import { APPROVAL_KEY } from './postgres-database.ts';

const [store = '', file = ''] = process.argv.slice(2);
const service = await createService({
  store: store.startsWith('postgres') ? postgresStorage(store, { approvalKey: APPROVAL_KEY }) : store,
  limits: { openRuns: Infinity, requestsPerMinute: Infinity },
  shutdownMs: 0,
  agents: {
    assistant: {
      onBusy: 'queue',
      make: ({ run }) =>
        new ReActAgent({
          name: 'assistant',
          model: new ScriptedModel([{ toolCalls: [{ name: 'work', input: {} }] }, 'Done.']),
          tools: [
            tool({
              name: 'work',
              execute: async () => {
                appendFileSync(file, `begin ${run} ${process.pid}\n`);
                await setTimeout(3);
                appendFileSync(file, `end ${run} ${process.pid}\n`);
                return 'Worked.';
              },
            }),
          ],
          console: false,
        }),
    },
  },
});
process.stdout.write(`${await service.listen({ port: 0 })}\n`);
