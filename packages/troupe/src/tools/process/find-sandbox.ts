import { constants } from 'node:fs';
import { access, readlink, realpath, stat } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';

import { messageOf } from '../../errors.ts';
import { runProcess, type ProcessOutcome, type SystemUser } from './run-process.ts';
import { launcherProblem, type ConfinementProblem } from './confinement/launcher-errors.ts';
import { ARGUMENTS_FD, sandboxLine, toArgumentBytes, type SandboxView } from './confinement/sandbox-line.ts';
import { filterArchitecture, seccompFilter } from './confinement/seccomp-filter.ts';

/** A bwrap that has been shown to confine programs. */
export interface Sandbox {
  /** Path of bwrap. */
  readonly bwrap: string;
  /** Program and arguments before bwrap. */
  readonly prefix: readonly string[];
  readonly disablesUserNamespaces: boolean;
}

export type SandboxSearch = Sandbox | ConfinementProblem;

/** Folders in which bwrap is looked for. Not PATH, which may name folders that programs can write to. */
const FOLDERS = ['/usr/bin', '/bin', '/usr/local/bin', '/run/current-system/sw/bin'];
const PROBE_MS = 10_000;
const SETUID_BITS = 0o6000;
const NAMESPACES = ['net', 'pid', 'user', 'ipc', 'uts'];
/** Environment of bwrap, without variables that change which libraries bwrap loads. */
export const LAUNCHER_ENV = { PATH: '/usr/bin:/bin' };

/**
 * Makes /dev read-only before bwrap shows its devices: root outside owns them, and could change their permissions
 * for the whole system. The input is opened anew, because the descriptor of the caller leads to the writable /dev.
 */
const READ_ONLY_DEV = ['/bin/sh', '-c', 'mount -o remount,bind,ro /dev && exec "$@" < /dev/null', 'sh'];
/** Ways to start bwrap as root: with the privileges of root, or those of a user namespace. */
const ROOT_PREFIXES = [['-m'], ['-U', '-r', '-m']].map((flags) => [
  '/usr/bin/unshare',
  ...flags,
  ...READ_ONLY_DEV,
]);

/** Reports what the sandbox allows: capabilities, privileges, filter, namespaces, writes and unix sockets. */
const PROBE = `
while read -r key value rest; do case $key in CapEff:|CapBnd:|NoNewPrivs:|Seccomp:) echo "$key$value";; esac; done < /proc/self/status
for name in ${NAMESPACES.join(' ')}; do echo "$name:$(readlink /proc/self/ns/$name)"; done
for folder in /usr / /dev /etc; do probe=$folder/.troupe-probe-$$; (set -C; : > "$probe") 2>/dev/null && rm -f "$probe" && echo "writes:$folder"; done
for file in /dev/null /dev/stdin /proc/1/fd/0 /proc/uptime; do chmod "$(stat -Lc %a $file)" $file 2>/dev/null && echo "changes:$file"; done
[ -x /usr/bin/perl ] && /usr/bin/perl -e 'print "connects:unix\\n" if socket(S, 1, 1, 0)'
echo done:1`;
const EXPECTED = [
  'CapEff:0000000000000000',
  'CapBnd:0000000000000000',
  'NoNewPrivs:1',
  'Seccomp:2',
  'done:1',
];

const searches = new Map<string, Promise<SandboxSearch>>();
/** Searches that have found a sandbox in this process. */
const held = new Set<string>();

export function isSandbox(search: SandboxSearch): search is Sandbox {
  return 'bwrap' in search;
}

/**
 * Finds a bwrap that really confines programs: it is run once per process and user, and the limits of the
 * sandbox are checked from the inside. Where a sandbox held before, a failure is not remembered: the next search tries again.
 * @param command path of bwrap, or its name in the folders of the system
 * @param runAs user that creates the sandbox
 */
export async function findSandbox(command: string, runAs?: SystemUser): Promise<SandboxSearch> {
  const key = keyOf(command, runAs);
  const search = searches.get(key) ?? firstUsable(command, runAs);
  searches.set(key, search);
  const found = await search;
  if (isSandbox(found)) held.add(key);
  else if (held.has(key)) {
    if (searches.get(key) === search) searches.delete(key);
    return { ...found, heldBefore: true };
  }
  return found;
}

/** Makes the next search try bwrap again, after a program could not be started. */
export function forgetSandbox(command: string, runAs?: SystemUser): void {
  searches.delete(keyOf(command, runAs));
}

