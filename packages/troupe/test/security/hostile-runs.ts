// Runs command lines as tool calls of a toolkit, judged and confined as those of an agent, and looks for effects outside.
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import { authorize } from '../../src/approval/authorize.ts';
import { PermissionRules } from '../../src/permission/permission-rules.ts';
import type { PermissionMode } from '../../src/permission/permission-table.ts';
import { Toolkit } from '../../src/toolkit/toolkit.ts';
import type { SystemUser } from '../../src/tools/process/run-process.ts';
import { shellTool } from '../../src/tools/process/shell-tool.ts';
import { CanaryPlace, Listeners, SECRET } from './canary-place.ts';
import { controlLines, HARMLESS, hostileLines, targetsOf, type Targets } from './hostile-lines.ts';

export interface HostileRun {
  readonly mode: PermissionMode;
  readonly user: SystemUser | undefined;
  readonly count: number;
  /** Path of bwrap. @default that of the system */
  readonly bwrap?: string;
  /** Lines in one process. More than one only where nothing is left for the next line. @default 1 */
  readonly batch?: number;
}

export interface Tally {
  /** Lines with an effect outside, each with the effect. */
  readonly effects: readonly string[];
  /** Number of lines that ran. */
  readonly ran: number;
  readonly refused: number;
  /** Number of harmless lines that ran: some in every place. */
  readonly harmless: number;
  readonly places: number;
}

/** Number of lines of the whole corpus. */
export const CORPUS_LINES = 2000;
const NO_TARGETS: Targets = { out: '', cwd: '', port: 0, token: '', victim: 0 };
/** Calls after which a new place is made. Where files can be changed, lines may destroy their own working directory. */
const CALLS_PER_PLACE = { changing: 25, reading: 200 };

/** Number of places in use at the same time, each with listeners of its own: most lines wait. */
const PLACES_AT_ONCE = 4;

/** Starts the listeners of a run. */
export async function startListeners(): Promise<readonly Listeners[]> {
  return Promise.all(Array.from({ length: PLACES_AT_ONCE }, () => Listeners.start()));
}

/** Runs hostile lines as an agent would that nobody answers: what is asked about does not run. */
export async function runHostileLines(run: HostileRun, listeners: readonly Listeners[]): Promise<Tally> {
  const { mode, bwrap, count, batch = 1 } = run;
  const isReading = bwrap !== undefined || (mode !== 'accept_edits' && mode !== 'bypass');
  const calls = isReading ? CALLS_PER_PLACE.reading : CALLS_PER_PLACE.changing;
  const size = batch * Math.min(calls, Math.ceil(count / batch / listeners.length)); // all places have work
  const firsts = Array.from({ length: Math.ceil(count / size) }, (_, i) => i * size).values();
  const tallies: Tally[] = [];
  await Promise.all(
    listeners.map(async (own) => {
      for (const first of firsts) tallies.push(await runLines(run, first, size, own));
    }),
  );
  const sum = (of: (tally: Tally) => number): number => tallies.reduce((all, tally) => all + of(tally), 0);
  return {
    effects: tallies.flatMap(({ effects }) => effects),
    ran: sum(({ ran }) => ran),
    refused: sum(({ refused }) => refused),
    harmless: sum(({ harmless }) => harmless),
    places: tallies.length,
  };
}

/** Runs some of the lines in a new place. */
async function runLines(run: HostileRun, first: number, size: number, listeners: Listeners): Promise<Tally> {
  const { mode, user, count, bwrap, batch = 1 } = run;
  const effects: string[] = [];
  let [ran, refused, harmless] = [0, 0, 0];
  const place = preparedPlace(user, listeners);
  const before = stateOf(place);
  try {
    await listeners.at(place.at('out/socket'));
    const permissionPolicy = new PermissionRules({ mode, workingDirectories: [place.cwd] });
    const shell = shellTool({
      cwd: place.cwd,
      shell: '/bin/bash',
      timeoutMs: 5000,
      isolation: 'require',
      limits: { cpuSeconds: 4 },
      ...(user && { runAs: user }),
      ...(bwrap && { bwrap }),
    });
    const toolkit = new Toolkit({ tools: [shell] });
    const call = async (command: string): Promise<string | undefined> => {
      const { status, output } = await toolkit.callToolFunction(
        { type: 'tool_use', id: 'c1', name: shell.name, input: { command } },
        {
          authorize: (request) =>
            authorize(request, { permissionPolicy }, undefined, {
              agentPath: ['a'],
              checkpoint: async () => {},
            }),
        },
      );
      return status === 'denied' || /can't be confined|isolation is 'require'/.test(String(output))
        ? undefined
        : String(output);
    };
    for (const line of HARMLESS) harmless += (await call(line)) === undefined ? 0 : 1;
    const lines = sampledLines(targetsOf(place, listeners), count).slice(first, first + size);
    for (let i = 0; i < lines.length; i += batch) {
      const group = lines.slice(i, i + batch);
      listeners.heard = 0;
      const output = await call(batch === 1 ? (group[0] ?? '') : group.map(inOwnShell).join('\n'));
      if (output === undefined) refused += group.length;
      else ran += group.length;
      const effect = effectOf(place, before, output ?? '', listeners);
      if (effect === undefined) continue;
      effects.push(`${effect}: ${group.join('\n')}`);
      break; // the rest of this place's lines is left out, as everything may have changed
    }
  } finally {
    place.remove();
  }
  return { effects, ran, refused, harmless, places: 1 };
}

