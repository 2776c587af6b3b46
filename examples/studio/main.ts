// `npm start`: the Studio with a demo troupe, in a browser. `npm run chat` is a chat in the terminal.

import { join } from 'node:path';

import { openInBrowser, startStudio } from '@troupe/studio';
import { JsonSession } from 'troupe/stores/json';

import { chooseModel } from '../chat/choose-model.ts';
import { demoAgent } from './demo-agents.ts';
import { DemoModel } from './demo-model.ts';

const { model, description } = await chooseModel(process.env);
const isOffline = model.modelName === 'offline';
const dir = process.env['TROUPE_STUDIO_DIR'] || join(process.cwd(), '.troupe');

const studio = await startStudio({
  agents: { friday: demoAgent(isOffline ? new DemoModel() : model, process.cwd()) },
  session: new JsonSession(join(dir, 'sessions')),
  project: 'demo',
  dir,
  ...(process.env['PORT'] && { port: Number(process.env['PORT']) }),
});

let isEnding = false;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => {
    if (isEnding) return;
    isEnding = true;
    studio.close().then(
      () => process.exit(0),
      (error: unknown) => {
        console.error(error instanceof Error ? error.message : error);
        process.exit(1);
      },
    );
  });

console.log(`Troupe Studio, with a demo agent (${isOffline ? 'offline demo model, no key needed' : description}).

  ${studio.loginUrl}

Programs connect with init({ studioUrl: '${studio.url}' }). Ctrl-C ends; conversations are saved and go on at the next start.`);
openInBrowser(studio.loginUrl);
