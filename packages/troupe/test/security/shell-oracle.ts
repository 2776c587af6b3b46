/** Shells and parsers from elsewhere, to compare our reader with. */
import { spawn } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { FoundCommand } from '../../src/permission/shell/find-commands.ts';
import type { ShellWord } from '../../src/permission/shell/shell-word.ts';

/** Real effects of a text. */
export interface Deeds {
  /** The words of each command that was run. */
  readonly ran: readonly (readonly string[])[];
  /** The files that were made. */
  readonly made: readonly string[];
}

/** The number of its text is in the name of a file. */
const MARK = /out-(\d+)-/;
const COMMANDS = ['c1', 'c2', 'c3'];
/** Programs that run others. */
const RUNNERS = ['env', 'find', 'nice', 'nohup', 'setsid', 'stdbuf', 'timeout', 'xargs', 'sh'];
const RECORD = String.raw`printf '%s\0' "$TROUPE_LINE" "$#" "$@" >>"$TROUPE_LOG"`;
/** Bash writes line by line, and what runs at the same time would come in between: there is one line only. */
const LINE_FEED = '\u0002';
const RECORD_IN_BASH = RECORD.replace('"$@"', () => `"\${@//$'\\n'/${LINE_FEED}}"`);
/** Each text by itself, in a shell of its own in which nothing can be found: what it would run is written down instead. */
const DRIVER = String.raw`
FUNCNEST=4
command_not_found_handle() { builtin ${RECORD_IN_BASH}; [[ $1 == c1 ]]; }
while IFS= builtin read -r -d '' TROUPE_LINE && IFS= builtin read -r -d '' TROUPE_TEXT; do
  ( builtin ulimit -t 1
    builtin eval "$TROUPE_TEXT"
    builtin wait ) </dev/null >/dev/null 2>&1
done <"$TROUPE_LIST"
builtin printf 'end\0' >>"$TROUPE_LOG"
`;

/**
 * Runs texts in bash, in an empty folder, where all that there is to run are `c1` to `c3`, which only note that they were called.
 * In a text, `out` stands for a file.
 */
export async function deedsOf(texts: readonly string[], hasPrograms = false): Promise<readonly Deeds[]> {
  const home = mkdtempSync(join(tmpdir(), 'troupe-shell-'));
  const [folder, programs, log, list] = ['folder', 'programs', 'log', 'list'].map((name) =>
    join(home, name),
  ) as [string, string, string, string];
  try {
    for (const dir of [folder, programs]) mkdirSync(dir);
    if (hasPrograms) addPrograms(programs);
    writeFileSync(log, '');
    writeFileSync(
      list,
      texts.map((text, i) => `${i}\0${text.replace(/(?<!time)out/g, `out-${i}-`)}\0`).join(''),
    );
    const env = { PATH: programs, TROUPE_LIST: list, TROUPE_LOG: log, TROUPE_LINE: '' };
    await toTheEnd(['-c', `export TROUPE_LINE; ${DRIVER}`], folder, env);
    return readDeeds(readFileSync(log, 'utf8'), readdirSync(folder), texts.length);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

function addPrograms(folder: string): void {
  for (const name of COMMANDS) {
    writeFileSync(join(folder, name), `#!/bin/sh\nset -- ${name} "$@"\n${RECORD}\n[ $1 = c1 ]\n`);
    chmodSync(join(folder, name), 0o755);
  }
  for (const name of RUNNERS) symlinkSync(name === 'sh' ? '/bin/sh' : `/usr/bin/${name}`, join(folder, name));
}

async function toTheEnd(args: readonly string[], cwd: string, env: Record<string, string>): Promise<void> {
  const child = spawn('/bin/bash', ['--norc', '--noprofile', ...args], {
    cwd,
    env,
    stdio: 'ignore',
    detached: true,
  });
  const end = (): void => {
    try {
      process.kill(-(child.pid ?? NaN), 'SIGKILL');
    } catch {
      // Nothing is left.
    }
  };
  const timer = setTimeout(end, 120_000);
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve) =>
    child.once('close', (...ending) => resolve(ending)),
  );
  clearTimeout(timer);
  end();
  if (signal !== null || code === null || code > 1) throw new Error(`bash ended with ${code ?? signal}`);
}

function readDeeds(log: string, files: readonly string[], count: number): readonly Deeds[] {
  const deeds = Array.from({ length: count }, () => ({ ran: [] as string[][], made: [] as string[] }));
  const fields = log.split('\0');
  if (fields.at(-2) !== 'end')
    throw new Error(`not all was run; the last one was ${fields.slice(-9).join(' ')}`);
  for (let at = 0; at + 2 < fields.length;) {
    const [line, words] = [Number(fields[at]), Number(fields[at + 1])];
    deeds[line]?.ran.push(fields.slice(at + 2, at + 2 + words).map(asGiven));
    at += 2 + words;
  }
  for (const file of files) {
    const [, line] = MARK.exec(file) ?? [];
    deeds[Number(line)]?.made.push(withoutMark(file));
  }
  return deeds;
}

/** A word before quoting. */
function asGiven(field: string): string {
  return withoutMark(field.replaceAll(LINE_FEED, '\n'));
}

function withoutMark(text: string): string {
  return text.replace(new RegExp(MARK, 'g'), 'out');
}

/** Whether a found command stands for the command that ran. */
export function standsFor({ words }: Pick<FoundCommand, 'words'>, ran: readonly string[]): boolean {
  const pattern = words.map(patternOf).join('');
  return new RegExp(`^${pattern}$`, 's').test(ran.map((word) => `\u0001${word}`).join(''));
}

/** Whether a file that was made is one that a command was found to write. */
export function writesTo({ writes }: Pick<FoundCommand, 'writes'>, file: string): boolean {
  return writes.some(({ text, isLiteral }) => (isLiteral ? text === file : true));
}

function patternOf({ text, isLiteral, mayBeFlag }: ShellWord): string {
  if (isLiteral && /(?:^|[=:])~/.test(text)) return '\u0001[^\u0001]*'; // somebody's home
  if (isLiteral) return `\u0001${escaped(text)}`;
  if (mayBeFlag) return '(?:\u0001.*)?';
  const [start = ''] = text.split(/[\u0000*?[{]/);
  return `(?:\u0001${escaped(start)}[^\u0001]*)+`;
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}
