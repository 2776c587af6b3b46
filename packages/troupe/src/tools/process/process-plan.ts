import { realpath, stat } from 'node:fs/promises';

import { TroupeError } from '../../errors.ts';
import type { Confinement, ConfinementProfile } from '../../toolkit/tool/confinement.ts';
import { privateFiles } from '../../util/platform/private-files.node.ts';
import { childEnvironment } from '../../util/platform/child-environment.node.ts';
import { oneLine } from '../../util/text.ts';
import { findSandbox, isSandbox, launchOf, type Sandbox, type SandboxSearch } from './find-sandbox.ts';
import { findHidden } from './confinement/find-hidden.ts';
import { FIXED_ENV, fixedCommand } from './confinement/fixed-commands.ts';
import { isOwnFolder, type SandboxView, type SandboxFolder } from './confinement/sandbox-line.ts';
import { WritableFolders, type SetAside } from './confinement/writable-folders.ts';
import { limitedArgv, tmpBytesOf, type ProcessPlace } from './process-limits.ts';
import type { ProcessCommand, ProcessToolOptions } from './process-options.ts';
import type { ProcessRequest } from './run-process.ts';

/** Start of a program, with notes for its result. */
export interface ProcessPlan {
  readonly start: Pick<ProcessRequest, 'argv' | 'cwd' | 'env' | 'launcher' | 'endsTogether'>;
  readonly place: ProcessPlace;
  /** Limits of a tool call that nobody was asked about; `none` if a person lifted them. */
  readonly profile?: ConfinementProfile | 'fixed_command' | 'none';
  readonly notes: readonly string[];
  /** Called when the program has ended. Returns further notes. */
  finish(): Promise<readonly string[]>;
}

const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin';
const NOT_ISOLATED =
  'This ran without isolation: it could read and change whatever the user of this program can.';
const LIFTED = `A person lifted the confinement of this tool call. ${NOT_ISOLATED}`;
const FIXED = 'This ran without confinement, as one of the few commands that only read here.';
const MAX_NAMED = 20;
const MAX_PROBLEM_CHARS = 500;
/** Maximum files hidden in one sandbox, because each needs a mount. */
const MAX_HIDDEN = 500;
const FILES_MISSED =
  'There are too many files to look for all named pipes and keys, so some of them may be open to this command.';

/**
 * Decides how a program is started: as the tool's options say, or within the limits of a tool call that nobody
 * was asked about. A program that can't have its limits does not run.
 * @throws TroupeError if the program must not run
 */
export async function planProcess(
  options: ProcessToolOptions,
  command: ProcessCommand,
  confinement: Confinement | 'none' | undefined,
): Promise<ProcessPlan> {
  const cwd = await folderOf(options);
  if (confinement !== undefined && confinement !== 'none')
    return confined(options, command, cwd, confinement);
  const { isolation = 'auto' } = options;
  if (confinement === 'none' && isolation === 'require')
    refuse("A person lifted the confinement, but this tool has isolation: 'require'.");
  const search = isolation === 'none' || confinement === 'none' ? undefined : await searchOf(options, cwd);
  if (search !== undefined && isSandbox(search)) return sandboxed(options, command, cwd, search);
  if (search !== undefined && isolation === 'require')
    refuse(`isolation is 'require', but ${search.reason}. To change this: ${search.remedy}.`);
  if (search?.heldBefore === true)
    refuse(`The sandbox held before, and fails now: ${search.reason}. To change this: ${search.remedy}.`);
  return {
    start: {
      argv: limitedArgv(options.limits ?? {}, 'outside', command.argv),
      cwd,
      env: { PATH: DEFAULT_PATH, ...childEnvironment(), ...command.env, ...options.env },
      endsTogether: false,
    },
    place: 'outside',
    ...(confinement === 'none' && { profile: confinement }),
    notes: [confinement === 'none' ? LIFTED : NOT_ISOLATED],
    finish: async () => [],
  };
}

