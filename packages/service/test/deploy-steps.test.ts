// Needs its own process: it starts and ends others.
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { ServiceClient } from 'troupe/client';
import { afterEach, expect, test } from 'vitest';
import { parse } from 'yaml';

import { RUNS_IN_FULL } from '../../troupe/test/fair-sample.ts';
import { canStartPostgres, PostgresCluster } from './postgres-cluster.ts';

const run = promisify(execFile);
const started: ChildProcess[] = [];
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
});

const ROOT = join(import.meta.dirname, '../../..');
/** Whether the packages are built, as `npm test` does. */
const isBuilt = existsSync(join(ROOT, 'packages/service/dist/index.js'));

const read = (name: string): string => readFileSync(join(ROOT, 'examples/service/deploy', name), 'utf8');
const AGENTS = `import { ReActAgent } from 'troupe';
import { OfflineModel } from 'troupe/offline';
export const assistant = () => new ReActAgent({ name: 'assistant', model: new OfflineModel() });
`;

interface Compose {
  readonly services: Readonly<
    Record<string, { readonly command: readonly string[]; readonly deploy: { readonly replicas: number } }>
  >;
}

/** A folder as the Dockerfile wants it: the packed packages, their lock file and the agents. */
async function prepareFolder(dir: string): Promise<void> {
  for (const name of ['troupe', 'service'])
    await run('npm', ['pack', '--ignore-scripts', '--pack-destination', dir], {
      cwd: join(ROOT, 'packages', name),
    });
  const tarballs = readdirSync(dir).map((name) => `file:${name}`);
  const root = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    devDependencies: Record<string, string>;
  };
  const dependencies = {
    troupe: tarballs.find((name) => name.startsWith('file:troupe-0')),
    '@troupe/service': tarballs.find((name) => name.startsWith('file:troupe-service')),
    pg: root.devDependencies['pg'],
  };
  writeFileSync(join(dir, 'package.json'), JSON.stringify({ private: true, type: 'module', dependencies }));
  writeFileSync(join(dir, 'agents.mjs'), AGENTS);
  await run('npm', ['install', '--package-lock-only', '--no-audit', '--no-fund'], { cwd: dir });
}

test.runIf(RUNS_IN_FULL && canStartPostgres && isBuilt)(
  'the steps of the image make a folder that serves, and the processes of the compose file answer together (in test:long, as it installs packages)',
  async () => {
    await using cluster = await PostgresCluster.start();
    const dir = mkdtempSync(join(tmpdir(), 'troupe-image-'));
    try {
      await prepareFolder(dir);
      const dockerfile = read('Dockerfile');
      const [, install = ''] = /^RUN (.*)$/m.exec(dockerfile) ?? [];
      expect(install).toContain('npm ci');
      await run('sh', ['-c', install], { cwd: dir });
      const [program = '', ...entry] = JSON.parse(
        /^ENTRYPOINT (.*)$/m.exec(dockerfile)?.[1] ?? '[]',
      ) as string[];
      const { services } = parse(read('compose.yaml'), { merge: true }) as Compose;
      const env = {
        PATH: process.env['PATH'],
        TROUPE_APPROVAL_KEY: 'a key of sixteen bytes or more',
      };
      const start = async (command: readonly string[]): Promise<string> => {
        const args = command.map((arg) => (arg.startsWith('postgres:') ? cluster.url : arg));
        const here = ['--host', '127.0.0.1', '--port', '0'];
        const child = spawn(program, [...entry, ...args, ...here], {
          cwd: dir,
          env,
          stdio: ['ignore', 'pipe', 'inherit'],
        });
        started.push(child);
        const [text] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
        return /http:\S+\d/.exec(text)?.[0] ?? '';
      };
      const urls: Record<string, string[]> = { gateway: [], worker: [] };
      for (const [name, list] of Object.entries(urls))
        for (let n = 0; n < (services[name]?.deploy.replicas ?? 0); n++)
          list.push(await start(services[name]?.command ?? []));
      expect([urls['gateway']?.length, urls['worker']?.length]).toEqual([2, 3]);
      const made = await run(
        program,
        [entry[0] ?? '', 'serve', 'token', 'make', 'anna', '--store', cluster.url],
        { cwd: dir, env },
      );
      const token = /troupe_\S+/.exec(made.stdout)?.[0] ?? '';

      const clients = (urls['gateway'] ?? []).map((url) => new ServiceClient({ url, token }));
      const [one, two] = clients;
      await one?.createSession('assistant', { id: 's' });
      for (let n = 0; n < 6; n++) {
        const { id } = (await clients[n % 2]?.start('s', 'Hello.')) ?? { id: '' };
        const types: string[] = [];
        for await (const { event } of clients[(n + 1) % 2]?.events(id) ?? []) types.push(event.type);
        expect(types.at(-1)).toBe('run_end');
        expect(await two?.run(id)).toMatchObject({ status: 'finished' });
        if (n === 2) started.at(-1)?.kill('SIGKILL'); // a worker
      }
      expect((await fetch(`${urls['gateway']?.[0]}/readyz`)).status).toBe(200);
      expect((await fetch(`${urls['gateway']?.[0]}/api/agents`)).status).toBe(401);
      const ended = await Promise.all(
        started.slice(0, -1).map(async (child) => {
          const exit = once(child, 'exit');
          child.kill('SIGTERM');
          return exit;
        }),
      );
      expect(ended).toEqual(started.slice(0, -1).map(() => [0, null]));
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  },
  300_000,
);