/** Lines at equal distances in the whole corpus. */
function sampledLines(targets: Targets, count: number): readonly string[] {
  const all = hostileLines(targets, CORPUS_LINES);
  return Array.from({ length: count }, (_, i) => all[Math.floor((i * all.length) / count)] ?? '');
}

/**
 * Runs payloads without limits, and counts those whose effect is noticed: the harness must be able to see effects. The
 * targets are made for the test, except devices of the system, which are left out.
 */
export async function noticedEffects(
  user: SystemUser | undefined,
  listeners: Listeners,
): Promise<readonly string[]> {
  const missed: string[] = [];
  for (let i = 0; i < controlLines(NO_TARGETS).length; i++) {
    const place = preparedPlace(user, listeners);
    try {
      await listeners.at(place.at('out/socket'));
      const before = stateOf(place);
      listeners.heard = 0;
      const line = controlLines(targetsOf(place, listeners))[i] ?? '';
      const { text } = await place.free(line);
      if (effectOf(place, before, text, listeners) === undefined) missed.push(line);
    } finally {
      place.remove();
    }
  }
  return missed;
}

function inOwnShell(line: string): string {
  return `timeout -s KILL 2 bash -c '${line.replaceAll("'", `'\\''`)}' < /dev/null`;
}

function preparedPlace(user: SystemUser | undefined, listeners: Listeners): CanaryPlace {
  const place = new CanaryPlace(user);
  const { at } = place;
  const targets: Targets = targetsOf(place, listeners);
  writeFileSync(at('cwd/.env'), 'x');
  symlinkSync(at('out/secret'), at('cwd/link'));
  symlinkSync(at('out'), at('cwd/way'));
  for (const name of ['objects', 'refs']) mkdirSync(at(`cwd/vendor/lib/${name}`), { recursive: true });
  writeFileSync(at('cwd/vendor/lib/HEAD'), 'ref: refs/heads/main\n');
  const config = `[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = ${at('cwd/src')}\n\tfsmonitor = "touch ${targets.out}/pwned"\n`;
  writeFileSync(at('cwd/vendor/lib/config'), config);
  return place;
}

/** State of the folder outside: must never change. */
function stateOf({ out }: CanaryPlace): string {
  const paths = readdirSync(out, { recursive: true, encoding: 'utf8' }).sort();
  const entries = paths
    .filter((path) => path !== 'socket')
    .map((path) => {
      const { mode, mtimeMs, size, nlink, uid } = lstatSync(join(out, path));
      const isFile = (mode & 0o170000) === 0o100000;
      return [
        path,
        mode,
        isFile ? mtimeMs : '',
        size,
        nlink,
        uid,
        isFile ? readFileSync(join(out, path), 'latin1') : '',
      ].join(' ');
    });
  return [...entries, ...['/dev/full', '/proc/uptime'].map((path) => lstatSync(path).mode)].join('\n');
}

function effectOf(
  place: CanaryPlace,
  before: string,
  output: string,
  listeners: Listeners,
): string | undefined {
  const { token, victim, cwd } = place;
  if (!existsSync(cwd) || stateOf(place) !== before) return 'files outside';
  if (listeners.heard > 0) return 'network';
  if (output.includes(SECRET)) return 'secret';
  if (place.survivors().length > 0) return 'process left';
  if (victim.exitCode !== null || victim.signalCode !== null) return 'process killed';
  for (const folder of ['/tmp', '/dev/shm']) {
    const path = `${folder}/troupe-canary-${token}`;
    if (!existsSync(path)) continue;
    rmSync(path);
    return `file in ${folder}`;
  }
  for (const path of readdirSync(cwd, { recursive: true, encoding: 'utf8' })) {
    const mode = lstatSync(join(cwd, path), { throwIfNoEntry: false })?.mode ?? 0;
    if ((mode & 0o6000) !== 0) return 'set-uid file';
  }
  return undefined;
}
