// Runs the scenarios over the peers and writes a report. See README.md.
//   node run.mjs [--quick] [--peers a,b] [--only A,B,...] [--node /path/to/node] [--out report.md] [--json results.json]
import { fork } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import { parseArgs } from 'node:util';
import { installed } from './installed.mjs';
import { report } from './report.mjs';
import { picture, summary } from './summary.mjs';

const here = new URL('.', import.meta.url).pathname;
const { values: opt } = parseArgs({
  options: {
    quick: { type: 'boolean' },
    peers: { type: 'string' },
    only: { type: 'string' },
    node: { type: 'string' },
    out: { type: 'string' },
    json: { type: 'string' },
  },
});
const q = !!opt.quick;
const node = opt.node ?? process.execPath;
const available = readdirSync(`${here}adapters`).filter(
  (p) =>
    existsSync(`${here}adapters/${p}/adapter.mjs`) &&
    (!existsSync(`${here}adapters/${p}/package.json`) || existsSync(`${here}adapters/${p}/node_modules`)),
);
const peers = opt.peers
  ? opt.peers.split(',')
  : ['floor', 'floor-http', ...available.filter((p) => !p.startsWith('floor'))];
const only = opt.only?.split(',');

// Telemetry off and production mode for everybody; guard.mjs refuses what still tries to get out.
const env = {
  ...process.env,
  NODE_ENV: 'production',
  MASTRA_TELEMETRY_DISABLED: '1',
  OPENAI_AGENTS_DISABLE_TRACING: '1',
  LANGSMITH_TRACING: 'false',
};
const execArgv = ['--expose-gc', '--import', `${here}guard.mjs`];

// ---------------------------------------------------------------- the plan
// A case: samples are taken round by round over all peers; `need` says what an adapter must offer.
// --quick takes fewer samples of smaller sizes. Past its budget (seconds) a group starts no further round, so
// that a busy machine costs samples, not minutes.
const loop = (id, params, samples, need, warm = 0) => ({
  id,
  scenario: 'loop',
  params,
  samples,
  need,
  warm: [[{ ...params, rounds: 50 }, warm]],
});
const plan = [
  {
    letter: 'B',
    budget: 150,
    cases: [
      loop('B50', { rounds: 50 }, q ? 1 : 7, undefined, q ? 1 : 7),
      loop('B10', { rounds: 10 }, q ? 1 : 7),
      loop('B200', { rounds: q ? 100 : 200 }, q ? 1 : 3),
      loop('B50gen', { rounds: 50, stream: false }, q ? 1 : 4, { mode: 'generate' }, q ? 1 : 2),
      loop('B50mem', { rounds: 50, store: 'memory' }, q ? 1 : 4, { store: 'memory' }, 1),
      loop('B200mem', { rounds: q ? 100 : 200, store: 'memory' }, 1, { store: 'memory' }),
    ],
  },
  {
    letter: 'C',
    budget: 40,
    cases: [
      { id: 'C', scenario: 'par', params: { calls: 64 }, samples: q ? 2 : 7, warm: [['same', q ? 2 : 8]] },
    ],
  },
  {
    letter: 'D',
    budget: 100,
    cases: [
      {
        id: 'D',
        scenario: 'text',
        params: { deltas: q ? 4_000 : 20_000 },
        samples: q ? 1 : 3,
        warm: [[{ deltas: q ? 1_000 : 4_000 }, 2]],
      },
      {
        id: 'Deach',
        scenario: 'text',
        params: { deltas: q ? 1_000 : 5_000, kind: 'each' },
        samples: q ? 1 : 3,
      },
      {
        id: 'Dargs1',
        scenario: 'args',
        params: { deltas: 1_000 },
        samples: q ? 1 : 4,
        warm: [['same', q ? 1 : 4]],
      },
      { id: 'Dargs4', scenario: 'args', params: { deltas: 4_000 }, samples: q ? 1 : 3 },
    ],
  },
  {
    letter: 'E',
    budget: 100,
    cases: [
      {
        id: 'E',
        scenario: 'crowd',
        params: { agents: q ? 40 : 500 },
        samples: q ? 1 : 2,
        warm: [[{ agents: q ? 10 : 25 }, 1]],
      },
    ],
  },
  {
    letter: 'F',
    budget: 50,
    cases: [
      {
        id: 'F',
        scenario: 'session',
        params: { messages: q ? 500 : 2_000, store: 'memory', prompt: 'hello', requestsPerTurn: 1, turns: 2 },
        samples: q ? 1 : 6,
        need: { store: 'memory' },
        warm: [['same', q ? 1 : 3]],
      },
    ],
  },
  {
    letter: 'G',
    budget: 40,
    cases: [
      { id: 'G', scenario: 'abortStream', params: { kind: 'pace' }, samples: q ? 1 : 7, warm: [['same', 1]] },
      { id: 'Gargs', scenario: 'abortStream', params: { kind: 'paceargs' }, samples: q ? 1 : 3 },
    ],
  },
  {
    letter: 'H',
    budget: 40,
    cases: [
      {
        id: 'H',
        scenario: 'abortTool',
        params: { deaf: false, toolMs: 10_000 },
        samples: q ? 1 : 7,
        warm: [['same', 1]],
      },
      {
        id: 'Hdeaf',
        scenario: 'abortTool',
        params: { deaf: true, toolMs: q ? 2_000 : 10_000 },
        samples: 1,
        together: true,
      },
    ],
  },
  {
    letter: 'I',
    budget: 60,
    cases: ['memory', 'disk'].map((store) => ({
      id: `I${store}`,
      scenario: 'session',
      params: { messages: q ? 100 : 500, store, prompt: 'tools:3', requestsPerTurn: 4 },
      samples: q ? 2 : 7,
      need: { store },
      warm: [['same', q ? 2 : 5]],
    })),
  },
];
const COLD = q ? 1 : 5,
  IDLE = q ? [1, 500] : [2, 5_000];

