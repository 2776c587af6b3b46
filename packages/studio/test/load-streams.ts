// A Studio in a process of its own, and 50 runs that stream into it.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { join } from 'node:path';

import type { Studio } from '../src/start-studio.ts';
import { StudioClient } from './studio-client.ts';

export const TOKEN = 'token-of-the-test-0123456789';
export const RUNS = Array.from({ length: 50 }, (_, i) => `run-${i}`);
export const MIB = 1024 * 1024;

/** A Studio in a process of its own. */
export interface LoadedStudio {
  readonly url: string;
  readonly page: StudioClient;
  /** Bytes of live objects of the process. */
  readonly memory: () => Promise<number>;
  readonly close: () => Promise<void>;
}

/** Starts a Studio in a process of its own, without anything else in it. */
export async function startLoaded(dir: string): Promise<LoadedStudio> {
  const flags = ['--expose-gc', '--conditions=troupe:source', '--experimental-transform-types'];
  const file = join(import.meta.dirname, 'load-process.ts');
  const child = spawn(
    process.execPath,
    [...flags, '--disable-warning=ExperimentalWarning', file, dir, TOKEN],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  );
  const close = async (): Promise<void> => {
    child.kill('SIGKILL');
    await once(child, 'close');
  };
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const { value: url = '' } = (await lines.next()) as { value?: string };
  const memory = async (): Promise<number> => {
    child.stdin.write('\n');
    return Number((await lines.next()).value);
  };
  return { url, page: await new StudioClient({ url, token: TOKEN } as Studio).login(), memory, close };
}

/** Sends one delta of each run in each batch. */
export class Streams {
  readonly #url: string;
  #number = 0;

  constructor({ studio }: StudioClient) {
    this.#url = studio.url;
  }

  async open(): Promise<void> {
    const run = { project: 'load', name: 'x', createdAt: '2026-01-01T00:00:00.000Z' };
    await this.#send(RUNS.map((runId) => ({ runId, kind: 'run', run })));
    await this.#send(RUNS.map((runId) => this.#event(runId, { type: 'reply_start', name: 'Friday' })));
  }

  async deltas(text: string): Promise<void> {
    await this.#send(
      RUNS.map((runId) => this.#event(runId, { type: 'text_delta', msgId: 'm', index: 0, text })),
    );
  }

  #event(runId: string, event: object): object {
    const base = { runId: 'c', replyId: `reply of ${runId}`, agentPath: ['Friday'], seq: this.#number };
    return {
      runId,
      kind: 'event',
      agentId: 'a',
      event: { ...base, timestamp: '2026-01-01T00:00:00.000Z', ...event },
    };
  }

  async #send(items: readonly object[]): Promise<void> {
    const program = { id: 'p1', library: 'x', protocol: 1 };
    const { status } = await fetch(`${this.#url}/program/batches`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify({ program, number: ++this.#number, dropped: 0, items }),
    });
    assert.equal(status, 200);
  }
}
