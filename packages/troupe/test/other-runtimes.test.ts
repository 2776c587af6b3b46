/** The hello agent with a session on Bun and Deno. Uses the built package, which `npm test` makes, and fetches nothing. */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';

import { expect, onTestFinished, test } from 'vitest';

const run = promisify(execFile);
const PACKAGE = join(import.meta.dirname, '..');
const ROOT = join(PACKAGE, '../..');
/** Set in CI, where a missing runtime is a failure. */
const REQUIRED = 'TROUPE_REQUIRE_RUNTIMES';
const TIMEOUT_MS = 120_000;

interface Runtime {
  readonly name: string;
  /** Arguments that run a program without fetching anything. */
  readonly args: readonly string[];
  readonly binary: string | undefined;
}

const RUNTIMES: readonly Runtime[] = [
  { name: 'bun', args: ['run', '--no-install'], binary: findBinary('@oven', 'bin/bun') },
  { name: 'deno', args: ['run', '--allow-all', '--no-remote'], binary: findBinary('@deno', 'deno') },
];

/** Finds a binary that `.ci/fetch-runtimes` has fetched, or one of the machine. */
function findBinary(scope: string, path: string): string | undefined {
  const fetched = join(ROOT, '.cache/runtimes/node_modules', scope);
  const packages = existsSync(fetched) ? readdirSync(fetched).map((name) => join(fetched, name, path)) : [];
  const name = path.slice(path.lastIndexOf('/') + 1);
  const onPath = (process.env['PATH'] ?? '').split(delimiter).map((dir) => join(dir, name));
  return [...packages, ...onPath].find((file) => existsSync(file));
}

for (const { name, binary } of RUNTIMES) {
  if (binary !== undefined) continue;
  if (process.env[REQUIRED] === '1') throw new Error(`There is no ${name}, and ${REQUIRED}=1 needs it.`);
  console.warn(`SKIPPED: there is no ${name}: its test did not run. .ci/fetch-runtimes fetches it.`);
}

const PROGRAM = `import { ReActAgent, SessionManager, tool, Toolkit } from 'troupe';
import { OfflineModel } from 'troupe/offline';
import { JsonSession } from 'troupe/stores/json';
import { z } from 'zod';

const getWeather = tool({
  name: 'get_weather',
  description: 'The weather in a city.',
  schema: z.object({ city: z.string() }),
  execute: ({ city }: { city: string }) => \`It is sunny in \${city}.\`,
});
const agent = new ReActAgent({
  name: 'assistant',
  sysPrompt: 'You are a friendly weather reporter.',
  model: new OfflineModel(),
  toolkit: new Toolkit({ tools: [getWeather] }),
});
const session = SessionManager.forSessionId('auth0|ann').withSession(new JsonSession('sessions')).addComponent(agent);
const isLoaded = await session.loadIfExists();
const answer = await agent.call('What is the weather in Lisbon?');
await session.saveSession();
const history = await agent.memory.getMemory();
const results = history.flatMap((msg) => msg.getContentBlocks('tool_result')).map(({ output }) => output);
console.log(JSON.stringify({ isLoaded, text: answer.text.split('\\n')[0], messages: history.length, results }));
`;

/** A folder with the program and the imported packages. */
async function newProject(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'troupe-runtime-'));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  const modules = join(dir, 'node_modules');
  for (const name of [
    'zod',
    '@cfworker/json-schema',
    '@standard-schema/spec',
    'eventsource-parser',
    'jsonrepair',
  ]) {
    await mkdir(dirname(join(modules, name)), { recursive: true });
    await symlink(join(ROOT, 'node_modules', name), join(modules, name));
  }
  await symlink(PACKAGE, join(modules, 'troupe'));
  await writeFile(join(dir, 'package.json'), '{ "type": "module", "private": true }');
  await writeFile(join(dir, 'hello.ts'), PROGRAM);
  return dir;
}

for (const { name, args, binary = '' } of RUNTIMES) {
  test.skipIf(binary === '')(
    `the hello agent answers on ${name}, and goes on from its session`,
    async () => {
      const cwd = await newProject();
      const env = {
        PATH: process.env['PATH'] ?? '',
        HOME: cwd,
        DENO_DIR: join(cwd, '.deno'),
        DENO_NO_UPDATE_CHECK: '1',
        DO_NOT_TRACK: '1',
        NO_COLOR: '1',
      };
      const output = async (): Promise<string[]> =>
        (await run(binary, [...args, 'hello.ts'], { cwd, env })).stdout.trimEnd().split('\n');
      const first = await output();
      const text = 'get_weather says: It is sunny in Lisbon.';
      const result = 'It is sunny in Lisbon.';
      expect(first).toContain(`assistant: ${text}`);
      expect(JSON.parse(first.at(-1) ?? '')).toEqual({
        isLoaded: false,
        text,
        messages: 4,
        results: [result],
      });
      expect(JSON.parse((await output()).at(-1) ?? '')).toEqual({
        isLoaded: true,
        text,
        messages: 8,
        results: [result, result],
      });
      expect(await readdir(join(cwd, 'sessions', 'sessions'))).toEqual(['auth0=7cann']);
    },
    TIMEOUT_MS,
  );
}
