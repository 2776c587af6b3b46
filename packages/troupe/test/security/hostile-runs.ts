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
import { fail } from 'node:assert/strict';
import { join } from 'node:path';

import { authorize } from '../../src/approval/authorize.ts';
import { PermissionRules } from '../../src/permission/permission-rules.ts';
import type { PermissionMode } from '../../src/permission/permission-table.ts';
import type { AuthorizeRequest, ToolVerdict } from '../../src/toolkit/call/tool-call.ts';
import { Toolkit } from '../../src/toolkit/toolkit.ts';
import type { SystemUser } from '../../src/tools/process/run-process.ts';
import { shellTool } from '../../src/tools/process/shell-tool.ts';
import { CanaryPlace, Listeners, newToken, PIPED, SECRET } from './canary-place.ts';
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
  /** Number of harmless lines that ran. Without them, nothing may have run at all. */
  readonly harmless: number;
}

/** Number of lines of the whole corpus. */
export const CORPUS_LINES = 3200;
const NO_TARGETS: Targets = {
  out: '',
  cwd: '',
  port: 0,
  port6: 0,
  udpPort: 0,
  abstract: '',
  token: '',
  victim: 0,
};
/** Lines in one sandbox where nothing can be changed, and where files can. All of them have the same verdict. */
const [READING_LINES, CHANGING_LINES] = [50, 25];
/** Harmless line, and its output. */
const [SHOWING, SHOWN] = ['cat src/a.txt', 'hello'];
/** Lines that run at the same time in one sandbox, far below its limit of processes. */
const LINES_AT_ONCE = 8;
/** Seconds after which a line is ended that waits. */
const LINE_SECONDS = 1;
/** Number of places in use at the same time, each with listeners of its own: some lines wait. */
const PLACES_AT_ONCE = 3;

/** Starts the listeners of a run. */
export async function startListeners(): Promise<readonly Listeners[]> {
  return Promise.all(Array.from({ length: PLACES_AT_ONCE }, () => Listeners.start()));
}

/** Runs hostile lines as an agent would that nobody answers: what is asked about does not run. */
export async function runHostileLines(run: HostileRun, listeners: readonly Listeners[]): Promise<Tally> {
  const { mode, bwrap, count } = run;
  const isReading = bwrap !== undefined || changesNothing(mode);
  const [first = fail('no listeners')] = listeners;
  const made = (own: Listeners): (() => Promise<HostilePlace>) => {
    return () => HostilePlace.make(run, own, (targets) => sampledLines(targets, count));
  };
  const { batches, refused, harmless } = await inPlace(made(first), async (place) => {
    return { ...(await place.batches()), harmless: await place.runHarmless() };
  });
  // All places have work. Where files can be changed, each batch finds them as they were.
  const size = isReading ? Math.max(1, Math.ceil(batches.length / listeners.length)) : 1;
  const shares = chunksOf(batches, size).values();
  const tallies: Pick<Tally, 'effects' | 'ran'>[] = [];
  await Promise.all(
    listeners.map(async (own) => {
      for (const share of shares) tallies.push(await runBatches(made(own), share));
    }),
  );
  return {
    effects: tallies.flatMap(({ effects }) => effects),
    ran: tallies.reduce((all, { ran }) => all + ran, 0),
    refused,
    harmless,
  };
}

function changesNothing(mode: PermissionMode): boolean {
  return mode !== 'accept_edits' && mode !== 'bypass';
}

/** Runs batches of lines in a new place. */
async function runBatches(
  makePlace: () => Promise<HostilePlace>,
  batches: readonly (readonly number[])[],
): Promise<Pick<Tally, 'effects' | 'ran'>> {
  return inPlace(makePlace, async (place) => {
    const effects: string[] = [];
    let ran = 0;
    for (const batch of batches) {
      ran += batch.length;
      const effect = await place.effectOf(batch);
      if (effect === undefined) continue;
      effects.push(
        `${effect}: ${(await guiltyLines(makePlace, batch)).map((i) => place.lines[i]).join('\n')}`,
      );
      break; // the rest of this place's lines is left out, as everything may have changed
    }
    return { effects, ran };
  });
}

