// For the tests: servers to talk to, as processes of their own, and what is left of them.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import type { StdioServer } from '../../src/mcp/index.ts';

const MODULES = join(import.meta.dirname, '../../../../node_modules/@modelcontextprotocol');
const EVERYTHING = join(MODULES, 'server-everything/dist/index.js');
const FLAGS = ['--no-warnings', '--experimental-strip-types'];

/** The server that misbehaves. */
export function hostileServer(...args: string[]): StdioServer {
  return nodeServer(...FLAGS, join(import.meta.dirname, 'hostile-server.ts'), ...args);
}

/** A script of this folder that uses the library. */
export function ownServer(script: string, ...args: string[]): StdioServer {
  const flags = ['--no-warnings', '--experimental-transform-types', '--conditions=troupe:source'];
  return nodeServer(...flags, join(import.meta.dirname, script), ...args);
}

/** A script of this folder that doesn't. */
export function plainServer(script: string): StdioServer {
  return nodeServer(...FLAGS, join(import.meta.dirname, script));
}

export function everythingServer(): StdioServer {
  return nodeServer(EVERYTHING, 'stdio');
}

export function filesystemServer(root: string): StdioServer {
  return nodeServer(join(MODULES, 'server-filesystem/dist/index.js'), root);
}

function nodeServer(...args: string[]): StdioServer {
  return { type: 'stdio', command: process.execPath, args };
}

/** Has a server listen on this machine only, tell its port, and end when the test does. */
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
  /** Ends it at once. */
  kill(): Promise<void>;
}

/** The official server over HTTP, at a port that is free. @param port one to take again */
export async function everythingOverHttp(kind: 'streamableHttp' | 'sse', port = 0): Promise<HttpProcess> {
  const child = spawn(process.execPath, ['--import', TELL_PORT, EVERYTHING, kind], {
    env: { PATH: process.env['PATH'], PORT: String(port) },
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

/** Whether a process is there and does something. One that has ended and that nobody has asked about doesn't. */
export function isAlive(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return !/\) [ZX] /.test(stat);
  } catch {
    return false;
  }
}

/** The processes that this one has started and that are still there. */
export function childrenOf(pid: number): readonly number[] {
  const list = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return list.split(' ').filter(Boolean).map(Number).filter(isAlive);
}

/** Resolves when something is so. Others decide when; a look every turn of the event loop costs little. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => void setTimeout(resolve, 5));
}
