import { spawn } from 'node:child_process';
import { delimiter, isAbsolute, join } from 'node:path';

import { startTimer } from '../../util/clock.ts';
import type { SystemUser } from './run-process.ts';

/** Files and network visible in a sandbox, in addition to system programs and libraries. */
export interface SandboxView {
  /** The only writable folder, besides /tmp and /dev, which are empty and in memory. */
  readonly cwd: string;
  readonly readPaths: readonly string[];
  readonly allowNetwork: boolean;
}

const SYSTEM = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];
/** Files that programs need for libraries, time zone and certificates. Contains no passwords or keys. */
const SETTINGS = [
  'alternatives',
  'ld.so.cache',
  'ld.so.conf',
  'ld.so.conf.d',
  'localtime',
  'nsswitch.conf',
  'protocols',
  'services',
  'ssl/certs',
  'ssl/openssl.cnf',
  'ca-certificates',
  'pki/tls/certs',
  'pki/ca-trust/extracted',
].map((name) => `/etc/${name}`);
const NETWORK_SETTINGS = ['/etc/resolv.conf', '/etc/hosts'];
/** User id of `nobody`. */
const NOBODY = '65534';
const PROBE_MS = 10_000;

/**
 * Arguments of bwrap: read-only system, own process, user and network namespaces, and an end with this
 * process. The program and its arguments have to follow.
 */
export function sandboxArgs({ cwd, readPaths, allowNetwork }: SandboxView): readonly string[] {
  const system = [...SYSTEM, ...SETTINGS, ...(allowNetwork ? NETWORK_SETTINGS : [])];
  return [
    ['--unshare-all', ...(allowNetwork ? ['--share-net'] : []), '--die-with-parent', '--new-session'],
    ['--uid', NOBODY, '--gid', NOBODY],
    system.flatMap((path) => ['--ro-bind-try', path, path]),
    ['--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp', '--bind', cwd, cwd],
    readPaths.flatMap((path) => ['--ro-bind', path, path]),
    ['--remount-ro', '/', '--chdir', cwd, '--'],
  ].flat();
}

const probes = new Map<string, Promise<string | undefined>>();

/**
 * Path of bwrap if it is installed and can create a sandbox, which fails in many containers. Probed once per
 * command and user.
 * @param command name or path of bwrap
 * @param runAs user that creates the sandbox
 */
export function findBubblewrap(command: string, runAs?: SystemUser): Promise<string | undefined> {
  const path = process.env['PATH'] ?? '';
  const key = [command, runAs?.uid, runAs?.gid, path].join('\0');
  const probe = probes.get(key) ?? findUsable(command, path, runAs);
  probes.set(key, probe);
  return probe;
}

async function findUsable(command: string, path: string, runAs?: SystemUser): Promise<string | undefined> {
  const folders = path.split(delimiter).filter(isAbsolute);
  const candidates = isAbsolute(command) ? [command] : folders.map((folder) => join(folder, command));
  for (const candidate of candidates) if (await canIsolate(candidate, runAs)) return candidate;
  return undefined;
}

async function canIsolate(bwrap: string, runAs?: SystemUser): Promise<boolean> {
  const view: SandboxView = { cwd: '/tmp', readPaths: [], allowNetwork: false };
  const args = [...sandboxArgs(view), '/bin/sh', '-c', 'exit 0'];
  const child = spawn(bwrap, args, { cwd: '/', env: {}, stdio: 'ignore', ...runAs });
  const cancel = startTimer(PROBE_MS, () => child.kill('SIGKILL'));
  try {
    return await new Promise((resolve) => {
      child.once('error', () => resolve(false)); // not installed
      child.once('exit', (code) => resolve(code === 0));
    });
  } finally {
    cancel();
  }
}
