// Checks the package as it would be published: packs it, then looks at its size, at its documents, at its entries
// (publint, attw), compiles a program against the package with every supported TypeScript, with all optional packages and with
// none, and runs the examples of the package.

import { spawn, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join, posix } from 'node:path';
import { pathToFileURL } from 'node:url';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { readMarkdown } from './lib/markdown.ts';
import { report, ROOT } from './lib/files.ts';

const PACKAGE = join(ROOT, 'packages/troupe');
const WORK = join(ROOT, '.cache/package');
const MAX_UNPACKED_BYTES = 5_000_000;

/** Compilers by the folder of their package. The newest one is the repository's own. */
const COMPILERS = ['typescript-5.9', 'typescript-6', 'typescript'];
const RESOLUTIONS = { nodenext: 'nodenext', bundler: 'esnext' };

/** The condition by which this repository finds its sources. Nobody else sets it, so its files need not be published. */
const SOURCE = 'troupe:source';

/** Reports of attw about every package of ES modules only. */
const ESM_ONLY = ['CJSResolvesToESM', 'NoResolution'];

interface Packed {
  readonly filename: string;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string }[];
}

function run(command: string, args: readonly string[], cwd: string): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  if (status !== 0) throw new Error([error?.message, stdout, stderr].filter(Boolean).join('\n'));
  return stdout;
}

/**
 * Packs a copy of the package with its documents, and unpacks it into the folder of a program that has it installed. Nothing is written
 * beside the sources, so other checks can run at the same time.
 */
function packAndInstall(): Packed {
  rmSync(WORK, { recursive: true, force: true });
  const modules = join(WORK, 'node_modules');
  const stage = join(WORK, 'stage');
  for (const dir of [join(modules, 'troupe'), stage]) mkdirSync(dir, { recursive: true });
  for (const name of ['package.json', 'README.md', 'LICENSE', 'bin', 'dist'])
    cpSync(join(PACKAGE, name), join(stage, name), { recursive: true });
  run(process.execPath, [join(ROOT, 'tools/stage-package.mjs'), stage], ROOT);
  const npm = ['pack', '--json', '--ignore-scripts', '--pack-destination', WORK];
  const [packed] = Object.values(JSON.parse(run('npm', npm, stage)) as Record<string, Packed>);
  if (packed === undefined) throw new Error('npm pack made nothing.');
  const tarball = join(WORK, packed.filename);
  run('tar', ['-xzf', tarball, '-C', join(modules, 'troupe'), '--strip-components=1'], WORK);
  for (const name of readdirSync(join(ROOT, 'node_modules'))) {
    if (name !== 'troupe' && !name.startsWith('.'))
      symlinkSync(join(ROOT, 'node_modules', name), join(modules, name));
  }
  return packed;
}

