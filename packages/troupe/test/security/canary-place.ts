// A working directory, things outside of it that must not change or be reached, and runners with and without limits.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  realpathSync,
  rmSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import type { ConfinementProfile } from '../../src/toolkit/tool/confinement.ts';
import { shellTool } from '../../src/tools/process/shell-tool.ts';
import type { SystemUser } from '../../src/tools/process/run-process.ts';
import type { ToolResponse } from '../../src/toolkit/tool/tool-response.ts';

export const SECRET = 'canary-secret-7f3a';
/** Text in a pipe for another process. */
export const PIPED = 'canary-piped-51c0';
export const OLD = new Date('2020-01-01T00:00:00Z');
const SYSTEM_NODE = '/usr/bin/node';
/** A Node that programs in a sandbox can see. */
export const NODE = existsSync(SYSTEM_NODE) ? SYSTEM_NODE : process.execPath;

let tokens = 0;
/** An argument of `sleep` that identifies a process from outside its sandbox. */
export const newToken = (): string => `8${process.pid}.${Date.now()}${tokens++}`;

/** Processes with the text in their arguments. */
export function running(text: string): readonly number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => {
    try {
      const isDead = /\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
      return !isDead && readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(text);
    } catch {
      return false;
    }
  });
}

export interface Ran {
  readonly stdout: string;
  readonly stderr: string;
  readonly text: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** Listeners that note who reached them. */
export class Listeners {
  heard = 0;
  readonly #servers: Server[] = [];
  readonly #udp = createSocket('udp4');
  port = 0;
  port6 = 0;
  udpPort = 0;
  readonly abstract = `troupe-canary-${newToken()}`;

  static async start(): Promise<Listeners> {
    const all = new Listeners();
    all.port = await all.#listen({ host: '127.0.0.1', port: 0 });
    all.port6 = await all.#listen({ host: '::1', port: 0 }).catch(() => 0);
    await all.#listen({ path: `\0${all.abstract}` });
    all.#udp.on('message', () => all.heard++).bind(0, '127.0.0.1');
    await once(all.#udp, 'listening');
    all.udpPort = all.#udp.address().port;
    return all;
  }

  /** Listens at a path too. */
  async at(path: string): Promise<void> {
    await this.#listen({ path });
    chmodSync(path, 0o777);
  }

  async #listen(where: { host?: string; port?: number; path?: string }): Promise<number> {
    const server = createServer((socket) => {
      this.heard++;
      socket.on('error', () => {}).end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
    });
    this.#servers.push(server);
    server.listen(where);
    await once(server, 'listening');
    return (server.address() as AddressInfo).port ?? 0;
  }

  stop(): void {
    for (const server of this.#servers) server.close();
    this.#udp.close();
  }
}

/** Working folder `cwd` of confined programs, and folder `out`, closed to them. */
export class CanaryPlace {
  readonly base = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-canary-')));
  readonly cwd = join(this.base, 'cwd');
  readonly out = join(this.base, 'out');
  readonly token = newToken();
  readonly user: SystemUser | undefined;
  readonly victim: ChildProcess;
  /** Named pipes in the working directory: one that this process reads, and one with a text for another process. */
  readonly #pipe: number;
  readonly #feed: number;
  readonly #aside: string[] = [];

  constructor(user: SystemUser | undefined) {
    this.user = user;
    const files: Readonly<Record<string, string>> = {
      'cwd/.git/HEAD': 'ref: refs/heads/main\n',
      'cwd/.git/config': '[core]\n\trepositoryformatversion = 0\n',
      'cwd/.git/hooks/sample': '',
      'cwd/.git/objects/info/x': '',
      'cwd/.git/refs/heads/x': '',
      'cwd/.vscode/tasks.json': '{}',
      'cwd/.husky/pre-commit': 'true',
      'cwd/node_modules/.bin/tool': 'true',
      'cwd/libs/nested/.git/config': '[core]\n',
      'cwd/libs/nested/.git/hooks/sample': '',
      'cwd/package.json': '{}',
      'cwd/.env': `KEY=${SECRET}`,
      'cwd/src/a.txt': 'hello\n',
      'out/target': 'original',
      'out/secret': SECRET,
      'out/home/.bashrc': 'true\n',
      'out/home/.ssh/id_rsa': SECRET,
      'out/home/.aws/credentials': SECRET,
    };
    for (const [name, text] of Object.entries(files)) {
      const path = join(this.base, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text, { mode: 0o644 });
    }
    utimesSync(join(this.out, 'target'), OLD, OLD);
    this.#pipe = this.#openPipe('cwd/pipe');
    this.#feed = this.#openPipe('cwd/feed');
    writeSync(this.#feed, PIPED);
    if (user !== undefined) this.#give(this.base, user);
    this.victim = spawn('sleep', [newToken()], { env: { CANARY: SECRET }, stdio: 'ignore', ...user });
  }

  #give(path: string, { uid, gid }: SystemUser): void {
    chownSync(path, uid, gid);
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      const inner = join(path, entry.name);
      if (entry.isDirectory()) this.#give(inner, { uid, gid });
      else chownSync(inner, uid, gid);
    }
  }

