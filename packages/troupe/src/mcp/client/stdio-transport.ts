import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';

import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';

import { getLogger } from '../../config/run-config.ts';
import { startTimer } from '../../util/clock.ts';
import { childEnvironment } from '../../util/platform/child-environment.node.ts';
import { isJsonObject, parseJson } from '../../util/json.ts';
import type { SecretWords } from '../../util/redaction/secret-words.ts';
import { endWithProgram, signalGroup } from '../../util/platform/process-group.node.ts';
import { oneLine } from '../../util/text.ts';
import { mcpClientSdk } from '../protocol/sdk.ts';
import { LineSplitter } from './line-splitter.ts';
import type { StdioServer } from './mcp-transport.ts';

/**
 * Delays after closing the server's input: until SIGTERM, until SIGKILL, and until nobody waits any longer.
 */
const END_MS = { terminate: 500, kill: 2000, giveUp: 4000 };
/** Maximum wait for remaining output after the process has ended. */
const FINAL_OUTPUT_MS = 250;
const MAX_LOG_CHARS = 2000;
/** Maximum lines of standard error in an error. */
const MAX_LAST_LINES = 10;

/**
 * Server as a child process: started without a shell, with a restricted environment, as leader of a process
 * group. When the server ends or is closed, the whole group is killed, including helper processes.
 */
