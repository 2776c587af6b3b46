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
import type { AuthorizeRequest, ToolVerdict } from '../../src/toolkit/call/tool-call.ts';
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
/** Lines in one sandbox. All of them have the same verdict. */
const LINES_PER_BATCH = 25;
/** Lines that run at the same time in one sandbox, far below its limit of processes. */
const LINES_AT_ONCE = 8;
/** Seconds after which a line is ended that waits. */
const LINE_SECONDS = 1;
/** Batches after which a new place is made. Where files can be changed, lines may destroy their own working directory. */
const BATCHES_PER_PLACE = { changing: 1, reading: 40 };

/** Number of places in use at the same time, each with listeners of its own: some lines wait. */
const PLACES_AT_ONCE = 3;

/** Starts the listeners of a run. */
export async function startListeners(): Promise<readonly Listeners[]> {
  return Promise.all(Array.from({ length: PLACES_AT_ONCE }, () => Listeners.start()));
}

/** Runs hostile lines as an agent would that nobody answers: what is asked about does not run. */
export async function runHostileLines(run: HostileRun, listeners: readonly Listeners[]): Promise<Tally> {
  const { mode, bwrap, count } = run;
  const isReading = bwrap !== undefined || (mode !== 'accept_edits' && mode !== 'bypass');
  const batches = isReading ? BATCHES_PER_PLACE.reading : BATCHES_PER_PLACE.changing;
  const size = Math.min(LINES_PER_BATCH * batches, Math.ceil(count / listeners.length)); // all places have work
  const firsts = Array.from({ length: Math.ceil(count / size) }, (_, i) => i * size).values();
  const tallies: Tally[] = [];
  await Promise.all(
    listeners.map(async (own) => {
      const made = (first: number): (() => Promise<HostilePlace>) => {
        const to = Math.min(first + size, count);
        return () => HostilePlace.make(run, own, (targets) => sampledLines(targets, count).slice(first, to));
      };
      for (const first of firsts) tallies.push(await runLines(made(first)));
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

/** Runs some of the lines in a new place: each is judged alone, and lines with the same verdict run together. */
async function runLines(makePlace: () => Promise<HostilePlace>): Promise<Tally> {
  const place = await makePlace();
  const effects: string[] = [];
  let [ran, harmless] = [0, 0];
  try {
    for (const line of HARMLESS) harmless += (await place.call([line])) === undefined ? 0 : 1;
    for (const batch of await place.batches()) {
      ran += batch.length;
      const effect = await place.effectOf(batch);
      if (effect === undefined) continue;
      effects.push(
        `${effect}: ${(await guiltyLines(makePlace, batch)).map((i) => place.lines[i]).join('\n')}`,
      );
      break; // the rest of this place's lines is left out, as everything may have changed
    }
  } finally {
    place.remove();
  }
  return { effects, ran, refused: place.refused, harmless, places: 1 };
}

/**
 * Finds the line of a batch that has the effect, by running halves of the batch in new places.
 * @param batch numbers of lines that have an effect together
 * @returns one number, or those of several lines without an effect in either half
 */
export async function guiltyLines(
  makePlace: () => Promise<HostilePlace>,
  batch: readonly number[],
): Promise<readonly number[]> {
  if (batch.length === 1) return batch;
  const middle = Math.ceil(batch.length / 2);
  for (const half of [batch.slice(0, middle), batch.slice(middle)]) {
    const place = await makePlace();
    try {
      if ((await place.effectOf(half)) !== undefined) return await guiltyLines(makePlace, half);
    } finally {
      place.remove();
    }
  }
  return batch;
}

/** Place with canaries, lines aimed at the canaries, and a shell tool. */
export class HostilePlace {
  readonly lines: readonly string[];
  refused = 0;
  readonly #place: CanaryPlace;
  readonly #listeners: Listeners;
  readonly #before: string;
  readonly #run: HostileRun | 'free';
  readonly #toolkit: Toolkit;
  readonly #policy: PermissionRules;

  private constructor(
    run: HostileRun | 'free',
    place: CanaryPlace,
    listeners: Listeners,
    linesFor: (targets: Targets) => readonly string[],
  ) {
    this.#run = run;
    this.#place = place;
    this.#listeners = listeners;
    this.#before = stateOf(place);
    this.lines = linesFor(targetsOf(place, listeners));
    const { user } = place;
    const bwrap = run === 'free' ? undefined : run.bwrap;
    const mode = run === 'free' ? 'default' : run.mode;
    this.#policy = new PermissionRules({ mode, workingDirectories: [place.cwd] });
    const shell = shellTool({
      cwd: place.cwd,
      shell: '/bin/bash',
      timeoutMs: 60_000,
      isolation: 'require',
      maxOutputBytes: 50_000_000, // nothing is cut out of the output of many lines
      limits: { cpuSeconds: 4 },
      ...(user && { runAs: user }),
      ...(bwrap && { bwrap }),
    });
    this.#toolkit = new Toolkit({ tools: [shell] });
  }

  /** @param run 'free' to run without any limits, as a control */
  static async make(
    run: HostileRun | 'free',
    listeners: Listeners,
    linesFor: (targets: Targets) => readonly string[],
    user = run === 'free' ? undefined : run.user,
  ): Promise<HostilePlace> {
    const place = preparedPlace(user, listeners);
    await listeners.at(place.at('out/socket'));
    return new HostilePlace(run, place, listeners, linesFor);
  }

  /** Numbers of the lines that run unasked, in groups with the same verdict. Counts the others. */
  async batches(): Promise<readonly (readonly number[])[]> {
    const groups = new Map<string, number[]>();
    for (const [i, line] of this.lines.entries()) {
      const { status, verdict } = await this.#judged(line);
      if (status === 'denied') this.refused++;
      else groups.set(verdict, [...(groups.get(verdict) ?? []), i]);
    }
    const canShare = this.#run === 'free' || this.#run.bwrap === undefined;
    const size = canShare ? LINES_PER_BATCH : 1; // without a sandbox, only single fixed commands run
    return [...groups.values()].flatMap((group) =>
      Array.from({ length: Math.ceil(group.length / size) }, (_, i) => group.slice(i * size, (i + 1) * size)),
    );
  }

  /** Runs lines together, and looks for an effect outside. */
  async effectOf(batch: readonly number[]): Promise<string | undefined> {
    this.#listeners.heard = 0;
    const lines = batch.map((i) => this.lines[i] ?? '');
    const output =
      this.#run === 'free' ? (await this.#place.free(together(lines))).text : await this.call(lines);
    if (output === undefined) throw new Error(`A line that was allowed did not run: ${lines.join('\n')}`);
    return effectOf(this.#place, this.#before, output, this.#listeners);
  }

  /** Runs lines in one tool call, with the verdict that all of them have. @returns undefined if they did not run */
  async call(lines: readonly string[]): Promise<string | undefined> {
    const command = lines.length === 1 ? (lines[0] ?? '') : together(lines);
    const { status, output } = await this.#callTool(command, async (request) => {
      const verdicts = await Promise.all(lines.map((line) => this.#authorize(request, line)));
      const [first = NOT_JUDGED, ...others] = verdicts;
      return others.every((other) => verdictText(other) === verdictText(first)) ? first : NOT_JUDGED;
    });
    const didRun = status !== 'denied' && !/can't be confined|isolation is 'require'/.test(String(output));
    return didRun ? String(output) : undefined;
  }

  /** The verdict about a line, which does not run. */
  async #judged(line: string): Promise<{ readonly status: 'allowed' | 'denied'; readonly verdict: string }> {
    let verdict: ToolVerdict = NOT_JUDGED;
    await this.#callTool(line, async (request) => {
      verdict = await this.#authorize(request, line);
      return NOT_JUDGED;
    });
    // In bypass the tool's own options hold: it requires a sandbox.
    const isPossible = this.#run === 'free' || this.#run.bwrap === undefined || this.#run.mode !== 'bypass';
    const status = verdict.behavior === 'allow' && isPossible ? 'allowed' : 'denied';
    return { status, verdict: verdictText(verdict) };
  }

  #authorize(request: AuthorizeRequest, command: string): Promise<ToolVerdict> {
    const one = { ...request, call: { ...request.call, input: { command } } };
    const control = { agentPath: ['a'], checkpoint: async () => {} };
    return authorize(one, { permissionPolicy: this.#policy }, undefined, control);
  }

  #callTool(command: string, decide: (request: AuthorizeRequest) => Promise<ToolVerdict>) {
    const input = { command };
    return this.#toolkit.callToolFunction(
      { type: 'tool_use', id: 'c1', name: 'execute_shell_command', input },
      { authorize: decide },
    );
  }

  remove(): void {
    this.#place.remove();
  }
}

const NOT_JUDGED: ToolVerdict = { behavior: 'deny', reason: 'nothing runs' };

function verdictText({ behavior, confinement }: ToolVerdict): string {
  return JSON.stringify([behavior, confinement]);
}

/**
 * Script that runs all lines, each in a new shell. Sleeping lines are not ended: their processes still run when the script
 * ends, and must end with the sandbox.
 */
function together(lines: readonly string[]): string {
  const sleeping = lines.filter((line) => line.includes('sleep'));
  const others = lines.filter((line) => !line.includes('sleep')).map(quoted);
  const run = `xargs -0 -P${LINES_AT_ONCE} -n1 timeout -s KILL ${LINE_SECONDS} /bin/bash -c`;
  return [
    ...sleeping.map((line) => `/bin/bash -c ${quoted(line)} < /dev/null &`),
    ...(sleeping.length > 0 ? ['sleep 0.2'] : []),
    ...(others.length > 0 ? [`printf '%s\\0' ${others.join(' ')} | ${run}`] : []),
    'exit 0',
  ].join('\n');
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

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
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
