// Our reader of shell commands against what bash really runs, and against a parser that others wrote: whatever is run was found,
// or the text was not judged and somebody is asked.
import { createRequire } from 'node:module';

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Language, Parser } from 'web-tree-sitter';

import { findCommands, type CommandSearch } from '../../src/permission/shell/find-commands.ts';
import { readShell } from '../../src/permission/shell/read-shell.ts';
import { scripts, soup, withMistakes } from './shell-lines.ts';
import { deedsOf, standsFor, writesTo } from './shell-oracle.ts';
import { sampleOf } from '../fair-sample.ts';

interface Outcome {
  readonly read: number;
  readonly ran: number;
  readonly made: number;
  /** Commands that ran and files that were written, but not found by the reader. */
  readonly missed: readonly string[];
}

async function compare(lines: readonly string[], hasPrograms = false): Promise<Outcome> {
  const read = lines
    .map((text) => ({ text, ...findCommands(text) }))
    .filter(({ problem }) => problem === undefined);
  const deeds = await deedsOf(
    read.map(({ text }) => text),
    hasPrograms,
  );
  const missed = read.flatMap(({ text, commands }, i) => missedIn(text, commands, deeds[i]));
  const [ran = 0, made = 0] = ['ran' as const, 'made' as const].map((kind) =>
    deeds.reduce((sum, one) => sum + one[kind].length, 0),
  );
  return { read: read.length, ran, made, missed };
}

function missedIn(
  text: string,
  commands: CommandSearch['commands'],
  { ran, made }: Awaited<ReturnType<typeof deedsOf>>[number] = { ran: [], made: [] },
): readonly string[] {
  const run = ran.filter((words) => !commands.some((command) => standsFor(command, words)));
  const files = made.filter((file) => !commands.some((command) => writesTo(command, file)));
  return [...run.map((words) => words.join(' ')), ...files.map((file) => `> ${file}`)].map(
    (deed) => `${JSON.stringify(text)} did: ${deed}`,
  );
}

const sample = (lines: fc.Arbitrary<string>, numRuns: number, seed: number): readonly string[] =>
  fc.sample(lines, { numRuns, seed });

describe('commands that bash runs were found, or are asked about', () => {
  test('in pieces of its language in any order', async () => {
    const lines = sampleOf('lines of shell pieces held against bash', 10_000, 800);
    const { read, ran, made, missed } = await compare(sample(soup, lines, 11));
    expect(missed).toEqual([]);
    expect([read > lines / 10, ran > lines / 20, made > lines / 200]).toEqual([true, true, true]);
  }, 60_000);

  test('in scripts with mistakes', async () => {
    const lines = sampleOf('scripts with mistakes held against bash', 2_000, 200);
    const { read, ran, made, missed } = await compare(sample(withMistakes(scripts(false)), lines, 12));
    expect(missed).toEqual([]);
    expect([read > lines * 0.15, ran > lines / 4, made > lines / 40]).toEqual([true, true, true]);
  }, 60_000);

  test('in scripts with programs that run others', async () => {
    const lines = sampleOf('scripts with programs that run others held against bash', 700, 100);
    const { read, ran, missed } = await compare(sample(withMistakes(scripts(true)), lines, 13), true);
    expect(missed).toEqual([]);
    expect([read > lines * 0.2, ran > lines * 0.28]).toEqual([true, true]);
  }, 60_000);

  /** Each of these once ran a command that the reader had not found. */
  test.each([
    "echo <<'pwd' $(cat <<'B'\nB\nc1 x\npwd\n)\nB\n)\npwd",
    '>&-c1 x',
    'echo >& -c1 x',
    'echo a | time c1',
    'echo a |\ntime c1',
    'time -- c1',
    'time -p \\\n-- c1',
    '\\||time c1',
    'c1 {}x,y}',
    "cat <<E\n$(c'\\\n'1 x)\nE",
    'echo "$(if c1 <<E <<F\nE\n$(c2 k)\nF\nthen c2; fi)"',
    'command - c1',
    "echo >&'$(c1)'",
    "x='$(c1)'; echo >&$x",
    'echo $(>out ! c1)',
    'echo $(>out coproc c1)',
    'echo $(time >out -- c1)',
    'env ~a=1 c1',
    "z='q[$(c1)]'; [[ z -eq 0 ]]",
    'z=\'q[$(c1)]\'; [ -v "$z" ]',
    "z='q[$(c1)]'; let z",
    "z='q[$(c1)]'; unset $z",
    'z=\'q[$(c1)]\'; printf -v "$z" 1',
    "z='q[$(c1)]'; declare -i y=z",
    "declare -a 'y=($(c1))'",
    "compgen -W '$(c1)'",
    'mapfile -c 1 -C c1 <<<x',
    '. /dev/stdin <<<c1',
    'set -k; c1 PATH=x',
  ])('in %j', async (text) => {
    expect((await compare([text], text.includes('env'))).missed).toEqual([]);
  });
});

test('commands that another parser finds were found', async () => {
  await Parser.init();
  const grammar = createRequire(import.meta.url).resolve('tree-sitter-bash/tree-sitter-bash.wasm');
  const parser = new Parser().setLanguage(await Language.load(grammar));
  let [both, compared] = [0, 0];
  const missed: string[] = [];
  for (const text of sample(scripts(false), 1_500, 14)) {
    const { commands, problem } = readShell(text);
    if (problem !== undefined) continue;
    const tree = parser.parse(text);
    const ours = new Set(commands.map(({ words }) => words[0]?.text));
    if (tree?.rootNode.hasError === false) {
      both++;
      for (const command of tree.rootNode.descendantsOfType('command')) {
        const name = command?.childForFieldName('name')?.text ?? '';
        if (!/^[\w.-]+$/.test(name) || name === 'time') continue; // to bash it is none
        compared++;
        if (!ours.has(name)) missed.push(`${JSON.stringify(text)} has: ${name}`);
      }
    }
    tree?.delete();
  }
  parser.delete();
  expect(missed).toEqual([]);
  expect([both > 300, compared > 1_000]).toEqual([true, true]);
});