export class StdioTransport implements Transport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: Transport['onmessage'];
  readonly #server: StdioServer;
  readonly #splitter: LineSplitter;
  readonly #secrets: SecretWords;
  #lines: string[] = [];
  readonly #over = Promise.withResolvers<void>();
  #child: ChildProcessWithoutNullStreams | undefined;
  #stopTracking = (): void => {};
  #isOver = false;
  #isClosing = false;
  #hasExited = false;
  /** Standard error that is logged, without secrets. */
  #stderr = '';
  /** Standard error after its last complete line: it may end within a secret. */
  #unlogged = '';
  /** Reason for the end of the process, if known. */
  problem: string | undefined;

  /** @param secrets remembers the values of the server's environment, which its errors and log lines may repeat */
  constructor(server: StdioServer, maxMessageBytes: number, secrets: SecretWords) {
    this.#server = server;
    this.#secrets = secrets;
    secrets.rememberWhole(Object.values(server.env ?? {}));
    this.#splitter = new LineSplitter(maxMessageBytes);
  }

  async start(): Promise<void> {
    const { command, args = [], env, cwd } = this.#server;
    const child = spawn(command, args, {
      cwd,
      env: childEnvironment(env),
      stdio: 'pipe',
      detached: process.platform !== 'win32', // a process group of its own
      shell: false,
      windowsHide: true,
    });
    this.#child = child;
    this.#stopTracking = endWithProgram(child);
    child.stdout.on('data', (chunk: Buffer) => this.#read(chunk));
    child.stderr.setEncoding('utf8').on('data', (text: string) => this.#onStderr(text));
    child.stdout.once('end', () => this.#onClosed('output'));
    child.stdin.on('error', () => this.#onClosed('input'));
    for (const stream of [child.stdout, child.stderr]) stream.on('error', () => {}); // 'exit' follows
    child.once('exit', (code, signal) => this.#onExit(code, signal));
    try {
      await once(child, 'spawn');
    } catch (error) {
      this.#finish();
      if (cwd === undefined || !isNotFound(error)) throw error;
      throw new Error(`there is no program ${command}, or no folder ${cwd}`, { cause: error });
    }
    child.on('error', (error) => this.onerror?.(error));
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin;
    if (stdin === undefined || this.#isOver || this.#isClosing) throw new Error('The server has ended.');
    await new Promise<void>((resolve, reject) => {
      const closed = new Error('it no longer reads its standard input');
      // The process has most likely ended; its exit code is known in a moment.
      const fail = (): void => void this.#over.promise.then(() => reject(closed));
      stdin.write(mcpClientSdk.serializeMessage(message), (error) => (error ? fail() : resolve()));
    });
  }

  /** Resolves when the process has ended. */
  async close(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    if (!this.#isClosing && !this.#isOver) {
      this.#isClosing = true;
      child.stdin.end(); // asks the server to end
      const timers = [
        startTimer(END_MS.terminate, () => signalGroup(child, 'SIGTERM')),
        startTimer(END_MS.kill, () => signalGroup(child, 'SIGKILL')),
        startTimer(END_MS.giveUp, () => this.#finish()),
      ];
      void this.#over.promise.then(() => timers.forEach((cancel) => cancel()));
    }
    await this.#over.promise;
  }

  #read(chunk: Buffer): void {
    if (this.#isClosing) return; // nobody waits for answers any more
    try {
      this.#lines.push(...this.#splitter.push(chunk));
    } catch {
      this.problem = 'It sent a message that is larger than maxMessageBytes.';
      this.#abandon();
      return;
    }
    this.#deliver();
  }

  #deliver(): void {
    for (const [i, line] of this.#lines.entries()) {
      const isNotification = this.#handle(line);
      if (!isNotification) continue;
      // The SDK client handles a notification asynchronously, and ignores progress of an answered request; so
      // the next message waits.
      this.#lines = this.#lines.slice(i + 1);
      queueMicrotask(() => queueMicrotask(() => this.#deliver()));
      return;
    }
    this.#lines = [];
  }

  /** Handles a message. Returns true for a notification. */
  #handle(line: string): boolean {
    try {
      const received = mcpClientSdk.deserializeMessage(line);
      const message = isFailure(received) ? this.#withoutSecrets(line) : received;
      this.onmessage?.(message);
      return !('id' in message);
    } catch (error) {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
      const id = answeredId(line);
      if (id !== undefined) this.onmessage?.({ jsonrpc: '2.0', id, error: UNREADABLE });
      return false;
    }
  }

  /** Ends a server that closed a pipe but does not exit: it can't be used any more. */
  #onClosed(pipe: string): void {
    const cancel = startTimer(FINAL_OUTPUT_MS, () => {
      if (this.#isClosing || this.#hasExited) return;
      this.problem = `It closed its standard ${pipe}.`;
      this.#abandon();
    });
    void this.#over.promise.then(cancel);
  }

  /** Kills a server that can't be used. */
  #abandon(): void {
    this.#isClosing = true;
    this.#child?.stdout.destroy();
    if (this.#child !== undefined) signalGroup(this.#child, 'SIGKILL');
  }

  #onExit(code: number | null, signal: NodeJS.Signals | null): void {
    const child = this.#child;
    if (child === undefined) return;
    this.#hasExited = true;
    const how = signal === null ? `It ended with the exit code ${code}.` : `It was ended by ${signal}.`;
    if (!this.#isClosing) this.problem ??= how; // otherwise the end was requested
    signalGroup(child, 'SIGKILL'); // helper processes would keep the pipes open
    const cancel = startTimer(FINAL_OUTPUT_MS, () => this.#finish());
    child.once('close', () => this.#finish());
    void this.#over.promise.then(cancel);
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#log(this.#unlogged);
    this.#stopTracking();
    const child = this.#child;
    for (const stream of [child?.stdin, child?.stdout, child?.stderr]) stream?.destroy();
    this.#lines = [];
    this.#over.resolve();
    this.onclose?.();
  }

  /** The last lines on standard error, on one line, without secrets of `env`. Untrusted. */
  get lastOutput(): string {
    const lines = this.#stderr.split('\n').map((line) => oneLine(line).trim());
    return lines
      .filter((line) => line !== '')
      .slice(-MAX_LAST_LINES)
      .join(' | ');
  }

  /** Logs complete lines, and of a line without an end all but its last characters. */
  #onStderr(text: string): void {
    const shown = this.#secrets.hide(this.#unlogged + text);
    const end = Math.max(shown.lastIndexOf('\n') + 1, shown.length - MAX_LOG_CHARS);
    this.#unlogged = shown.slice(end);
    this.#log(shown.slice(0, end));
  }

  #log(shown: string): void {
    if (shown.trim() === '') return;
    this.#stderr = (this.#stderr + shown).slice(-MAX_LOG_CHARS);
    getLogger().log('debug', shown.slice(0, MAX_LOG_CHARS).trimEnd());
  }

  #withoutSecrets(line: string): JSONRPCMessage {
    return mcpClientSdk.deserializeMessage(JSON.stringify(this.#secrets.hideIn(parseJson(line))));
  }
}

/** True for an error, and for a tool result that is one. */
function isFailure(message: JSONRPCMessage): boolean {
  return 'error' in message || ('result' in message && message.result['isError'] === true);
}

function isNotFound(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

const UNREADABLE = { code: -32603, message: 'the answer is not a message of the protocol' };

/** Id of the request that an invalid message answers, if any. */
function answeredId(line: string): number | undefined {
  try {
    const message: unknown = parseJson(line);
    return isJsonObject(message) && typeof message['id'] === 'number' && !('method' in message)
      ? message['id']
      : undefined;
  } catch {
    return undefined; // not JSON either
  }
}