// ---------------------------------------------------------------- machinery
const server = fork(`${here}fake-openai.mjs`, {
  execPath: node,
  execArgv: [],
  stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
});
const port = await new Promise((res) => server.stdout.once('data', (d) => res(JSON.parse(d).port)));
const stats = async (run) => (await fetch(`http://127.0.0.1:${port}/stats/${run}`)).json();
const once = (p) =>
  new Promise((res) => {
    const end = (out) => {
      p.off('message', end);
      p.off('exit', gone);
      res(out);
    };
    const gone = (code, signal) => end({ error: `process ended (${code ?? signal})`, gone: true });
    p.on('message', end);
    p.on('exit', gone);
  });
const result = {
  when: new Date().toISOString(),
  node: '',
  quick: q,
  cpu: `${os.cpus().length} × ${os.cpus()[0].model}`,
  peers,
  info: {},
  versions: {},
  install: {},
  cold: {},
  idle: {},
  cases: {},
  took: {},
  load: {},
};
const note = (s) => process.stderr.write(`${s}\n`);
const rotated = (list, r) => list.map((_, i) => list[(i + r) % list.length]);

async function fresh(peer, ...args) {
  const p = fork(`${here}cold.mjs`, [peer, String(port), ...args], {
    execPath: node,
    execArgv,
    env,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const out = await once(p);
  if (!out.gone) await new Promise((res) => (p.exitCode === null ? p.once('exit', res) : res()));
  return out;
}

async function group({ letter, budget, cases }) {
  const t0 = Date.now();
  const kids = {};
  await Promise.all(
    peers.map(async (peer) => {
      const p = fork(`${here}child.mjs`, [peer, String(port)], {
        execPath: node,
        execArgv,
        env,
        stdio: ['ignore', 'ignore', process.env.BENCH_DEBUG ? 'inherit' : 'ignore', 'ipc'],
      });
      const hello = await once(p);
      if (!hello.ready) return note(`${letter} ${peer}: cannot start: ${hello.error}`);
      result.info[peer] = hello.info;
      kids[peer] = p;
    }),
  );
  const sample = async (peer, c, params) => {
    const run = `${c.id}-${peer}`;
    const p = kids[peer];
    if (!p) return { error: 'process gone' };
    p.send({ scenario: c.scenario, params: { ...params, run } });
    const out = await once(p);
    if (out.gone) delete kids[peer];
    else if (out.error === 'timeout') {
      p.kill('SIGKILL');
      delete kids[peer];
    }
    out.server = await stats(run);
    return out;
  };
  const here_ = (c) => (result.cases[c.id] ??= { params: c.params, peers: {} }).peers;
  for (const c of cases)
    for (const peer of peers.filter((p) => kids[p])) {
      const info = result.info[peer];
      if (c.need?.mode && !info.modes.includes(c.need.mode))
        here_(c)[peer] = { skipped: `no ${c.need.mode} mode` };
      else if (c.need?.store && !info.stores[c.need.store])
        here_(c)[peer] = { skipped: `no ${c.need.store} store` };
      else here_(c)[peer] = { samples: [] };
      const slot = here_(c)[peer];
      for (const [params, times] of slot.samples ? (c.warm ?? []) : [])
        for (let i = 0; i < times && !slot.error; i++) {
          const out = await sample(peer, c, params === 'same' ? c.params : params);
          if (out.error) Object.assign(slot, { error: out.error, server: out.server });
        }
    }
  for (let r = 0; r < Math.max(...cases.map((c) => c.samples)); r++)
    for (const c of cases) {
      if (r >= c.samples || (r > 0 && Date.now() - t0 > budget * 1000)) continue;
      const todo = rotated(peers, r).filter((p) => here_(c)[p]?.samples && !here_(c)[p].error);
      const take = async (peer) => {
        const out = await sample(peer, c, c.params);
        if (out.error) Object.assign(here_(c)[peer], { error: out.error, server: out.server });
        else here_(c)[peer].samples.push(out);
      };
      if (c.together) await Promise.all(todo.map(take));
      else for (const peer of todo) await take(peer);
    }
  await Promise.all(
    Object.values(kids).map(
      (p) =>
        new Promise((res) => {
          p.once('exit', res);
          p.disconnect();
        }),
    ),
  );
  done(letter, t0);
}
const done = (what, t0) => {
  result.took[what] = (Date.now() - t0) / 1000;
  result.load[what] = os.loadavg()[0];
  note(`${what}: ${result.took[what].toFixed(0)} s, load ${result.load[what].toFixed(1)}`);
};

// ---------------------------------------------------------------- go
const started = Date.now();
result.node =
  (await new Promise((res) => {
    const p = fork('-p', ['process.version'], {
      execPath: node,
      execArgv: [],
      stdio: ['ignore', 'pipe', 'ignore', 'ipc'],
    });
    let s = '';
    p.stdout.on('data', (d) => (s += d));
    p.once('exit', () => res(s.trim()));
  })) || process.version;
for (const peer of peers) {
  const pkg = `${here}adapters/${peer}/package.json`;
  if (existsSync(pkg)) result.versions[peer] = JSON.parse(readFileSync(pkg)).dependencies;
}
if (!only || only.includes('A')) {
  const t0 = Date.now();
  for (let r = 0; r < COLD; r++)
    for (const peer of rotated(peers, r)) {
      const { info, ...out } = await fresh(peer);
      if (r === 0) {
        // the first one warms the file cache
        result.info[peer] = info;
        const dir = `${here}adapters/${peer}`;
        result.install[peer] = {
          ...installed(dir, info?.packages ?? []),
          withExtras: installed(dir, [...(info?.packages ?? []), ...(info?.extras ?? [])]),
        };
        result.cold[peer] = q ? [out] : [];
      } else result.cold[peer].push(out);
    }
  done('A', t0);
}
let groups = plan.filter((g) => !only || only.includes(g.letter));
if (q) {
  // fewer process starts: they are most of a quick run
  groups = ['BC', 'D', 'E', 'FGHI']
    .map((set) => groups.filter((g) => set.includes(g.letter)))
    .filter((gs) => gs.length)
    .map((gs) => ({
      letter: gs.map((g) => g.letter).join(' '),
      budget: gs.reduce((n, g) => n + g.budget, 0),
      cases: gs.flatMap((g) => g.cases),
    }));
}
for (const g of groups) await group(g);
if (!only || only.includes('E')) {
  const t0 = Date.now();
  for (let r = 0; r < IDLE[0] && (r === 0 || Date.now() - t0 < 20_000); r++)
    for (const peer of rotated(peers, r)) (result.idle[peer] ??= []).push(await fresh(peer, String(IDLE[1])));
  done('E idle', t0);
}
server.kill();
result.took.all = (Date.now() - started) / 1000;

mkdirSync(`${here}results`, { recursive: true });
const json = opt.json ?? `${here}results/${result.when.replace(/[:.]/g, '-')}.json`;
writeFileSync(json, JSON.stringify(result));
const md = `${summary(result)}\n${report(result)}`;
if (opt.out) writeFileSync(opt.out.replace(/\.md$/, '.svg'), picture(result));
if (opt.out) writeFileSync(opt.out, md);
else console.log(md);
note(`${result.took.all.toFixed(0)} s in all; raw numbers: ${json}`);
process.exit(0);