function keyOf(command: string, runAs?: SystemUser): string {
  return [command, runAs?.uid, runAs?.gid].join('\0');
}

async function firstUsable(command: string, runAs?: SystemUser): Promise<SandboxSearch> {
  const candidates = isAbsolute(command) ? [command] : FOLDERS.map((folder) => join(folder, command));
  let problem = launcherProblem('ENOENT');
  for (const candidate of candidates) {
    if (
      !(await access(candidate, constants.X_OK).then(
        () => true,
        () => false,
      ))
    )
      continue;
    const found = await tried(await realpath(candidate), runAs);
    if (isSandbox(found)) return found;
    problem = found;
  }
  return problem;
}

async function tried(bwrap: string, runAs?: SystemUser): Promise<SandboxSearch> {
  if (((await stat(bwrap)).mode & SETUID_BITS) !== 0)
    return { reason: `${bwrap} is set-uid`, remedy: `remove the set-uid bit of ${bwrap}` };
  let problem: ConfinementProblem | undefined;
  const isRoot = (runAs?.uid ?? process.getuid?.()) === 0;
  const ways = (isRoot ? ROOT_PREFIXES : [[]]).flatMap((prefix) => [
    { bwrap, prefix, disablesUserNamespaces: true },
    { bwrap, prefix, disablesUserNamespaces: false },
  ]);
  for (const sandbox of ways) {
    const found = await probe(sandbox, runAs);
    if (found === undefined) return sandbox;
    problem ??= found;
  }
  return problem ?? launcherProblem('');
}

async function probe(sandbox: Sandbox, runAs?: SystemUser): Promise<ConfinementProblem | undefined> {
  const view = {
    cwd: '/usr',
    readPaths: [],
    writable: [],
    allowNetwork: false,
    env: LAUNCHER_ENV,
    tmpBytes: 1,
  };
  try {
    const outcome = await runProcess({
      ...launchOf(sandbox, view, ['/bin/sh', '-c', PROBE]),
      runAs,
      timeoutMs: PROBE_MS,
      maxOutputBytes: 10_000,
      signal: new AbortController().signal,
      onOutput: () => {},
    });
    if (!hasRun(outcome)) return launcherProblem(outcome.stderr.toString());
    return await weaknessOf(outcome.stdout.toString().trim().split('\n'));
  } catch (error) {
    return launcherProblem(messageOf(error));
  }
}

/** Finds a limit that does not hold in the sandbox. */
async function weaknessOf(report: readonly string[]): Promise<ConfinementProblem | undefined> {
  const missing = EXPECTED.filter((line) => !report.includes(line));
  const open = report.filter((line) => /^(?:writes|changes|connects):/.test(line));
  for (const name of NAMESPACES) {
    const own = await readlink(`/proc/self/ns/${name}`);
    if (report.includes(`${name}:${own}`) || !report.some((line) => line.startsWith(`${name}:${name}:`)))
      open.push(`namespace:${name}`);
  }
  if (missing.length === 0 && open.length === 0) return undefined;
  const facts = [...missing.map((line) => `no ${line}`), ...open].join(', ');
  return {
    reason: `the sandbox of bwrap does not hold here (${facts})`,
    remedy: 'use another version of bubblewrap',
  };
}

/** Whether the program of a sandbox was started. Only then bwrap reports an exit code. */
export function hasRun({
  launcherStatus,
  returncode,
}: Pick<ProcessOutcome, 'launcherStatus' | 'returncode'>): boolean {
  return returncode === undefined || returncode < 0 || launcherStatus.includes('"exit-code"');
}

/** Command line, environment and descriptors that start a program in a sandbox. */
export function launchOf(
  { bwrap, prefix, disablesUserNamespaces }: Sandbox,
  view: Omit<SandboxView, 'disablesUserNamespaces'>,
  argv: readonly string[],
) {
  const architecture = filterArchitecture();
  if (architecture === undefined) throw new Error(`There is no seccomp filter for ${process.arch}.`);
  const line = toArgumentBytes(sandboxLine({ ...view, disablesUserNamespaces }));
  return {
    argv: [...prefix, bwrap, '--args', String(ARGUMENTS_FD), '--', ...argv],
    cwd: '/',
    env: LAUNCHER_ENV,
    endsTogether: true,
    launcher: { data: [line, seccompFilter(architecture)] },
  };
}
