import { lstatSync, readdirSync, readlinkSync } from 'node:fs';

/** A sandbox: visible files, changeable files, network, environment. Everything else does not exist in it. */
export interface SandboxView {
  /** Canonical working directory. Visible, and read-only unless inside a writable folder. */
  readonly cwd: string;
  /** Further files and folders that are visible read-only. */
  readonly readPaths: readonly string[];
  /** Folders whose files can be changed. Canonical paths. */
  readonly writable: readonly SandboxFolder[];
  /** Existing files that can't be read, although they are in a visible folder. Canonical paths. */
  readonly hidden?: readonly string[];
  readonly allowNetwork: boolean;
  /** Complete environment of the program. */
  readonly env: Readonly<Record<string, string>>;
  /** Size of `/tmp`; 0 for a read-only one. */
  readonly tmpBytes: number;
  /** Whether the kernel also refuses user namespaces by a limit. Fails on some systems. */
  readonly disablesUserNamespaces: boolean;
}

export interface SandboxFolder {
  readonly path: string;
  /** Existing files and folders inside that stay read-only, as absolute paths. */
  readonly kept: readonly string[];
}

/** Descriptors of bwrap for its own arguments, the seccomp filter and the status. */
export const ARGUMENTS_FD = 3;
export const FILTER_FD = 4;
export const STATUS_FD = 5;

const MIB = 1024 ** 2;
const ROOT_BYTES = MIB;
const SHM_BYTES = 16 * MIB;
const LEAST_TMP_BYTES = MIB;
/** User id of `nobody`. */
const NOBODY = '65534';
const SYSTEM = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/nix/store'];
/** Files that programs need for libraries, users, time zone and certificates. None contains passwords or keys. */
const SETTINGS =
  'alternatives ca-certificates group hosts ld.so.cache ld.so.conf ld.so.conf.d localtime mime.types nsswitch.conf os-release passwd perl pki/ca-trust/extracted pki/tls/certs protocols services ssl/certs ssl/openssl.cnf terminfo';
const READ_ONLY_TRY = '--ro-bind-try';

/** Folders that are never made visible as a whole, and never changed. */
const NEVER = /^\/(?:$|(?:proc|sys|dev|run|etc|usr|bin|sbin|lib\w*|boot|nix)$|(?:proc|sys|dev|boot)\/)/;

/** Whether a folder can be the working directory of a sandbox. */
export function isOwnFolder(path: string): boolean {
  return !NEVER.test(path);
}

/** Options of bwrap for a sandbox. Folder `tools/process/confinement`: start here. The program and its arguments follow on the command line. */
export function sandboxLine(view: SandboxView): readonly string[] {
  const { cwd, allowNetwork, env, tmpBytes, disablesUserNamespaces } = view;
  return [
    ['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
    allowNetwork ? [] : ['--unshare-net'],
    ['--uid', NOBODY, '--gid', NOBODY, '--hostname', 'confined'],
    disablesUserNamespaces ? ['--disable-userns'] : [],
    ['--new-session', '--die-with-parent', '--cap-drop', 'ALL', '--clearenv'],
    ['--size', String(ROOT_BYTES), '--tmpfs', '/'],
    SYSTEM.flatMap(systemFolder),
    settings(allowNetwork).flatMap((path) => [READ_ONLY_TRY, path, path]),
    ['--dir', '/run', '--dir', '/home', '--dir', '/var/tmp', '--proc', '/proc'],
    ['--dev', '/dev', '--size', String(SHM_BYTES), '--perms', '1777', '--tmpfs', '/dev/shm'],
    ['--size', String(Math.max(tmpBytes, LEAST_TMP_BYTES)), '--perms', '1777', '--tmpfs', '/tmp'],
    folders(view),
    tmpBytes === 0 ? ['--remount-ro', '/tmp', '--remount-ro', '/dev/shm'] : [],
    // Root outside owns /proc/sys, and could change the permissions of all files in /proc for the whole system.
    ['--remount-ro', '/proc', '--remount-ro', '/dev', '--remount-ro', '/'],
    Object.entries(env).flatMap(([name, value]) => ['--setenv', name, value]),
    ['--chdir', cwd, '--json-status-fd', String(STATUS_FD), '--seccomp', String(FILTER_FD)],
  ].flat();
}

/** The options as bwrap reads them from a descriptor, where other users of the system can't see them. */
export function toArgumentBytes(args: readonly string[]): Uint8Array {
  return new TextEncoder().encode(args.map((arg) => `${arg}\0`).join(''));
}

/** Mounts of folders, sorted by depth: inner folders are mounted over outer folders. */
function folders({ cwd, readPaths, writable, hidden = [] }: SandboxView): readonly string[] {
  const binds = new Map([cwd, ...readPaths].map((path) => [path, ['--ro-bind', path, path]]));
  for (const { path, kept } of writable) {
    binds.set(path, ['--bind', path, path]);
    if (cwd.startsWith(`${path}/`)) binds.delete(cwd);
    for (const one of kept) {
      for (const parent of ancestors(one, path)) binds.set(parent, ['--bind', parent, parent]);
    }
  }
  for (const one of writable.flatMap(({ kept }) => kept)) binds.set(one, ['--ro-bind', one, one]);
  for (const one of hidden) binds.set(one, ['--ro-bind', '/dev/null', one]);
  const depth = (path: string): number => path.split('/').length;
  return [...binds].sort(([a], [b]) => depth(a) - depth(b)).flatMap(([, options]) => options);
}

/** Folders between a path and the folder around it. Mounted on themselves, none of them can be renamed. */
function ancestors(path: string, folder: string): readonly string[] {
  const names = path.slice(folder.length + 1).split('/');
  return names.slice(1).map((_, i) => [folder, ...names.slice(0, i + 1)].join('/'));
}

function systemFolder(path: string): readonly string[] {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return [];
  return stats.isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path];
}

function settings(allowNetwork: boolean): readonly string[] {
  const pythons = readdirSync('/etc').filter((name) => name.startsWith('python3'));
  const network = allowNetwork ? ['resolv.conf'] : [];
  return [...SETTINGS.split(' '), ...pythons, ...network].map((name) => `/etc/${name}`);
}
