import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** Engines that run the same ten steps: a service with each, and DBOS alone. */
export const ENGINES = ['sqlite', 'postgres', 'dbos', 'dbos-bare'] as const;
export type Engine = (typeof ENGINES)[number];

/** Work for one process: so many runs, so many of them at the same time. */
export interface EngineTask {
  readonly engine: Engine;
  readonly database: string;
  readonly runs: number;
  readonly atOnce: number;
}

/** Measured in one process. */
export interface EngineFigures {
  readonly stepsPerSecond: number;
  readonly cpuMsPerRun: number;
  /** Transactions of the database for a run; undefined without PostgreSQL. */
  readonly transactionsPerRun: number | undefined;
}

const CHILD = fileURLToPath(new URL('./engine-process.ts', import.meta.url));

async function measureOnce(task: EngineTask): Promise<EngineFigures> {
  const child = fork(CHILD, [JSON.stringify(task)], { execArgv: process.execArgv });
  const exit = once(child, 'exit');
  const [figures] = (await Promise.race([
    once(child, 'message'),
    exit.then(() => Promise.reject(new Error(`The process of ${task.engine} ended without figures.`))),
  ])) as [EngineFigures];
  await exit;
  return figures;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
}

/**
 * Measures durable runs of ten steps with each engine, in turn and several times, so that a busy minute hits all of them. Prints a
 * table in Markdown. @param database address of an empty PostgreSQL database
 */
export async function measureEngines(database: string, rounds = 3): Promise<void> {
  const loads = [
    { runs: 20, atOnce: 1 },
    { runs: 200, atOnce: 200 },
  ];
  console.log(
    '| engine | runs at the same time | steps in a second | CPU for a run | transactions for a run |',
  );
  console.log('|---|--:|--:|--:|--:|');
  for (const load of loads) {
    const figures = new Map<Engine, EngineFigures[]>(ENGINES.map((engine) => [engine, []]));
    for (let round = 0; round < rounds; round++)
      for (const engine of ENGINES)
        figures.get(engine)?.push(await measureOnce({ engine, database, ...load }));
    for (const [engine, all] of figures) {
      const of = (key: 'stepsPerSecond' | 'cpuMsPerRun'): number => median(all.map((one) => one[key]));
      const transactions = median(all.map((one) => one.transactionsPerRun ?? 0));
      console.log(
        `| ${engine} | ${load.atOnce} | ${of('stepsPerSecond').toFixed(0)} | ${of('cpuMsPerRun').toFixed(1)} ms | ${transactions === 0 ? '–' : transactions.toFixed(0)} |`,
      );
    }
  }
}