/** Says why a tool call can't run within limits; undefined if it can, or is one of the fixed commands. */
export async function confinementProblem(
  options: ProcessToolOptions,
  { line }: Pick<ProcessCommand, 'line'>,
  { folders }: Confinement,
): Promise<string | undefined> {
  const cwd = await folderOf(options);
  if (!isOwnFolder(cwd)) return ownFolderProblem(cwd);
  const search = await searchOf(options, cwd);
  if (isSandbox(search)) return undefined;
  if (line !== undefined && (await fixedCommand(line, cwd, [cwd, ...(await existing(folders))])))
    return undefined;
  const { reason, remedy } = search;
  return `this system can't confine commands: ${reason}. Each command needs your approval. To change this: ${remedy}`;
}

async function confined(
  options: ProcessToolOptions,
  command: ProcessCommand,
  cwd: string,
  { profile, folders: named }: Confinement,
): Promise<ProcessPlan> {
  const search = await searchOf(options, cwd);
  if (!isOwnFolder(cwd)) refuse(ownFolderProblem(cwd));
  const folders = await existing(named);
  if (!isSandbox(search)) {
    const { line } = command;
    const argv = line === undefined ? undefined : await fixedCommand(line, cwd, [cwd, ...folders]);
    if (argv === undefined)
      refuse(
        `It can't be confined: ${search.reason}. Only an approval that lifts the confinement lets it run. To change this: ${search.remedy}.`,
      );
    return {
      start: { argv: limitedArgv({}, 'confined', argv), cwd, env: FIXED_ENV, endsTogether: false },
      place: 'outside',
      profile: 'fixed_command',
      notes: [FIXED],
      finish: async () => [],
    };
  }
  const opened = profile === 'accept_edits' ? await WritableFolders.open(folders) : undefined;
  const writable = typeof opened === 'object' ? opened : undefined;
  const closed = typeof opened === 'string' ? opened : undefined;
  const home = profile === 'explore' ? '/nonexistent' : '/tmp';
  try {
    const view = {
      cwd,
      readPaths: [...readPathsOf(options, command), ...folders],
      writable: writable?.folders ?? [],
      allowNetwork: false,
      env: { ...environment(options, command), HOME: home, TMPDIR: '/tmp' },
      tmpBytes: profile === 'explore' ? 0 : tmpBytesOf(options.limits ?? {}, 'confined'),
    };
    const { paths, isComplete } = await findHidden([cwd, ...view.readPaths]);
    checkHidden(paths);
    return {
      start: await launch(options, command, search, view, 'confined', paths),
      place: 'confined',
      profile,
      notes: [noteOf(profile, view.writable, closed), ...(isComplete ? [] : [FILES_MISSED])],
      finish: async () => (writable === undefined ? [] : setAsideNotes(await writable.close())),
    };
  } catch (error) {
    await writable?.close();
    throw error;
  }
}

async function sandboxed(
  options: ProcessToolOptions,
  command: ProcessCommand,
  cwd: string,
  sandbox: Sandbox,
): Promise<ProcessPlan> {
  if (!isOwnFolder(cwd)) refuse(ownFolderProblem(cwd));
  const { allowNetwork = false, limits = {} } = options;
  const view = {
    cwd,
    readPaths: readPathsOf(options, command),
    writable: [{ path: cwd, kept: [] }],
    allowNetwork,
    env: { HOME: '/tmp', TMPDIR: '/tmp', ...environment(options, command) },
    tmpBytes: tmpBytesOf(limits, 'sandbox'),
  };
  const start = await launch(options, command, sandbox, view, 'sandbox');
  return { start, place: 'sandbox', notes: [], finish: async () => [] };
}

async function launch(
  { limits = {} }: ProcessToolOptions,
  { argv }: ProcessCommand,
  sandbox: Sandbox,
  view: Omit<SandboxView, 'disablesUserNamespaces'>,
  place: ProcessPlace,
  found: readonly string[] = [],
): Promise<ProcessPlan['start']> {
  for (const path of view.readPaths) {
    // A link in a writable folder could lead bwrap to make files outside.
    const isInWritable = view.writable.some((folder) => path.startsWith(`${folder.path}/`));
    if (isInWritable && (await realpath(path)) !== path) refuse(`The path ${path} of readPaths is a link.`);
  }
  const keys = await hiddenIn([view.cwd, ...view.readPaths, ...view.writable.map(({ path }) => path)]);
  return launchOf(sandbox, { ...view, hidden: [...keys, ...found] }, limitedArgv(limits, place, argv));
}

