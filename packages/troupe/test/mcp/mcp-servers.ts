// For the tests: servers as processes, and checks for processes that are left.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import type { StdioServer } from '../../src/mcp/index.ts';

const MODULES = join(import.meta.dirname, '../../../../node_modules/@modelcontextprotocol');
const EVERYTHING = join(MODULES, 'server-everything/dist/index.js');
const FLAGS = ['--no-warnings', '--experimental-strip-types'];
/** Folder of compiled modules, from which a process starts in a third of the time. Servers get no other variable of the tests. */
const { NODE_COMPILE_CACHE } = process.env;
const COMPILED: Readonly<Record<string, string>> = NODE_COMPILE_CACHE ? { NODE_COMPILE_CACHE } : {};

/** The misbehaving server. */
export function hostileServer(...args: string[]): StdioServer {
  return nodeServer(...FLAGS, join(import.meta.dirname, 'hostile-server.ts'), ...args);
}

/** Script of this folder that uses the library. */
export function ownServer(script: string, ...args: string[]): StdioServer {
  const flags = ['--no-warnings', '--experimental-transform-types', '--conditions=troupe:source'];
  return nodeServer(...flags, join(import.meta.dirname, script), ...args);
}

/** Script of this folder that does not use the library. */
export function plainServer(script: string): StdioServer {
  return nodeServer(...FLAGS, join(import.meta.dirname, script));
}

export function everythingServer(): StdioServer {
  return nodeServer(EVERYTHING, 'stdio');
}

export function filesystemServer(root: string): StdioServer {
  return nodeServer(join(MODULES, 'server-filesystem/dist/index.js'), root);
}

/** Another official server, with its own arguments. */
export function officialServer(name: string): StdioServer {
  return nodeServer(join(MODULES, `server-${name}/dist/index.js`));
}

function nodeServer(...args: string[]): StdioServer {
  return { type: 'stdio', command: process.execPath, args, env: COMPILED };
}

/** Makes a server listen on this machine only, report its port, and end with the test. */
const TELL_PORT = `data:text/javascript,${encodeURIComponent(`
  import net from 'node:net';
  process.on('disconnect', () => process.exit());
  const { listen } = net.Server.prototype;
  net.Server.prototype.listen = function (port, ...rest) {
    this.once('listening', () => process.send(this.address().port));
    return typeof port === 'object' ? listen.call(this, port, ...rest) : listen.call(this, port, '127.0.0.1', ...rest);
  };
`)}`;

export interface HttpProcess extends AsyncDisposable {
  readonly url: string;
  /** Kills the process at once. */
  kill(): Promise<void>;
}

/** The official server over HTTP, at a port that is free. @param port one to take again */
export async function everythingOverHttp(kind: 'streamableHttp' | 'sse', port = 0): Promise<HttpProcess> {
  const child = spawn(process.execPath, ['--import', TELL_PORT, EVERYTHING, kind], {
    env: { ...COMPILED, PATH: process.env['PATH'], PORT: String(port) },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const exited = once(child, 'exit');
  const [bound] = (await once(child, 'message')) as [number];
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  const path = kind === 'sse' ? '/sse' : '/mcp';
  return { url: `http://127.0.0.1:${bound}${path}`, kill, [Symbol.asyncDispose]: kill };
}

/** Whether a process exists and is running; false for a zombie. */
export function isAlive(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return !/\) [ZX] /.test(stat);
  } catch {
    return false;
  }
}

/** Running child processes of a process. */
export function childrenOf(pid: number): readonly number[] {
  const list = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return list.split(' ').filter(Boolean).map(Number).filter(isAlive);
}

/** Resolves when a condition holds, checked in every turn of the event loop. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => void setTimeout(resolve, 5));
}
