import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../src/util/ids.ts';
import { PostgresDatabase } from '../src/stores/postgres/postgres-database.ts';
import { RedisClient } from '../src/stores/redis/redis-client.ts';
import { bundle } from './bundle.ts';
import { hasPostgres, hasRedis, POSTGRES, REDIS_URL } from './servers.ts';
import { Diary } from './session-diary.ts';
import { openPlace, POINTS, type PlaceKind } from './session-places.ts';
import { RUNS_IN_FULL, sampleOf } from './fair-sample.ts';

const MINUTE = 60_000;

let folder: string;
let program: string;
const running = new Set<ChildProcess>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'troupe-kill-'));
  program = await bundle('session-writer.ts', join(folder, 'out'), ['pg-native']);
}, MINUTE);

afterAll(async () => {
  for (const child of running) child.kill('SIGKILL');
  await rm(folder, { recursive: true, force: true });
  if (hasPostgres) {
    const db = new PostgresDatabase(POSTGRES);
    for (const schema of schemas) await db.query(`DROP SCHEMA ${schema} CASCADE`);
    await db.close();
  }
  if (hasRedis) {
    const client = new RedisClient(REDIS_URL);
    for (const prefix of prefixes) {
      const keys = (await client.send('KEYS', `{${prefix}}*`)) as string[];
      if (keys.length > 0) await client.send('DEL', ...keys);
    }
    await client.close();
  }
});

const schemas: string[] = [];
const prefixes: string[] = [];

async function newPlace(kind: PlaceKind): Promise<string> {
  const id = newId().toLowerCase();
  if (kind === 'json' || kind === 'sqlite') return join(folder, id);
  if (kind === 'redis') {
    prefixes.push(id);
    return id;
  }
  const db = new PostgresDatabase(POSTGRES);
  await db.query(`CREATE SCHEMA kill_${id}`);
  await db.close();
  schemas.push(`kill_${id}`);
  return `kill_${id}`;
}

/** A writer in a process of its own. */
class Writer {
  readonly lines: string[] = [];
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  #onLine: () => void = () => {};

