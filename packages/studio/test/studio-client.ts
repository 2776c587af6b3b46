// A Studio on a free port of this machine with a folder of its own, and a client like its page: login, requests, live connection.

import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WebSocket } from 'ws';

import type { LiveMessage, LiveRequest, RunEntry } from '../src/protocol.ts';
import { startStudio, type Studio, type StudioOptions } from '../src/start-studio.ts';

export interface Answer {
  readonly status: number;
  readonly body: any;
  readonly headers: Headers;
}

/** A page: requests with the cookie, and one live connection. */
export class StudioClient {
  readonly studio: Studio;
  #cookie = '';

  constructor(studio: Studio) {
    this.studio = studio;
  }

  get cookie(): string {
    return this.#cookie;
  }

  async login(): Promise<this> {
    const { headers } = await this.post('api/login', { token: this.studio.token });
    this.#cookie = headers.getSetCookie()[0]?.split(';', 1)[0] ?? '';
    return this;
  }

  get(path: string): Promise<Answer> {
    return this.#request('GET', path);
  }

  post(path: string, body: unknown): Promise<Answer> {
    return this.#request('POST', path, body);
  }

  act(runId: string, action: object): Promise<Answer> {
    return this.post(`api/runs/${runId}/actions`, { action, windowId: 'test' });
  }

  async #request(method: string, path: string, body?: unknown): Promise<Answer> {
    const response = await fetch(`${this.studio.url}/${path}`, {
      method,
      headers: {
        cookie: this.#cookie,
        ...(method === 'POST' && {
          origin: this.studio.url,
          'content-type': 'application/json',
          'x-troupe-studio': '1',
        }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: text === '' ? undefined : JSON.parse(text),
    };
  }

  async live(): Promise<LiveClient> {
    const socket = new WebSocket(`${this.studio.url.replace('http', 'ws')}/api/live`, {
      headers: { cookie: this.#cookie, origin: this.studio.url },
    });
    const client = new LiveClient(socket);
    await once(socket, 'open');
    return client;
  }
}

/** A live connection that keeps all messages. */
export class LiveClient {
  readonly messages: LiveMessage[] = [];
  readonly closed: Promise<number>;
  readonly #socket: WebSocket;
  readonly #waiting = new Set<() => void>();

  constructor(socket: WebSocket) {
    this.#socket = socket;
    this.closed = new Promise((resolve) => socket.on('close', (code) => resolve(code)));
    socket.on('message', (data) => {
      this.messages.push(JSON.parse((data as Buffer).toString()) as LiveMessage);
      for (const check of this.#waiting) check();
    });
  }

  send(request: LiveRequest): void {
    this.#socket.send(JSON.stringify(request));
  }

  close(): void {
    this.#socket.close();
  }

  get socket(): WebSocket {
    return this.#socket;
  }

  /** Entries of a run so far. */
  entries(runId: string): RunEntry[] {
    return this.messages.flatMap((message) =>
      message.type === 'entries' && message.runId === runId ? [...message.entries] : [],
    );
  }

  /** Resolves as soon as `find` finds something in the messages so far. */
  until<T>(find: (client: this) => T | undefined): Promise<T> {
    return new Promise((resolve) => {
      const check = (): void => {
        const found = find(this);
        if (found === undefined) return;
        this.#waiting.delete(check);
        resolve(found);
      };
      this.#waiting.add(check);
      check();
    });
  }

  /** Resolves to the first entry of a run that fits. */
  entry(runId: string, fits: (entry: RunEntry) => boolean): Promise<RunEntry> {
    return this.until((client) => client.entries(runId).find(fits));
  }
}

/** A new folder that `remove` removes. */
export function temporaryFolder(): { readonly dir: string; readonly remove: () => void } {
  const dir = mkdtempSync(join(tmpdir(), 'troupe-studio-'));
  return { dir, remove: () => rmSync(dir, { recursive: true, force: true }) };
}

/** Studios and folders of one test file, closed together. */
export class Studios {
  readonly #closers: (() => unknown)[] = [];

  async start(options: StudioOptions = {}): Promise<StudioClient> {
    const { dir, remove } = temporaryFolder();
    this.#closers.push(remove);
    const studio = await startStudio({ port: 0, dir, tokenDir: dir, log: () => {}, ...options });
    this.#closers.push(() => studio.close());
    return new StudioClient(studio).login();
  }

  folder(): string {
    const { dir, remove } = temporaryFolder();
    this.#closers.push(remove);
    return dir;
  }

  async closeAll(): Promise<void> {
    for (const close of this.#closers.splice(0).toReversed()) await close();
  }
}
