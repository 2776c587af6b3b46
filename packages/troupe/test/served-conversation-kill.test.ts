// A served conversation whose server is killed at random moments. Whatever the client was told is there when the server is back.
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { AgentEvent } from '../src/event/agent-event.ts';
import { readEvents } from '../src/event/read-events.ts';
import { RedisClient } from '../src/stores/redis/redis-client.ts';
import { PostgresDatabase } from '../src/stores/postgres/postgres-database.ts';
import { newId } from '../src/util/ids.ts';
import { bundle } from './bundle.ts';
import { sampleOf } from './fair-sample.ts';
import { hasPostgres, hasRedis, POSTGRES, REDIS_URL } from './servers.ts';
import type { PlaceKind } from './session-places.ts';

const MINUTE = 60_000;
const running = new Set<ChildProcess>();
let folder: string;
let program: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'troupe-served-'));
  program = await bundle('served-agent.ts', join(folder, 'out'), ['pg-native']);
}, MINUTE);

afterAll(async () => {
  for (const child of running) child.kill('SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

/** Makes an empty place for a session, and a function for its removal. */
async function newPlace(kind: PlaceKind): Promise<{ place: string; remove: () => Promise<void> }> {
  const id = newId().toLowerCase();
  if (kind === 'json' || kind === 'sqlite') return { place: join(folder, id), remove: async () => {} };
  if (kind === 'redis') {
    const remove = async (): Promise<void> => {
      const client = new RedisClient(REDIS_URL);
      const keys = (await client.send('KEYS', `{${id}}*`)) as string[];
      if (keys.length > 0) await client.send('DEL', ...keys);
      await client.close();
    };
    return { place: id, remove };
  }
  const query = async (sql: string): Promise<void> => {
    const db = new PostgresDatabase(POSTGRES);
    await db.query(sql);
    await db.close();
  };
  await query(`CREATE SCHEMA served_${id}`);
  return { place: `served_${id}`, remove: () => query(`DROP SCHEMA served_${id} CASCADE`) };
}

/** The server in a process of its own. */
class ServedAgent {
  readonly #child: ChildProcess;
  readonly #url: Promise<string>;
  readonly #ended: Promise<void>;

  constructor(kind: PlaceKind, place: string) {
    const args = ['--disable-warning=ExperimentalWarning', program, kind, place];
    this.#child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    running.add(this.#child);
    const output = createInterface({ input: this.#child.stdout ?? process.stdin });
    this.#url = new Promise((resolve) => output.once('line', (port) => resolve(`http://127.0.0.1:${port}/`)));
    this.#ended = new Promise((resolve) => {
      this.#child.on('close', () => {
        running.delete(this.#child);
        resolve();
      });
    });
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }

  async state(): Promise<State> {
    return (await (await fetch(await this.#url)).json()) as State;
  }

  /** Sends a text or decisions, and reads the events until the end, or until the server is killed. */
  async send(body: string, onEvent: (event: AgentEvent) => void): Promise<void> {
    try {
      const response = await fetch(await this.#url, { method: 'POST', body });
      for await (const event of readEvents(response)) onEvent(event);
    } catch {
      // killed
    }
  }
}

interface State {
  readonly msgs: readonly { readonly id: string; readonly text: string }[];
  readonly pending: readonly string[];
}

const KINDS: readonly [kind: PlaceKind, kills: number, isThere: boolean][] = [
  ['json', 200, true],
  ['sqlite', 150, true],
  ['postgres', 75, hasPostgres],
  ['redis', 75, hasRedis],
];

describe.each(KINDS)('a conversation saved in %s', (kind, all, isThere) => {
  const kills = sampleOf(`kills of a served conversation (${kind})`, all, 6);

  test.skipIf(!isThere)(
    `has everything that the client was told, after each of ${kills} kills`,
    async () => {
      const { place, remove } = await newPlace(kind);
      const answers = new Set<string>();
      let asked: string | undefined;
      let told = 0;
      for (let kill = 0; kill <= kills; kill++) {
        const server = new ServedAgent(kind, place);
        const { msgs, pending } = await server.state();
        const ids = new Set(msgs.map(({ id }) => id));
        expect([...answers].filter((id) => !ids.has(id))).toEqual([]);
        if (asked !== undefined) expect(pending).toContain(asked);
        if (kill === kills) {
          await server.kill();
          break;
        }
        let killed: Promise<void> | undefined;
        // At once when something is told, or some time after a request.
        const whenTold = kill % 3 !== 0 ? kill % 4 : Infinity;
        const timer = setTimeout(
          () => void (killed ??= server.kill()),
          whenTold === Infinity ? 5 + (kill % 40) : 20_000,
        );
        let count = 0;
        const onEvent = (event: AgentEvent): void => {
          if (killed !== undefined) return;
          if (event.type === 'approval_needed') asked = event.pending.id;
          else if (event.type !== 'run_end') return;
          else if (event.status === 'finished' && event.msg !== undefined) answers.add(event.msg.id);
          told++;
          if (count++ >= whenTold) killed ??= server.kill();
        };
        asked = pending[0];
        for (let turn = kill; killed === undefined; turn++) {
          const decided: string | undefined = asked;
          const decision = { id: decided, verdict: 'allow' };
          asked = undefined;
          const isDecision = decided !== undefined;
          await server.send(
            isDecision ? JSON.stringify({ decisions: [decision] }) : ['hello', 'pay'][turn % 2]!,
            onEvent,
          );
        }
        clearTimeout(timer);
        await killed;
      }
      expect(told).toBeGreaterThan(kills / 2);
      expect(answers.size).toBeGreaterThan(kills / 4);
      await remove();
    },
    20 * MINUTE,
  );
});
