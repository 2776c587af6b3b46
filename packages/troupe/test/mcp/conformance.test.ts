// Runs the official conformance suite of MCP against our server and our client, as processes of their own, and holds the table of
// docs/reference/mcp.md to what happens.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { beforeAll, expect, test } from 'vitest';

import { sampleOf } from '../fair-sample.ts';

type Side = 'server' | 'client';

interface Row {
  readonly side: Side;
  readonly scenario: string;
  readonly result: string;
}

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));
const SUITE = 'node_modules/@modelcontextprotocol/conformance/dist/index.js';
const SOURCE = [
  '--conditions=troupe:source',
  '--experimental-transform-types',
  '--disable-warning=ExperimentalWarning',
];
const HERE = 'packages/troupe/test/mcp';
const ROW = /^\| (server|client) \| `([\w/.-]+)` \| (passes|fails)\b.*\|$/gm;

function documented(): readonly Row[] {
  const page = readFileSync(`${ROOT}/docs/reference/mcp.md`, 'utf8');
  return Array.from(page.matchAll(ROW), ([, side, scenario = '', result = '']) => ({
    side: side === 'server' ? 'server' : 'client',
    scenario,
    result,
  }));
}

async function suite(args: readonly string[]): Promise<{ isOk: boolean; output: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [SUITE, ...args], { cwd: ROOT, maxBuffer: 2 ** 26 }, (error, stdout, stderr) =>
      resolve({ isOk: error === null, output: stdout + stderr }),
    );
  });
}

let url = '';

beforeAll(async () => {
  const server = spawn(process.execPath, [...SOURCE, `${HERE}/conformance-server.ts`], { cwd: ROOT });
  server.stderr.resume();
  const [line] = (await once(server.stdout.setEncoding('utf8'), 'data')) as [string];
  url = line.trim();
  return async () => {
    server.kill();
    await once(server, 'exit');
  };
});

async function run({ side, scenario }: Row): Promise<Row> {
  const client = [process.execPath, ...SOURCE, `${HERE}/conformance-client.ts`].join(' ');
  const target = side === 'server' ? ['--url', url] : ['--command', client];
  const { isOk, output } = await suite([side, '--scenario', scenario, ...target]);
  expect(output).toContain('Passed: '); // the scenario ran
  return { side, scenario, result: isOk ? 'passes' : 'fails' };
}

test('the table of the docs has every scenario of the suite', async () => {
  const { output } = await suite(['list']);
  const names = (side: Side): string[] => {
    const part = output.slice(output.indexOf(side === 'server' ? 'Server scenarios' : 'Client scenarios'));
    return Array.from(part.split('\n\n')[0]?.matchAll(/^ {2}- (\S+)/gm) ?? [], ([, name = '']) => name);
  };
  const all = (['server', 'client'] as const).flatMap((side) =>
    names(side).map((scenario) => ({ side, scenario })),
  );
  expect(all.length).toBeGreaterThan(50);
  expect(documented().map(({ side, scenario }) => ({ side, scenario }))).toEqual(all);
});

test('scenarios of the suite end as the table of the docs says', { timeout: 600_000 }, async () => {
  const rows = documented();
  const count = sampleOf('scenarios of the MCP conformance suite', rows.length, 4);
  const every = Math.floor(rows.length / count);
  const chosen = rows.filter((_, i) => i % every === 0).slice(0, count);
  const found: Row[] = [];
  for (const row of chosen) found.push(await run(row));
  expect(found).toEqual(chosen);
  expect(found.length).toBe(count);
});
