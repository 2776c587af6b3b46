import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { appendFile, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const VERSIONS = '/usr/lib/postgresql';
/** Programs refuse to run as root: then they run as the user of the system's own PostgreSQL. */
const USER = process.getuid?.() === 0 ? 'postgres' : undefined;

function findPrograms(): string | undefined {
  if (!existsSync(VERSIONS)) return undefined;
  const newest = readdirSync(VERSIONS).toSorted((a, b) => Number(b) - Number(a))[0];
  const bin = join(VERSIONS, newest ?? '', 'bin');
  return existsSync(join(bin, 'initdb')) ? bin : undefined;
}

const bin = findPrograms();

/** Whether this machine has the programs of PostgreSQL, for a cluster of the test's own. */
export const canStartPostgres = bin !== undefined;

async function pg(program: string, ...args: string[]): Promise<void> {
  const path = join(bin ?? '', program);
  if (USER === undefined) await run(path, args, { cwd: '/' });
  else
    await run('setpriv', [`--reuid=${USER}`, `--regid=${USER}`, '--init-groups', path, ...args], {
      cwd: '/',
    });
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** A PostgreSQL of one test, on a port of its own, which can be restarted as after a crash. Disposed of with its data. */
export class PostgresCluster implements AsyncDisposable {
  readonly url: string;
  readonly #dir: string;
  readonly #data: string;

  private constructor(dir: string, port: number) {
    this.#dir = dir;
    this.#data = join(dir, 'data');
    this.url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  }

  static async start(): Promise<PostgresCluster> {
    const dir = await mkdtemp(join(tmpdir(), 'troupe-cluster-'));
    if (USER !== undefined) await run('chown', [USER, dir]);
    const port = await freePort();
    const cluster = new PostgresCluster(dir, port);
    await pg(
      'initdb',
      '-D',
      cluster.#data,
      '-U',
      'postgres',
      '-A',
      'trust',
      '-E',
      'UTF8',
      '--no-locale',
      '--no-sync',
    );
    const settings = [
      `port = ${port}`,
      "listen_addresses = '127.0.0.1'",
      "unix_socket_directories = ''",
      'max_connections = 300',
    ];
    await appendFile(join(cluster.#data, 'postgresql.conf'), `${settings.join('\n')}\n`);
    await pg('pg_ctl', '-D', cluster.#data, '-l', join(dir, 'log'), '-w', '-t', '120', 'start');
    return cluster;
  }

  /** Ends the server without any goodbye, and starts it again: it recovers from its log. */
  async crash(): Promise<void> {
    await pg(
      'pg_ctl',
      '-D',
      this.#data,
      '-l',
      join(this.#dir, 'log'),
      '-m',
      'immediate',
      '-w',
      '-t',
      '120',
      'restart',
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await pg('pg_ctl', '-D', this.#data, '-m', 'immediate', '-w', 'stop').catch(() => {});
    await rm(this.#dir, { recursive: true, force: true });
  }
}