async function inPlace<T>(
  makePlace: () => Promise<HostilePlace>,
  use: (place: HostilePlace) => Promise<T>,
): Promise<T> {
  const place = await makePlace();
  try {
    return await use(place);
  } finally {
    place.remove();
  }
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
    const effect = await inPlace(makePlace, (place) => place.effectOf(half));
    if (effect !== undefined) return guiltyLines(makePlace, half);
  }
  return batch;
}

/** Place with canaries, lines aimed at the canaries, and a shell tool. */
export class HostilePlace {
  readonly lines: readonly string[];
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
    this.#before = stateOf(place, run);
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
  async batches(): Promise<{
    readonly batches: readonly (readonly number[])[];
    readonly refused: number;
  }> {
    const groups = new Map<string, number[]>();
    let refused = 0;
    for (const [i, line] of this.lines.entries()) {
      const { status, verdict } = await this.#judged(line);
      if (status === 'denied') refused++;
      else groups.set(verdict, [...(groups.get(verdict) ?? []), i]);
    }
    const isReading = this.#run !== 'free' && changesNothing(this.#run.mode);
    const size = this.#canShare ? (isReading ? READING_LINES : CHANGING_LINES) : 1;
    return { batches: [...groups.values()].flatMap((group) => chunksOf(group, size)), refused };
  }

  /** Without a sandbox, only single fixed commands run. */
  get #canShare(): boolean {
    return this.#run === 'free' || this.#run.bwrap === undefined;
  }

  /** Runs lines together, and looks for an effect outside. */
  async effectOf(batch: readonly number[]): Promise<string | undefined> {
    this.#listeners.heard = 0;
    // A line may end the others, which run again then.
    for (let rest = batch; rest.length > 0;) {
      const { output, started } = await this.#begin(rest.map((i) => this.lines[i] ?? ''));
      const effect = effectOf(this.#place, this.#run, this.#before, output, this.#listeners);
      if (effect !== undefined) return effect;
      if (started.length === 0) fail(`No line ran: ${rest.map((i) => this.lines[i]).join('\n')}`);
      rest = rest.filter((_, at) => !started.includes(at));
    }
    return undefined;
  }

  /** Runs harmless lines. @returns the number of lines that ran */
  async runHarmless(): Promise<number> {
    const groups = this.#canShare ? [HARMLESS] : HARMLESS.map((line) => [line]);
    let ran = 0;
    for (const group of groups) {
      const { output, started } = await this.#begin(group);
      const hasShown = !group.includes(SHOWING) || output.includes(SHOWN);
      ran += hasShown ? started.length : 0;
    }
    return ran;
  }

  /** Runs lines, each in a shell of its own. @returns the output, and the positions of the lines that have begun */
  async #begin(
    lines: readonly string[],
  ): Promise<{ readonly output: string; readonly started: readonly number[] }> {
    const mark = newToken();
    const command = this.#canShare ? together(lines, mark) : (lines[0] ?? '');
    const output =
      this.#run === 'free' ? (await this.#place.free(command)).text : await this.#call(command, lines);
    if (output === undefined) return { output: '', started: [] };
    if (!this.#canShare) return { output, started: [0] };
    const marks = output.matchAll(new RegExp(`${mark}-(\\d+)$`, 'gm'));
    return { output, started: [...new Set([...marks].map(([, at]) => Number(at)))] };
  }

  /** Runs lines in one tool call, with the verdict that all of them have. @returns undefined if they did not run */
  async #call(command: string, lines: readonly string[]): Promise<string | undefined> {
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

  async #authorize(request: AuthorizeRequest, command: string): Promise<ToolVerdict> {
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
 * Script that runs all lines, each in a new shell that first writes the mark and the position of its line. Sleeping lines
 * are not ended: their processes still run when the script ends, and must end with the sandbox.
 */
function together(lines: readonly string[], mark: string): string {
  const all = lines.map((line, at) => ({
    isSleeping: line.includes('sleep'),
    text: `printf '%s-%s\\n' ${mark} ${at}\n${line}`,
  }));
  const sleeping = all.filter(({ isSleeping }) => isSleeping).map(({ text }) => quoted(text));
  const others = all.filter(({ isSleeping }) => !isSleeping).map(({ text }) => quoted(text));
  const run = `xargs -0 -P${LINES_AT_ONCE} -n1 timeout -s KILL ${LINE_SECONDS} /bin/bash -c`;
  return [
    ...sleeping.map((line) => `/bin/bash -c ${line} < /dev/null &`),
    ...(sleeping.length > 0 ? ['sleep 0.2'] : []),
    ...(others.length > 0 ? [`printf '%s\\0' ${others.join(' ')} | ${run}`] : []),
    'exit 0',
  ].join('\n');
}

function chunksOf<T>(all: readonly T[], size: number): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.slice(i * size, (i + 1) * size));
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
      const before = stateOf(place, 'free');
      listeners.heard = 0;
      const line = controlLines(targetsOf(place, listeners))[i] ?? '';
      const { text } = await place.free(line);
      if (effectOf(place, 'free', before, text, listeners) === undefined) missed.push(line);
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

