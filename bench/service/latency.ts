import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

import { ServiceClient } from 'troupe/client';

const PROCESS = join(import.meta.dirname, 'latency-process.ts');

async function start(database: string, maxRuns: number): Promise<{ child: ChildProcess; url: string }> {
  const child = fork(PROCESS, [database, String(maxRuns)], { execArgv: process.execArgv });
  const [{ url }] = (await once(child, 'message')) as [{ url: string }];
  return { child, url };
}

function row(what: string, times: readonly number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (part: number): string => `${sorted[Math.floor((sorted.length - 1) * part)] ?? NaN} ms`;
  return `| ${what} | ${times.length} | ${at(0.5)} | ${at(0.99)} | ${at(1)} |`;
}

/**
 * Measures how long a token of a model takes from a worker to the client of a gateway, and an interrupt from the client to the tool in
 * the worker, over PostgreSQL. Prints a table in Markdown.
 */
export async function measureLatency(database: string): Promise<void> {
  const gateway = await start(database, 0);
  const worker = await start(database, 100);
  try {
    const client = new ServiceClient({ url: gateway.url });
    const tokens: number[] = [];
    for (let n = 0; n < 5; n++) {
      const session = await client.createSession('clock');
      const run = await client.start(session.id, 'Go.');
      for await (const { event } of client.events(run.id))
        if (event.type === 'text_delta') tokens.push(Date.now() - Number(event.text));
    }
    const interrupts: number[] = [];
    for (let n = 0; n < 30; n++) {
      const session = await client.createSession('waiter');
      const waits = once(worker.child, 'message');
      const run = await client.start(session.id, 'Wait.');
      await waits;
      const stopped = once(worker.child, 'message') as Promise<[{ stopped: number }]>;
      const asked = Date.now();
      await client.interrupt(run.id);
      interrupts.push((await stopped)[0].stopped - asked);
    }
    console.log('| between a gateway and a worker | times | median | 99 of 100 | longest |');
    console.log('|---|--:|--:|--:|--:|');
    console.log(row('token of a model, to the client of the gateway', tokens));
    console.log(row('interrupt, to the tool in the worker', interrupts));
  } finally {
    for (const { child } of [gateway, worker]) {
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    }
  }
}