/** A file is hidden by a mount on its name, which must be readable: bwrap would make a file for another one. */
function checkHidden(paths: readonly string[]): void {
  if (paths.length > MAX_HIDDEN)
    refuse(`More than ${MAX_HIDDEN} named pipes and keys would have to be hidden.`);
  const odd = paths.find((path) => path.includes('\ufffd'));
  if (odd !== undefined) refuse(`The name of ${shortPath(odd)} is not readable, so it can't be hidden.`);
}

/** Keys of this process in visible files and folders. */
async function hiddenIn(visible: readonly string[]): Promise<readonly string[]> {
  const real = await Promise.all(privateFiles().map((path) => realpath(path).catch(() => undefined)));
  return real.filter(
    (path) => path !== undefined && visible.some((one) => path === one || path.startsWith(`${one}/`)),
  ) as string[];
}

function environment({ env }: ProcessToolOptions, command: ProcessCommand): Readonly<Record<string, string>> {
  const { HOME: _home, TMPDIR: _tmp, ...inherited } = childEnvironment();
  return { PATH: DEFAULT_PATH, ...inherited, ...command.env, ...env };
}

function readPathsOf({ readPaths = [] }: ProcessToolOptions, command: ProcessCommand): readonly string[] {
  return [...readPaths, ...(command.readPaths ?? [])];
}

async function searchOf({ bwrap = 'bwrap', runAs }: ProcessToolOptions, cwd: string): Promise<SandboxSearch> {
  if (bwrap.startsWith(`${cwd}/`))
    return { reason: `${bwrap} is in the working directory`, remedy: 'use the bubblewrap of the system' };
  return findSandbox(bwrap, runAs);
}

async function folderOf({ cwd = process.cwd() }: ProcessToolOptions): Promise<string> {
  const folder = await realpath(cwd).catch(() => refuse(`The working directory ${cwd} does not exist.`));
  if (!(await stat(folder)).isDirectory()) refuse(`The working directory ${cwd} is not a directory.`);
  return folder;
}

/** Canonical paths of the folders that exist, without folders inside others. */
async function existing(folders: readonly string[]): Promise<readonly string[]> {
  const real = await Promise.all(folders.map((folder) => realpath(folder).catch(() => undefined)));
  const found = [...new Set(real.filter((path) => path !== undefined && isOwnFolder(path)))] as string[];
  return found.filter((path) => !found.some((other) => path.startsWith(`${other}/`)));
}

function noteOf(
  profile: ConfinementProfile,
  writable: readonly SandboxFolder[],
  closed: string | undefined,
): string {
  const names = writable.map(({ path }) => path).join(', ');
  const changes =
    profile === 'explore'
      ? 'nothing can be changed'
      : writable.length === 0
        ? 'files read-only except a private /tmp'
        : `changes only in ${names}, without files that programs run by themselves, and in a private /tmp`;
  const reason = closed === undefined ? '' : ` The working directory was read-only too: ${closed}.`;
  return `Ran confined: ${changes}, no network, ended with the call.${reason}`;
}

function setAsideNotes({ paths, folder, unchecked }: SetAside): readonly string[] {
  const named = paths.slice(0, MAX_NAMED).map(shortPath).join(', ') + (paths.length > MAX_NAMED ? ', …' : '');
  const moved =
    paths.length === 0
      ? []
      : [`New files that programs run or follow by themselves were set aside in ${folder}: ${named}`];
  const problems = unchecked.slice(0, MAX_NAMED).map((problem) => problem.slice(0, MAX_PROBLEM_CHARS));
  return [...moved, ...problems.map((problem) => `Not checked in full after the call: ${problem}`)];
}

/** The end of a long path, in one line. */
function shortPath(path: string): string {
  return oneLine(path.length > MAX_PROBLEM_CHARS ? `…${path.slice(-MAX_PROBLEM_CHARS)}` : path);
}

function ownFolderProblem(cwd: string): string {
  return `A sandbox needs a working directory of its own, not ${cwd}. Set the option cwd.`;
}

function refuse(problem: string): never {
  throw new TroupeError('invalid_config', problem);
}