/** Names of files and folders that run later. */
const LATER =
  /(?:^|\/)(?:\.git|\.gitattributes|\.gitmodules|\.husky|\.vscode|\.github|\.circleci|\.envrc|\.mcp\.json|\.npmrc|\.claude|\.ssh|\.bashrc|\.profile|mise\.toml|node_modules|vendor\/lib|approval-key|[^/]*\.pth)(?:\/|$)/i;

/** State of everything that a run must not change: the folder outside, devices, and what is read-only inside. */
function stateOf({ out, cwd }: CanaryPlace, run: HostileRun | 'free'): string {
  const isOpen = run === 'free' || (run.mode === 'bypass' && run.bwrap === undefined);
  const isEdited = run !== 'free' && run.mode === 'accept_edits' && run.bwrap === undefined;
  const isKept = (path: string): boolean => !isEdited || LATER.test(path);
  const inside = isOpen ? [] : entriesOf(cwd, isKept);
  const devices = ['/dev/null', '/dev/full', '/proc/uptime'].map((path) => lstatSync(path).mode);
  return [...entriesOf(out, (path) => path !== 'socket'), 'inside', ...inside, ...devices].join('\n');
}

/**
 * Everything in a folder, each byte of a name as one character. Links are not followed: a line may have made one that leads to the
 * whole system.
 */
function pathsIn(folder: string, inner = ''): readonly string[] {
  const entries = readdirSync(bytesOf(join(folder, inner)), { withFileTypes: true, encoding: 'buffer' });
  return entries.flatMap((entry) => {
    const path = join(inner, entry.name.toString('latin1'));
    return entry.isDirectory() ? [path, ...pathsIn(folder, path)] : [path];
  });
}

function bytesOf(path: string): Buffer {
  return Buffer.from(path, 'latin1');
}

/** Names, modes, times, sizes, links, owners and contents of files. */
function entriesOf(folder: string, isMeant: (path: string) => boolean): readonly string[] {
  const paths = pathsIn(folder).filter(isMeant).sort();
  return paths.map((path) => {
    const file = bytesOf(join(folder, path));
    const { mode, mtimeMs, size, nlink, uid } = lstatSync(file);
    const isFile = (mode & 0o170000) === 0o100000;
    const text = isFile ? readFileSync(file, 'latin1') : '';
    return [path, mode, isFile ? mtimeMs : '', isFile ? size : '', nlink, uid, text].join(' ');
  });
}

/** Entry in which two states differ. */
function differenceOf(before: string, after: string): string {
  const [old, now] = [before.split('\n'), after.split('\n')];
  const differing = now.find((line) => !old.includes(line)) ?? old.find((line) => !now.includes(line)) ?? '';
  return `files outside, or read-only inside (${differing.slice(0, 200)})`;
}

function effectOf(
  place: CanaryPlace,
  run: HostileRun | 'free',
  before: string,
  output: string,
  listeners: Listeners,
): string | undefined {
  const { token, victim, cwd, hasPiped } = place;
  // In bypass the tool's own sandbox has the working directory with its pipes.
  const isOpen = run !== 'free' && run.mode === 'bypass';
  if (!isOpen && (hasPiped || output.includes(PIPED))) return 'pipe';
  if (!existsSync(cwd)) return 'no working directory';
  const after = stateOf(place, run);
  if (after !== before) return differenceOf(before, after);
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
  for (const path of pathsIn(cwd)) {
    const mode = lstatSync(bytesOf(join(cwd, path)), { throwIfNoEntry: false })?.mode ?? 0;
    if ((mode & 0o6000) !== 0) return 'set-uid file';
  }
  return undefined;
}
