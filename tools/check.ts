// Runs all checks besides the tests, and prints one line per part. `npm run check -- lint types` runs those parts only.

import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { ROOT } from './lib/files.ts';

/** Flags of Node for a script that runs the library from its sources. */
const SOURCES = [
  '--conditions=troupe:source',
  '--experimental-transform-types',
  '--disable-warning=ExperimentalWarning',
] as const;

/** Parts, longest first: arguments of Node, with a script and its own. */
const PARTS: Readonly<Record<string, readonly [first: string, ...args: string[]]>> = {
  package: ['tools/check-package.ts'],
  docs: ['tools/check-docs.ts'],
  lint: ['node_modules/oxlint/bin/oxlint', '--type-aware', '--deny-warnings'],
  types: ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.json', '--noEmit'],
  page: ['node_modules/typescript/bin/tsc', '-p', 'packages/studio/page/tsconfig.json', '--noEmit'],
  budgets: ['tools/check-budgets.ts'],
  surface: ['tools/check-surface.ts'],
  imports: ['tools/check-imports.ts'],
  names: ['tools/check-names.ts'],
  words: ['tools/check-words.ts'],
  quirks: [...SOURCES, 'tools/quirk-table.ts'],
  tools: [...SOURCES, 'tools/provider-tool-table.ts'],
  format: ['node_modules/oxfmt/bin/oxfmt', '--check'],
};

interface Outcome {
  readonly hasPassed: boolean;
  readonly output: string;
}

async function run(script: string, args: readonly string[]): Promise<Outcome> {
  const child = spawn(process.execPath, [...process.execArgv, script, ...args], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
  }
  return new Promise((resolve, reject) => {
    child
      .on('error', reject)
      .on('close', (code) => resolve({ hasPassed: code === 0, output: output.trim() }));
  });
}

const flags = process.argv.slice(2).filter((arg) => arg.startsWith('-'));
const chosen = process.argv.slice(2).filter((arg) => !arg.startsWith('-'));
const unknown = chosen.filter((name) => !(name in PARTS));
if (unknown.length > 0 || (flags.length > 0 && chosen.length === 0)) {
  console.error(`Usage: npm run check [-- <${Object.keys(PARTS).join(' | ')}>… [flags of that part]]`);
  process.exit(2);
}

const waiting = Object.entries(PARTS).filter(([name]) => chosen.length === 0 || chosen.includes(name));
const began = performance.now();
const seconds = (since: number): string => `${((performance.now() - since) / 1000).toFixed(1)} s`;
const failed: string[] = [];

async function worker(): Promise<void> {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const [name, [script, ...args]] = next;
    const start = performance.now();
    const { hasPassed, output } = await run(script, [...args, ...flags]);
    console.log(`${hasPassed ? 'ok    ' : 'FAILED'} ${name.padEnd(8)} ${seconds(start).padStart(7)}`);
    if (hasPassed) continue;
    failed.push(name);
    console.log(`\n${output}\n`);
  }
}

await Promise.all(Array.from({ length: Math.max(2, availableParallelism()) }, worker));
console.log(
  failed.length === 0 ? `All checks passed in ${seconds(began)}.` : `Failed: ${failed.join(', ')}.`,
);
process.exitCode = failed.length === 0 ? 0 : 1;
