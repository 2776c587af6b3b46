/**
 * Measures what the framework costs.
 *
 *     npm run bench                      all peers, all scenarios (about 20 minutes), into bench/results/
 *     npm run bench -- --quick           fewer samples (about 3 minutes); for a look, not for a claim
 *     npm run bench -- --peers floor,floor-http,adk,pi,vercel-ai --only B,D
 *     npm run bench -- --kernel          parts of the kernel against code written by hand
 *     npm run bench -- --retrieval       questions and their passages; --corpus <folder> for texts of your own
 *     npm run bench -- --vectors         100 000 vectors in the embedded store, beside others
 *     npm run bench -- --scenarios       hooks, delegation, hubs, many runs at once, a short soak (about half a minute)
 *     npm run bench -- --service         durable runs and answers over HTTP, beside DBOS, Mastra and a bare server (needs a PostgreSQL)
 *     npm run bench -- --talks           100 conversations by voice at once: the delay of each frame of sound (on a quiet machine)
 *     npm run bench -- --soak 60         agents that run for an hour, and their heap
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { measureScenarios, soak } from './scenarios.ts';
import { PLACE, setUp } from './set-up-peers.ts';

const RESULTS = fileURLToPath(new URL('./results', import.meta.url));

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean' },
    kernel: { type: 'boolean' },
    retrieval: { type: 'boolean' },
    corpus: { type: 'string' },
    embeddings: { type: 'string' },
    vectors: { type: 'boolean' },
    count: { type: 'string' },
    scenarios: { type: 'boolean' },
    service: { type: 'boolean' },
    talks: { type: 'boolean' },
    soak: { type: 'string' },
    peers: { type: 'string' },
    only: { type: 'string' },
    node: { type: 'string' },
  },
});

if (values.kernel) await import('./kernel.ts');
else if (values.retrieval)
  await (await import('./knowledge/retrieval.ts')).measureRetrieval(values.corpus, values.embeddings);
else if (values.vectors)
  await (await import('./knowledge/vectors.ts')).measureVectors(values.only, Number(values.count ?? 100_000));
else if (values.service) await (await import('./service/measure-service.ts')).measureService();
else if (values.talks) await (await import('./talks.ts')).measureTalks();
else if (values.scenarios) await measureScenarios();
else if (values.soak !== undefined) await soak(Number(values.soak));
else {
  setUp(values.peers?.split(','));
  mkdirSync(RESULTS, { recursive: true });
  const isWhole = values.peers === undefined && values.only === undefined && !values.quick;
  const out = join(isWhole ? RESULTS : PLACE, 'peers.md');
  const args = Object.entries({ ...values, out, json: join(PLACE, 'peers.json') }).flatMap(([name, value]) =>
    value === true ? [`--${name}`] : [`--${name}`, String(value)],
  );
  const { status } = spawnSync(process.execPath, [join(PLACE, 'run.mjs'), ...args], { stdio: 'inherit' });
  if (status === 0 && existsSync(out)) console.log(`The tables are in ${out}`);
  process.exitCode = status ?? 1;
}
