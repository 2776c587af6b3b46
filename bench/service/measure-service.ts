import { randomBytes } from 'node:crypto';

import pg from 'pg';

import { measureEngines } from './engines.ts';
import { measureHttp } from './http-servers.ts';
import { measureLatency } from './latency.ts';
import { measureTakeOver } from './take-over.ts';

const SERVER = process.env['TROUPE_TEST_POSTGRES'] ?? 'postgres://postgres@127.0.0.1:5432/test';

async function admin(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: SERVER });
  await client.connect();
  await client.query(sql);
  await client.end();
}

/** Measures runs over HTTP beside other servers, and durable runs with each engine, in a database that is made and dropped here. */
export async function measureService(): Promise<void> {
  const name = `troupe_bench_${randomBytes(6).toString('hex')}`;
  await admin(`CREATE DATABASE ${name}`);
  try {
    const url = new URL(SERVER);
    url.pathname = `/${name}`;
    await measureLatency(url.href);
    await measureTakeOver(url.href);
    await measureHttp(url.href);
    await measureEngines(url.href);
  } finally {
    await admin(`DROP DATABASE ${name} WITH (FORCE)`);
  }
}