  #openPipe(name: string): number {
    execFileSync('mkfifo', ['-m', '666', join(this.base, name)]);
    return openSync(join(this.base, name), constants.O_RDWR | constants.O_NONBLOCK);
  }

  /** Whether something was written to the pipe that this process reads. */
  get hasPiped(): boolean {
    try {
      return readSync(this.#pipe, Buffer.alloc(100)) > 0;
    } catch {
      return false; // the pipe is empty
    }
  }

  readonly at = (name: string): string => join(this.base, name);
  readonly read = (name: string): string => {
    try {
      return readFileSync(this.at(name), 'utf8');
    } catch {
      return '';
    }
  };
  readonly has = (name: string): boolean => existsSync(this.at(name));

  /** Runs a command as one that nobody was asked about. */
  async confined(command: string, profile: ConfinementProfile, timeout = 20): Promise<Ran> {
    const readPaths = NODE === SYSTEM_NODE ? [] : [dirname(NODE)];
    const tool = shellTool({
      cwd: this.cwd,
      readPaths,
      shell: '/bin/bash',
      ...(this.user && { runAs: this.user }),
    });
    const response = (await tool.execute(
      { command, timeout },
      {
        signal: new AbortController().signal,
        emit: () => {},
        call: { type: 'tool_use', id: 'c1', name: tool.name, input: {} },
        context: undefined,
        agentName: undefined,
        confinement: { profile, folders: [this.cwd] },
      },
    )) as ToolResponse;
    const text = String(response.content);
    this.#aside.push(/were set aside in (\S+):/.exec(text)?.[1] ?? '');
    const part = (name: string): string => new RegExp(`<${name}>(.*?)</${name}>`, 's').exec(text)?.[1] ?? '';
    return { stdout: part('stdout'), stderr: part('stderr'), text, metadata: response.metadata ?? {} };
  }

  /** Runs a command without any limits, as a control: what the canaries watch must be able to happen. */
  async free(command: string): Promise<Ran> {
    const env = { ...process.env, CANARY: SECRET };
    const child = spawn('/bin/bash', ['-c', command], {
      cwd: this.cwd,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      ...this.user,
    });
    let [stdout, stderr] = ['', ''];
    child.stdout.on('data', (chunk: Buffer) => void (stdout += chunk.toString('latin1')));
    child.stderr.on('data', (chunk: Buffer) => void (stderr += chunk.toString('latin1')));
    const timer = setTimeout(() => child.kill('SIGTERM'), 5000); // a busy machine starts Python slowly
    const end = setTimeout(() => child.kill('SIGKILL'), 5500);
    await once(child, 'exit');
    clearTimeout(timer);
    clearTimeout(end);
    await new Promise((resolve) => void setTimeout(resolve, 20));
    child.stdout.destroy();
    child.stderr.destroy();
    return { stdout, stderr, text: stdout + stderr, metadata: {} };
  }

  /** Processes that a command left behind. */
  survivors(): readonly number[] {
    return running(`sleep\0${this.token}`);
  }

  remove(): void {
    this.victim.kill('SIGKILL');
    for (const pid of this.survivors()) process.kill(pid, 'SIGKILL');
    for (const pipe of [this.#pipe, this.#feed]) closeSync(pipe);
    for (const path of [this.base, ...this.#aside.filter(Boolean)])
      rmSync(path, { recursive: true, force: true });
  }
}
