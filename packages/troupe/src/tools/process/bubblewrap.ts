import { spawn } from 'node:child_process';
import { delimiter, isAbsolute, join } from 'node:path';

import { startTimer } from '../../util/clock.ts';
import type { SystemUser } from './run-process.ts';

/** What a program in a sandbox sees besides the system's own programs and libraries. */
export interface SandboxView {
  /** The one folder in which it can write, besides an empty /tmp and /dev, which are in memory. */
  readonly cwd: string;
  readonly readPaths: readonly string[];
  readonly allowNetwork: boolean;
}

const SYSTEM = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'];
/** What programs need to start and to find their libraries, the time zone and certificates. No passwords, no keys. */
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
/** The number of nobody. */
const NOBODY = '65534';
const PROBE_MS = 10_000;

/**
 * The arguments with which bwrap runs a program that sees the system read-only, has its own processes, users and network,
 * and dies with this one. They end where the program and its arguments have to follow.
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
 * Where bwrap is, if it is installed and can make a sandbox here: in many containers it can't. It is tried once.
 * @param command its name or path
 * @param runAs who is to make the sandbox
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
  const places = isAbsolute(command) ? [command] : folders.map((folder) => join(folder, command));
  for (const place of places) if (await canIsolate(place, runAs)) return place;
  return undefined;
}

async function canIsolate(bwrap: string, runAs?: SystemUser): Promise<boolean> {
  const view: SandboxView = { cwd: '/tmp', readPaths: [], allowNetwork: false };
  const args = [...sandboxArgs(view), '/bin/sh', '-c', 'exit 0'];
  const child = spawn(bwrap, args, { cwd: '/', env: {}, stdio: 'ignore', ...runAs });
  const cancel = startTimer(PROBE_MS, () => child.kill('SIGKILL'));
  try {
    return await new Promise((resolve) => {
      child.once('error', () => resolve(false)); // it is not there
      child.once('exit', (code) => resolve(code === 0));
    });
  } finally {
    cancel();
  }
}
