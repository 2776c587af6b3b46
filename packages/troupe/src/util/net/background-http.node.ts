/** Requests that do not keep the program running, for Node. `background-http.browser.ts` is the version for browsers. */
import type { IncomingMessage } from 'node:http';
import { homedir, hostname } from 'node:os';
import { join } from 'node:path';

import type { BackgroundAnswer, BackgroundRequest } from './background-http.ts';

/** Sends a request. The program may end before the answer, unless `holdProgram` keeps it running. */
export async function requestInBackground(
  url: string,
  { method, headers = {}, body, signal }: BackgroundRequest,
): Promise<BackgroundAnswer> {
  // Loaded by the first request: the root entry loads no network modules.
  const { request: send } = url.startsWith('https:') ? await import('node:https') : await import('node:http');
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const request = send(url, { method, headers: { ...headers, ...length }, signal, agent: false });
    request.on('socket', (socket) => socket.unref());
    request.on('error', reject);
    request.on('response', (response) =>
      resolve({ status: response.statusCode ?? 0, chunks: chunksOf(response) }),
    );
    request.end(body);
  });
}

async function* chunksOf(response: IncomingMessage): AsyncGenerator<string, void, void> {
  for await (const chunk of response.setEncoding('utf8')) yield chunk as string;
}

/** Keeps the program running until the returned function is called. */
export function holdProgram(): () => void {
  const timer = setInterval(() => {}, 0x3fffffff);
  return () => clearInterval(timer);
}

/** Calls back once when the program has nothing more to do; it ends after the callback. The returned function removes the callback. */
export function onProgramEnd(callback: () => void): () => void {
  process.once('beforeExit', callback);
  return () => void process.off('beforeExit', callback);
}

/** Process id and name of the machine. */
export function programFacts(): { readonly pid?: number; readonly host?: string } {
  return { pid: process.pid, host: hostname() };
}

/** Folder in which a Studio of this user keeps its token files. */
export function studioFolder(): string {
  return process.env['TROUPE_STUDIO_DIR'] || join(homedir(), '.troupe', 'studio');
}

/** Token of the Studio of this user on a port of this machine, if there is one. */
export async function savedStudioToken(port: string): Promise<string | undefined> {
  const { readFile } = await import('node:fs/promises');
  try {
    return (await readFile(join(studioFolder(), `token-${port}`), 'utf8')).trim();
  } catch {
    return undefined; // no Studio of this user
  }
}
