// A served conversation whose server is killed at random moments. Whatever the client was told is there when the server is back.
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
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

/** The server in a process of its own, which gets ready while another one still serves. */
class ServedAgent {
  readonly #child: ChildProcess;
  readonly #url: Promise<string>;
  readonly #ended: Promise<void>;

  constructor(kind: PlaceKind, place: string) {
    const args = ['--disable-warning=ExperimentalWarning', program, kind, place, paidFile(place)];
    const env = { ...process.env, NODE_COMPILE_CACHE: join(folder, 'cache') };
    this.#child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'], env });
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

  /** Has the server load and serve a conversation. */
  open(conversation: string): void {
    this.#child.stdin?.write(`${conversation}\n`);
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

/** Where the tool calls that have paid are noted. */
const paidFile = (place: string): string => join(folder, `${basename(place)}-paid.txt`);

/** Kills for each store, and in one conversation: the first saves of a session are killed as well. */
const KILLS = 500;
const KILLS_PER_CONVERSATION = 50;

const KINDS: readonly [kind: PlaceKind, isThere: boolean][] = [
  ['json', true],
  ['sqlite', true],
  ['postgres', hasPostgres],
  ['redis', hasRedis],
];

/** A client of one conversation, with notes of all answers and questions. */
class Client {
  readonly answers = new Set<string>();
  /** Number of answers and questions told. */
  told = 0;
  #asked: string | undefined;

  /** Answers and questions of earlier servers that a new server does not have. */
  missingIn({ msgs, pending }: State): string[] {
    const ids = new Set([...msgs.map(({ id }) => id), ...pending]);
    const told = this.#asked === undefined ? [...this.answers] : [...this.answers, this.#asked];
    this.#asked = pending[0];
    return told.filter((id) => !ids.has(id));
  }

  /** Talks to a server until it is killed: at once when something is told, or some time after the first request. */
  async talk(server: ServedAgent, kill: number): Promise<void> {
    let killed: Promise<void> | undefined;
    const end = (): void => void (killed ??= server.kill());
    const whenTold = kill % 3 !== 0 ? kill % 4 : Infinity;
    const timer = setTimeout(end, whenTold === Infinity ? (kill * 7) % 40 : 20_000);
    let count = 0;
    const onEvent = (event: AgentEvent): void => {
      if (killed !== undefined) return;
      if (event.type === 'approval_needed') this.#asked = event.pending.id;
      else if (event.type !== 'run_end') return;
      else if (event.status === 'finished' && event.msg !== undefined) this.answers.add(event.msg.id);
      this.told++;
      if (count++ >= whenTold) end();
    };
    for (let turn = kill; killed === undefined; turn++) {
      const decided = this.#asked;
      const decision = { id: decided, verdict: 'allow' };
      this.#asked = undefined;
      await server.send(
        decided !== undefined ? JSON.stringify({ decisions: [decision] }) : ['hello', 'pay'][turn % 2]!,
        onEvent,
      );
    }
    clearTimeout(timer);
    await killed;
  }
}

describe.each(KINDS)('a conversation saved in %s', (kind, isThere) => {
  const kills = sampleOf(`kills of a served conversation (${kind})`, KILLS, 6);

  test.skipIf(!isThere)(
    `has everything that the client was told, and paid nothing twice, after each of ${kills} kills`,
    async () => {
      const { place, remove } = await newPlace(kind);
      const clients: Client[] = [];
      let next = new ServedAgent(kind, place);
      for (let done = 0; done < kills; done += KILLS_PER_CONVERSATION) {
        const client = new Client();
        for (let kill = done; ; kill++) {
          const server = next;
          next = new ServedAgent(kind, place);
          server.open(`chat-${clients.length}`);
          expect(client.missingIn(await server.state())).toEqual([]);
          if (kill === Math.min(done + KILLS_PER_CONVERSATION, kills)) {
            await server.kill();
            break;
          }
          await client.talk(server, kill);
        }
        clients.push(client);
      }
      await next.kill();
      const count = (of: (client: Client) => number): number =>
        clients.reduce((sum, client) => sum + of(client), 0);
      expect(count(({ told }) => told)).toBeGreaterThan(kills / 2);
      expect(count(({ answers }) => answers.size)).toBeGreaterThan(kills / 4);
      const paid = (await readFile(paidFile(place), 'utf8')).trim().split('\n');
      expect(paid.length).toBeGreaterThan(kills / 10);
      expect(paid).toEqual([...new Set(paid)]);
      await remove();
    },
    20 * MINUTE,
  );
});
