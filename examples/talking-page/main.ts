// A page on which you talk with an agent: microphone, transcript, tool calls, and barge-in. In a terminal it serves the page on this machine until Ctrl-C; with
// OPENAI_API_KEY the agent talks over a realtime model. Without a terminal, or with --check, it checks itself: a client speaks, listens and interrupts as the page does.

import { parseArgs } from 'node:util';

import { createService } from '@troupe/service';
import { ToneTtsModel } from 'troupe/testing';

import { check } from './check.ts';
import { realAgents, standIns } from './agents.ts';
import { servePage } from './server.ts';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '8485' },
    check: { type: 'boolean', default: !process.stdin.isTTY },
  },
});

if (values.check) {
  await using service = await createService({
    agents: standIns([], new ToneTtsModel({ msPerCharacter: 60 })),
  });
  await using page = await servePage(service, 0);
  await check(page.url);
} else {
  await using service = await createService({ agents: realAgents() ?? standIns() });
  await using page = await servePage(service, Number(values.port));
  console.log(`Open ${page.url}`);
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
  });
}
