import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { installIn } from '../set-up-peers.ts';

const HERE = import.meta.dirname;
const MODEL = join(HERE, '../peers/fake-openai.mjs');
const MASTRA = join(HERE, '../../.cache/service-peers/mastra');
/** Rounds of one tool call in each run. */
const ROUNDS = 10;
/** Model calls and tool calls of a run. */
const STEPS = 2 * ROUNDS + 1;
const PROMPT = `tools:${ROUNDS}`;
const RESULT = JSON.stringify({
  ok: true,
  note: 'a tool result of a usual size, not tiny and not huge. '.repeat(3),
});

interface Usage {
  readonly cpu: NodeJS.CpuUsage;
  readonly rss: number;
}

/** A server that answers runs, in a process of its own. */
interface BenchServer {
  readonly name: string;
  /** Runs once, and reads the answer to its end. */
  run(url: string): Promise<void>;
  start(model: string): ChildProcess;
}

async function post(url: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  const text = await response.text();
  if (!response.ok || !text.includes('done'))
    throw new Error(`${url}: ${response.status} ${text.slice(0, 300)}`);
}

function serversOf(dir: string, database: string): readonly BenchServer[] {
  const service = (name: string, where: string): BenchServer => ({
    name,
    run: (url) =>
      post(`${url}/v1/chat/completions`, {
        model: 'bench',
        stream: true,
        messages: [{ role: 'user', content: PROMPT }],
      }),
    start: (model) =>
      fork(join(HERE, 'http-process.ts'), [model, RESULT, where], { execArgv: process.execArgv }),
  });
  const bare: BenchServer = {
    name: 'bare Hono server, loop by hand',
    run: (url) => post(`${url}/run`, { prompt: PROMPT }),
    start: (model) => fork(join(HERE, 'bare-server.mjs'), [model, RESULT], { execArgv: [] }),
  };
  const mastra: BenchServer = {
    name: 'Mastra server (no durability)',
    run: (url) =>
      post(`${url}/api/agents/bench/stream`, {
        messages: [{ role: 'user', content: PROMPT }],
        maxSteps: 20,
      }),
    start: (model) => fork(join(MASTRA, 'server.mjs'), [model, RESULT], { execArgv: [] }),
  };
  const all = [
    bare,
    service('service, in memory', ':memory:'),
    service('service, SQLite file', join(dir, 'service.sqlite')),
    service('service, PostgreSQL', database),
  ];
  return existsSync(join(MASTRA, 'node_modules')) ? [...all, mastra] : all;
}

async function usageOf(server: ChildProcess): Promise<Usage> {
  const answer = once(server, 'message');
  server.send('usage');
  const [usage] = (await answer) as [Usage];
  return usage;
}

interface Figures {
  readonly runsPerSecond: number;
  readonly cpuMs: number;
  readonly rssMb: number;
}

async function measureOnce(
  bench: BenchServer,
  model: string,
  { runs, atOnce }: { readonly runs: number; readonly atOnce: number },
): Promise<Figures> {
  const server = bench.start(model);
  try {
    const [{ port }] = (await once(server, 'message')) as [{ port: number }];
    const url = `http://127.0.0.1:${port}`;
    const runAll = async (count: number): Promise<void> => {
      let left = count;
      const next = async (): Promise<void> => {
        while (left-- > 0) await bench.run(url);
      };
      await Promise.all(Array.from({ length: atOnce }, next));
    };
    await runAll(Math.max(10, atOnce)); // warm
    const before = await usageOf(server);
    const at = performance.now();
    await runAll(runs);
    const ms = performance.now() - at;
    const { cpu, rss } = await usageOf(server);
    const used = cpu.user + cpu.system - before.cpu.user - before.cpu.system;
    return { runsPerSecond: (runs * 1000) / ms, cpuMs: used / 1000 / runs, rssMb: rss / 2 ** 20 };
  } finally {
    const exit = once(server, 'exit');
    server.kill('SIGKILL');
    await exit;
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
}

/** Installs Mastra, unless the same version is installed. A failure leaves Mastra out. */
function setUpMastra(): void {
  mkdirSync(MASTRA, { recursive: true });
  cpSync(join(HERE, 'mastra'), MASTRA, { recursive: true });
  installIn(MASTRA, 'mastra');
}

/**
 * Measures runs over HTTP with the same fake model: a service with each store, a bare Hono server and a Mastra server, each in a process
 * of its own, in turn and several times. Prints a table in Markdown. @param database address of an empty PostgreSQL database
 */
export async function measureHttp(database: string, rounds = 3): Promise<void> {
  setUpMastra();
  const dir = mkdtempSync(join(tmpdir(), 'troupe-http-'));
  const model = fork(MODEL, ['0'], { execArgv: [], stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  try {
    const [line] = (await once(model.stdout?.setEncoding('utf8') ?? model, 'data')) as [string];
    const { port } = JSON.parse(line) as { port: number };
    const servers = serversOf(dir, database);
    console.log(
      '| server | runs at the same time | runs in a second | steps in a second | CPU for a run | CPU, beside the bare server |',
    );
    console.log('|---|--:|--:|--:|--:|--:|');
    for (const load of [
      { runs: 30, atOnce: 1 },
      { runs: 300, atOnce: 50 },
    ]) {
      const figures = new Map<BenchServer, Figures[]>(servers.map((server) => [server, []]));
      for (let round = 0; round < rounds; round++)
        for (const server of servers)
          figures.get(server)?.push(await measureOnce(server, `http://127.0.0.1:${port}/r/x/v1`, load));
      const of = (server: BenchServer, key: keyof Figures): number =>
        median((figures.get(server) ?? []).map((one) => one[key]));
      const [bare] = servers;
      for (const server of servers) {
        const [rate, cpu] = [of(server, 'runsPerSecond'), of(server, 'cpuMs')];
        const ratio = bare === undefined ? 1 : cpu / of(bare, 'cpuMs');
        console.log(
          `| ${server.name} | ${load.atOnce} | ${rate.toFixed(1)} | ${(rate * STEPS).toFixed(0)} | ${cpu.toFixed(1)} ms | ${ratio.toFixed(1)} |`,
        );
      }
    }
  } finally {
    model.kill('SIGKILL');
    rmSync(dir, { recursive: true, force: true });
  }
}
