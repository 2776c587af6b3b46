// A service for the comparison over HTTP, in a process of its own. Arguments: address of the model, the result of its tool, and where the
// service keeps its data.

import { createService, postgresStorage, sqliteStorage, type ServiceStorage } from '@troupe/service';
import { ReActAgent, tool } from 'troupe';
import { OpenAIChatModel } from 'troupe/openai';

const [baseUrl = '', result = '', where = ''] = process.argv.slice(2);
const parameters = {
  type: 'object',
  properties: { x: { type: 'number' } },
  required: ['x'],
  additionalProperties: false,
};
const lookup = { name: 'lookup', description: 'Looks something up.' };

async function startService(): Promise<number> {
  const model = new OpenAIChatModel({ modelName: 'fake', apiKey: 'x', baseUrl });
  const make = (): ReActAgent =>
    new ReActAgent({
      name: 'bench',
      model,
      maxIters: 20,
      tools: [tool({ ...lookup, schema: parameters, execute: () => result })],
      console: false,
    });
  const store: ServiceStorage = where.startsWith('postgres')
    ? postgresStorage(where, { approvalKey: 'a key of sixteen bytes or more' })
    : sqliteStorage(where);
  const service = await createService({
    agents: { bench: make },
    store,
    limits: { openRuns: Infinity, requestsPerMinute: Infinity },
  });
  return Number(new URL(await service.listen({ port: 0 })).port);
}

process.on('message', () => process.send?.({ cpu: process.cpuUsage(), rss: process.memoryUsage.rss() }));
process.send?.({ port: await startService() });