  constructor(...args: readonly (string | number)[]) {
    const flags = ['--disable-warning=ExperimentalWarning'];
    this.#child = spawn(process.execPath, [...flags, program, ...args.map(String)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    running.add(this.#child);
    const output = createInterface({ input: this.#child.stdout ?? process.stdin });
    output.on('line', (line) => {
      this.lines.push(line);
      this.#onLine();
    });
    this.#ended = new Promise((resolve) => {
      this.#child.on('close', () => {
        running.delete(this.#child);
        resolve();
        this.#onLine();
      });
    });
  }

  /** Waits for a line, or the end. */
  async says(beginning: string): Promise<void> {
    while (running.has(this.#child) && !this.lines.some((line) => line.startsWith(beginning))) {
      await new Promise<void>((resolve) => (this.#onLine = resolve));
    }
  }

  async end(): Promise<readonly string[]> {
    await this.#ended;
    return this.lines;
  }

  go(): void {
    this.#child.stdin?.end('go\n');
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** The last save that was acknowledged. */
  get saved(): number {
    return Math.max(
      0,
      ...this.lines.flatMap((line) => (line.startsWith('saved ') ? Number(line.slice(6)) : [])),
    );
  }
}

async function load(kind: PlaceKind, place: string): Promise<Diary> {
  await using session = openPlace(kind, place);
  const diary = new Diary();
  await session.load('diary', { diary });
  diary.check();
  return diary;
}

/** Number of kills of each kind: at each of its points, and at random moments. */
const ALL_KINDS: readonly [kind: PlaceKind, perPoint: number, atRandom: number, isThere: boolean][] = [
  ['json', 26, 76, true],
  ['sqlite', 14, 42, true],
  ['postgres', 8, 16, hasPostgres],
  ['redis', 8, 16, hasRedis],
];
const KINDS = ALL_KINDS.map(([kind, perPoint, atRandom, isThere]) => {
  const rounds = sampleOf(`rounds of kills at every point of a save (${kind})`, perPoint, 1);
  const moments = sampleOf(`kills at a random moment of a save (${kind})`, atRandom, 4);
  return [kind, rounds, moments, isThere] as const;
});
const EXPECTED_KILLS = KINDS.filter(([, , , isThere]) => isThere).reduce(
  (sum, [kind, perPoint, atRandom]) => sum + perPoint * POINTS[kind].length + atRandom,
  0,
);
let kills = 0;

describe.concurrent.each(KINDS.filter(([, , , isThere]) => isThere))('%s', (kind, perPoint, atRandom) => {
  test(
    'a process that is killed at any point of a save leaves the last state or the new one',
    async () => {
      const place = await newPlace(kind);
      const outcomes = new Set<string>();
      let known = 0;
      for (let round = 0; round < perPoint; round++) {
        for (const [index, point] of POINTS[kind].entries()) {
          const saves = 1 + ((round + index) % 3);
          const writer = new Writer(kind, place, 'kill', point, saves);
          const lines = await writer.end();
          expect(lines.at(-1), lines.join('\n')).toBe(`at ${point}`);
          kills++;
          known = Math.max(known, writer.saved);
          const { day } = await load(kind, place);
          expect([known, known + 1], `after ${point}`).toContain(day);
          outcomes.add(`${point}: ${day === known ? 'old' : 'new'}`);
          known = day;
        }
      }
      const points = new Set(Array.from(outcomes, (outcome) => outcome.replace(/:.*/, '')));
      expect([...points].sort()).toStrictEqual([...POINTS[kind]].sort());
      expect(Array.from(outcomes, (outcome) => outcome.slice(-3)).sort()[0]).toBe('new');
      if (kind === 'json') expect((await readdir(join(place, 'sessions', 'diary'))).length).toBeLessThan(40);
    },
    4 * MINUTE,
  );

  test(
    'a process that is killed at a random moment leaves the last state or the new one',
    async () => {
      const place = await newPlace(kind);
      let known = 0;
      let inside = 0;
      for (let round = 0; round < atRandom; round++) {
        const writer = new Writer(kind, place, 'churn');
        await writer.says('saved');
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 40));
        writer.signal('SIGKILL');
        const lines = await writer.end();
        kills++;
        if (lines.at(-1)?.startsWith('saving ')) inside++;
        known = Math.max(known, writer.saved);
        const { day } = await load(kind, place);
        expect([known, known + 1], lines.slice(-5).join('\n')).toContain(day);
        known = day;
      }
      expect(inside).toBeGreaterThan(RUNS_IN_FULL ? atRandom / 2 : 0);
    },
    4 * MINUTE,
  );

  test(
    'processes that add to one session at once lose nothing',
    async () => {
      const groups = [
        [3, sampleOf(`saves of each of 3 processes at once (${kind})`, kind === 'json' ? 200 : 60, 40)],
        [2, 50],
      ] as const;
      for (const [processes, count] of groups.slice(
        0,
        sampleOf('groups of processes that save at once', 2, 1),
      )) {
        const place = await newPlace(kind);
        const names = Array.from({ length: processes }, (_, i) => `writer${i}`);
        const writers = names.map((name) => new Writer(kind, place, 'append', name, count));
        for (const writer of writers) await writer.says('ready');
        for (const writer of writers) writer.go();
        const conflicts = await Promise.all(
          writers.map(async (writer) => {
            const lines = await writer.end();
            expect(lines, lines.join('\n')).toStrictEqual([
              'ready',
              expect.stringMatching(/^conflicts \d+$/),
              'end',
            ]);
            return Number(lines[1]?.split(' ')[1]);
          }),
        );
        const texts = (await load(kind, place)).pages.map(({ text }) => text.replace(/\.+$/, ''));
        const expected = names.flatMap((name) => Array.from({ length: count }, (_, i) => `${name} ${i}`));
        expect(texts.toSorted()).toStrictEqual(expected.sort());
        expect(conflicts.reduce((sum, some) => sum + some, 0)).toBeGreaterThan(0);
      }
    },
    4 * MINUTE,
  );

  test(
    'a process that was stopped while another saved gets a conflict',
    async () => {
      // A stopped transaction that has written holds its lock: the other process would wait.
      const points = POINTS[kind].slice(0, kind === 'json' ? 3 : kind === 'sqlite' ? 1 : 2);
      for (const point of points) {
        const place = await newPlace(kind);
        const writer = new Writer(kind, place, 'kill', 'nowhere', 2);
        await writer.end();
        const stopped = new Writer(kind, place, 'stop', point);
        await stopped.says('at ');
        await using session = openPlace(kind, place);
        const diary = new Diary();
        await session.load('diary', { diary });
        diary.write(10, 'meanwhile');
        await session.save('diary', { diary });
        // Again and again: the process may have printed its line, and not have stopped itself yet.
        const again = setInterval(() => stopped.signal('SIGCONT'), 100);
        const lines = await stopped.end().finally(() => clearInterval(again));
        expect(lines.at(-2), lines.join('\n')).toMatch(/^SessionConflictError: /);
        const { pages } = await load(kind, place);
        expect(pages).toStrictEqual(diary.pages);
      }
    },
    MINUTE,
  );
});

test('enough processes were killed', () => {
  expect(kills).toBe(EXPECTED_KILLS);
  if (RUNS_IN_FULL) expect(kills).toBeGreaterThanOrEqual(hasPostgres && hasRedis ? 500 : 400);
});