/** Links of the packed documents that lead nowhere inside the package. */
export function brokenLinks(files: ReadonlyMap<string, string>): string[] {
  const isThere = (path: string): boolean =>
    files.has(path) || [...files.keys()].some((file) => file.startsWith(`${path.replace(/\/$/, '')}/`));
  return [...files].flatMap(([file, text]) =>
    !/\.(?:md|txt)$/.test(file)
      ? []
      : readMarkdown(text)
          .links.filter(({ target }) => !/^(?:[a-z]+:|#)/i.test(target))
          .filter(({ target }) => !isThere(posix.join(posix.dirname(file), target.replace(/#.*$/, ''))))
          .map(({ line, target }) => `${file}:${line}: ${target} is not in the package`),
  );
}

async function entryProblems(tarball: string): Promise<string[]> {
  const data = readFileSync(tarball);
  const manifest = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8')) as Record<string, unknown>;
  const { messages } = await publint({
    pkgDir: join(WORK, 'node_modules/troupe'),
    strict: true,
    pack: false, // the folder holds the packed files only
  });
  const lint = messages
    .filter(({ path }) => !path.includes(SOURCE))
    .map((message) => `publint: ${formatMessage(message, manifest, { color: false }) ?? message.code}`);
  const checked = await checkPackage(createPackageFromTarballData(new Uint8Array(data)));
  const types =
    checked.types === false
      ? ['attw: the package has no types']
      : checked.problems
          .filter(({ kind }) => !ESM_ONLY.includes(kind))
          .map((problem) => `attw: ${JSON.stringify(problem)}`);
  return [...lint, ...types];
}

/** A program that imports every entry. */
function importsOf(entries: readonly string[]): string {
  const imports = entries.map((entry, i) => `import * as entry${i} from '${entry}';`);
  return `${imports.join('\n')}
export const entries = [${entries.map((_, i) => `entry${i}`).join(', ')}];
`;
}

/** A program that uses the main names, and imports every entry. */
function programFor(entries: readonly string[]): string {
  return `${importsOf(entries)}
import { ReActAgent, tool, type Msg } from 'troupe';
import { OfflineModel } from 'troupe/offline';
import { z } from 'zod';

const City = z.object({ city: z.string() });
const weather = tool({ name: 'weather', schema: City, execute: ({ city }) => city.toUpperCase() });
const agent = new ReActAgent({ name: 'a', model: new OfflineModel(), tools: [weather], console: false });
const answer = await agent.call('Hello', { structuredModel: City });
export const city: string | undefined = answer.structured?.city;
for await (const event of agent.stream('Hello')) if (event.type === 'run_end') console.log(event.status);
export const last: Msg = answer;
`;
}

function writeProgram(dir: string, program: string, resolutions: Readonly<Record<string, string>>): void {
  writeFileSync(join(dir, 'package.json'), '{ "type": "module" }\n');
  writeFileSync(join(dir, 'program.ts'), program);
  for (const [moduleResolution, module] of Object.entries(resolutions)) {
    const compilerOptions = {
      strict: true,
      noEmit: true,
      target: 'es2022',
      lib: ['es2024', 'esnext.disposable', 'dom'],
      types: ['node'],
      module,
      moduleResolution,
      skipLibCheck: moduleResolution !== 'nodenext',
    };
    const config = { compilerOptions, files: ['program.ts'] };
    writeFileSync(join(dir, `tsconfig.${moduleResolution}.json`), JSON.stringify(config));
  }
}

/** Compiles the program with every compiler and resolution. Declaration files are checked once by each compiler. */
async function compileProblems(entries: readonly string[]): Promise<string[]> {
  writeProgram(WORK, programFor(entries), RESOLUTIONS);
  const runs = COMPILERS.flatMap((compiler) =>
    Object.keys(RESOLUTIONS).map((way) => [compiler, way] as const),
  );
  const problems = await Promise.all(runs.map(([compiler, way]) => compile(WORK, compiler, way)));
  return problems.flat();
}

/** Packages that every program with types for Node has, beside the dependencies of the package. */
const ALWAYS = ['@types/node'];

/**
 * Installs the package where no optional package can be found: outside of the repository, with its dependencies and the given packages.
 * @returns the folder of the program
 */
function installAlone(tarball: string, dependencies: object, packages: readonly string[]): string {
  const dir = mkdtempSync(join(tmpdir(), 'troupe-package-'));
  const modules = join(dir, 'node_modules');
  mkdirSync(join(modules, 'troupe'), { recursive: true });
  run('tar', ['-xzf', tarball, '-C', join(modules, 'troupe'), '--strip-components=1'], dir);
  const waiting = [...Object.keys(dependencies), ...packages];
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
    const [source, target] = [join(ROOT, 'node_modules', name), join(modules, name)];
    if (existsSync(target)) continue;
    mkdirSync(dirname(target), { recursive: true });
    if (name.startsWith('@troupe/')) waiting.push(...copyPackage(source, target));
    else symlinkSync(source, target);
  }
  return dir;
}

/** Copies what is published of a package, so that it shares the `troupe` of its project. Returns the names of its dependencies. */
function copyPackage(source: string, target: string): string[] {
  for (const file of ['package.json', 'dist'])
    cpSync(join(source, file), join(target, file), { recursive: true });
  const { dependencies = {} } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8')) as {
    dependencies?: object;
  };
  return Object.keys(dependencies);
}

/** Compiles a program that imports every entry, with `skipLibCheck: false`, where no optional package is installed. */
async function bareProblems(dir: string, entries: readonly string[]): Promise<string[]> {
  writeProgram(dir, importsOf(entries), { nodenext: 'nodenext' });
  const problems = await Promise.all(COMPILERS.map((compiler) => compile(dir, compiler, 'nodenext')));
  return problems.flat().map((problem) => `without optional packages: ${problem}`);
}

/** An example: folder, and packages needed besides zod. */
export interface Example {
  readonly name: string;
  readonly packages: readonly string[];
}

/** The examples in the table of their README. */
export function examplesIn(readme: string): Example[] {
  const row = /^\| \[([\w-]+)\]\(\1\/main\.ts\) \|[^|]*\|([^|]*)\|$/gm;
  return Array.from(readme.matchAll(row), ([, name = '', needs = '']) => ({
    name,
    packages: Array.from(needs.matchAll(/`([^`]+)`/g), ([, found = '']) => found),
  }));
}

/** Maximum time of one example. */
const EXAMPLE_LIMIT_MS = 60_000;

/** Runs the examples of the package as their README says: copied into a project that has the packages they need. */
async function exampleProblems(tarball: string, dependencies: object, readme: string): Promise<string[]> {
  const examples = examplesIn(readme);
  if (examples.length === 0) return ['examples/README.md has no table of examples'];
  const packages = new Set(['zod', ...examples.flatMap((example) => example.packages)]);
  const dir = installAlone(tarball, dependencies, [...packages]);
  const files = join(dir, 'node_modules/troupe/examples');
  cpSync(files, join(dir, 'examples'), { recursive: true });
  const listed = examples.map(({ name }) => name);
  const problems = readdirSync(files, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !listed.includes(entry.name))
    .map(({ name }) => `examples/README.md does not list ${name}`);
  const waiting = [...listed];
  const worker = async (): Promise<void> => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift())
      problems.push(...(await exampleProblem(dir, name)));
  };
  await Promise.all(Array.from({ length: availableParallelism() }, worker));
  rmSync(dir, { recursive: true });
  return problems;
}

async function exampleProblem(dir: string, name: string): Promise<string[]> {
  const own = { PORT: '0', TROUPE_STUDIO_DIR: join(dir, '.troupe') }; // for the Studio
  const env = { PATH: process.env['PATH'], OLLAMA_HOST: '127.0.0.1:1', ...own };
  const args = ['--disable-warning=ExperimentalWarning', `examples/${name}/main.ts`];
  const child = spawn(process.execPath, args, { cwd: dir, env, timeout: EXAMPLE_LIMIT_MS });
  child.stdin.end('/exit\n'); // for the chat
  let output = '';
  let asked = false;
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (!output.includes('Ctrl-C ends') || asked) return;
      asked = child.kill('SIGINT'); // the Studio and the service serve until then
    });
  const code = await new Promise((resolve, reject) => child.on('error', reject).on('close', resolve));
  return code === 0
    ? []
    : [`the example ${name}, from the package, ended with code ${String(code)}:\n${output.slice(-2000)}`];
}

/** Errors in the program and in the package, but not in the declarations of other packages. */
async function compile(dir: string, compiler: string, resolution: string): Promise<string[]> {
  const tsc = join(ROOT, 'node_modules', compiler, 'bin/tsc');
  const child = spawn(process.execPath, [tsc, '-p', `tsconfig.${resolution}.json`], { cwd: dir });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  const code = await new Promise((resolve, reject) => child.on('error', reject).on('close', resolve));
  if (code === 0) return [];
  const lines = output.split('\n');
  const own = lines.filter((line) => /^(?:program\.ts|node_modules\/troupe\/|error )/.test(line));
  return own.map((line) => `${compiler}, ${resolution}: ${line}`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  if (!existsSync(join(PACKAGE, 'dist/index.js'))) throw new Error('There is no dist: npm run build');
  const packed = packAndInstall();
  const { unpackedSize, files } = packed;
  const installed = join(WORK, 'node_modules/troupe');
  const texts = new Map(
    files.map(({ path }) => [
      path,
      /\.(?:md|txt)$/.test(path) ? readFileSync(join(installed, path), 'utf8') : '',
    ]),
  );
  const manifest = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8')) as {
    exports: Record<string, unknown>;
    dependencies: object;
  };
  const entries = Object.entries(manifest.exports)
    .filter(([, target]) => typeof target === 'object')
    .map(([subpath]) => posix.join('troupe', subpath));
  const bare = installAlone(join(WORK, packed.filename), manifest.dependencies, ALWAYS);
  const problems = [
    ...(unpackedSize > MAX_UNPACKED_BYTES
      ? [`The package unpacks to ${unpackedSize} bytes. At most ${MAX_UNPACKED_BYTES} are allowed.`]
      : []),
    ...['README.md', 'CHANGELOG.md', 'docs/README.md'].flatMap((file) =>
      texts.has(file) ? [] : [`${file} is not in the package`],
    ),
    ...brokenLinks(texts),
    ...(await entryProblems(join(WORK, packed.filename))),
    ...(await compileProblems(entries)),
    ...(await bareProblems(bare, entries)),
    ...(await exampleProblems(
      join(WORK, packed.filename),
      manifest.dependencies,
      texts.get('examples/README.md') ?? '',
    )),
  ];
  rmSync(bare, { recursive: true });
  report(
    problems,
    `${(unpackedSize / 1e6).toFixed(1)} MB in ${files.length} files, ${entries.length} entries`,
  );
}
