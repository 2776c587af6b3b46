// Budgets of what a user of the library pays before the first answer: installed bytes and packages, import time, the bundle of a page
// with one agent, and the work of the compiler. Each is a limit that a change may not exceed unnoticed.

import { spawnSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

import { build } from 'esbuild';

import { ROOT } from './lib/files.ts';

const IMPORT_RATIO = 3.8;

const BUDGETS = {
  'installed packages, with zod': 6,
  'installed MB, with zod': 12,
  'import of the root entry, against an empty module': IMPORT_RATIO,
  'kB of the bundle of a page with one agent, compressed': 224,
  'type instantiations of the first program': 15_000,
} as const;

const HELLO = `
import { ReActAgent, tool } from 'troupe';
import { OpenAIChatModel } from 'troupe/openai';
import { z } from 'zod';

const getWeather = tool({
  name: 'get_weather',
  description: 'The weather in a city.',
  schema: z.object({ city: z.string() }),
  execute: ({ city }) => \`It is sunny in \${city}.\`,
});
export const agent = new ReActAgent({ name: 'Friday', model: new OpenAIChatModel({ modelName: 'm' }), tools: [getWeather] });
`;

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
}

/** The packages that installing these brings, with their bytes. Files that are not published do not count. */
function installed(names: readonly string[]): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  const visit = (name: string, from: string): void => {
    const inside = join(from, 'node_modules', name);
    const dir = realpathSync(existsSync(inside) ? inside : join(ROOT, 'node_modules', name));
    if (found.has(dir)) return;
    const { dependencies = {} } = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8')) as Manifest;
    found.set(dir, name === 'troupe' ? packedBytes(dir) : bytesIn(dir));
    for (const dependency of Object.keys(dependencies)) visit(dependency, dir);
  };
  for (const name of names) visit(name, ROOT);
  return found;
}

function bytesIn(path: string): number {
  const entry = lstatSync(path);
  if (!entry.isDirectory()) return entry.size;
  return readdirSync(path).reduce(
    (sum, name) => sum + (name === 'node_modules' ? 0 : bytesIn(join(path, name))),
    0,
  );
}

/** Bytes of the library as it is published: its build and its documents. */
function packedBytes(dir: string): number {
  const own = ['bin', 'dist'].map((name) => join(dir, name));
  const documents = ['docs', 'examples', 'CHANGELOG.md', 'llms.txt'].map((name) => join(ROOT, name));
  const sum = (paths: readonly string[]): number => paths.reduce((all, path) => all + bytesIn(path), 0);
  return sum(own) + sum(documents.filter((path) => existsSync(path))) - bytesIn(join(ROOT, 'docs/images'));
}

/** Least time of several fresh processes that import one of two modules in turn, as a ratio. Of more processes on a busy machine. */
function importRatio(): number {
  const time = (module: string): number => {
    const program = `const t = performance.now(); await import(${JSON.stringify(module)}); console.log(performance.now() - t)`;
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      cwd: ROOT,
      encoding: 'utf8',
    });
    return Number(stdout);
  };
  const start = (module: string): number => {
    const began = performance.now();
    time(module);
    return performance.now() - began;
  };
  let [own, empty] = [Infinity, Infinity];
  for (let i = 0; i < 7 || (i < 40 && own / empty > IMPORT_RATIO); i++) {
    own = Math.min(own, start('troupe'));
    empty = Math.min(empty, start('data:text/javascript,'));
  }
  return own / empty;
}

async function bundleKb(dir: string): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents: HELLO, resolveDir: ROOT, loader: 'ts' },
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    outfile: join(dir, 'hello.js'),
    logLevel: 'silent',
  });
  return gzipSync(outputFiles[0]?.contents ?? new Uint8Array()).length / 1000;
}

function typeInstantiations(dir: string): number {
  writeFileSync(join(dir, 'hello.ts'), HELLO);
  const options =
    '--noEmit --strict --skipLibCheck --module nodenext --target es2024 --types node --extendedDiagnostics';
  const tsc = join(ROOT, 'node_modules/typescript-5.9/bin/tsc');
  const { stdout } = spawnSync(process.execPath, [tsc, ...options.split(' '), join(dir, 'hello.ts')], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return Number(/Instantiations:\s+(\d+)/.exec(stdout)?.[1] ?? Infinity);
}

const dir = mkdtempSync(join(ROOT, 'node_modules/.budgets-'));
try {
  const packages = installed(['troupe', 'zod']);
  const bytes = [...packages.values()].reduce((sum, one) => sum + one, 0);
  const measured: Record<keyof typeof BUDGETS, number> = {
    'installed packages, with zod': packages.size,
    'installed MB, with zod': bytes / 1e6,
    'import of the root entry, against an empty module': importRatio(),
    'kB of the bundle of a page with one agent, compressed': await bundleKb(dir),
    'type instantiations of the first program': typeInstantiations(dir),
  };
  for (const [name, limit] of Object.entries(BUDGETS)) {
    const value = measured[name as keyof typeof BUDGETS];
    console.log(`${name}: ${Number(value.toFixed(2))} of ${limit}`);
    if (!(value <= limit)) process.exitCode = 1;
  }
} finally {
  rmSync(dir, { recursive: true, force: true });
}
