// `npm run service`: agents over HTTP, offline, on this machine only.

import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { createService } from '@troupe/service';

import { assistant } from './agents.ts';
import { CLIENT, servePage } from './page-server.ts';

const dir = process.env['TROUPE_SERVICE_DIR'] || join(process.cwd(), '.troupe');
mkdirSync(dir, { recursive: true, mode: 0o700 });
const service = await createService({ agents: { assistant }, store: join(dir, 'service.sqlite') });
const url = await service.listen(process.env['PORT'] ? { port: Number(process.env['PORT']) } : {});
const page = existsSync(CLIENT)
  ? await servePage(service, process.env['PORT'] === '0' ? 0 : 4489)
  : undefined;

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void Promise.all([service.close(), page?.close()]).then(() => process.exit(0)));

console.log(`Troupe service, with a demo agent. Operations to try: ${url}/docs
${page === undefined ? 'The page of the example needs a build: npm run build' : `A page that uses it: ${page.url}`}

  curl -s ${url}/api/sessions -H 'content-type: application/json' -d '{"agent":"assistant","id":"s1"}'
  curl -s ${url}/api/sessions/s1/runs -H 'content-type: application/json' -d '{"input":"What is 6 * 7?"}'
  curl -N ${url}/api/runs/<id>/events

Ctrl-C ends; sessions are kept, and runs that were cut off go on at the next start.`);
