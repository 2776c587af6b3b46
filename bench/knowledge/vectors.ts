/**
 * 100 000 chunks of 384 dimensions in the embedded store, beside other engines in the same run: time to build, times
 * of queries, memory and recall@10 against brute force. Each engine has its own process.
 *
 *     npm run bench -- --vectors [--only sqlite,sqlite-hybrid,memory,usearch,hnswlib]
 *
 * `usearch` and `hnswlib-node` are measured where they can be found: in this folder, or in the one that BENCH_MODULES names.
 */
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { InMemoryVectorStore, type StoredChunk, type VectorStoreBase } from 'troupe/knowledge';
import { SqliteVectorStore } from 'troupe/stores/sqlite';

const DIMENSIONS = 384;
const CLUSTERS = 1000;
const QUERIES = 100;
const NEAREST = 10;
const BATCH = 1000;
const ENGINES = ['sqlite', 'sqlite-hybrid', 'memory', 'usearch', 'hnswlib'];
/** Candidates that a search of `hnswlib` looks at. */
const EF = 200;

type Vector = Float32Array<ArrayBuffer>;
/** Finds the numbers of the nearest vectors. */
type Search = (query: Vector, words: string) => Promise<readonly number[]>;

interface Engine {
  readonly search: Search;
  readonly close: () => Promise<void>;
}

/** Measures engines, each in a process of its own; or the one engine of this process. */
export async function measureVectors(only = ENGINES.join(','), count = 100_000): Promise<void> {
  const names = only.split(',');
  const [name = ''] = names;
  if (process.env['BENCH_ENGINE'] === name) return measure(name, count);
  console.log(
    `${count} chunks of ${DIMENSIONS} dimensions in ${CLUSTERS} clusters, ${QUERIES} queries, 10 nearest\n`,
  );
  console.log('engine          build s   CPU s   p50 ms   p99 ms   memory MB   recall@10');
  for (const engine of names) {
    const args = [
      ...process.execArgv,
      process.argv[1] ?? '',
      '--vectors',
      '--only',
      engine,
      '--count',
      `${count}`,
    ];
    spawnSync(process.execPath, args, { stdio: 'inherit', env: { ...process.env, BENCH_ENGINE: engine } });
  }
}

async function measure(name: string, count: number): Promise<void> {
  const random = seeded(7);
  const centers = Array.from({ length: CLUSTERS }, () => gaussian(random));
  const vectors = Array.from({ length: count }, (_, index) => near(centers[index % CLUSTERS], random));
  const queries = Array.from({ length: QUERIES }, () =>
    near(centers[Math.floor(random() * CLUSTERS)], random),
  );
  const lengths = vectors.map((vector) => Math.sqrt(dot(vector, vector)));
  const start = performance.now();
  const expected = queries.map((query) => bruteForce(query, vectors, lengths));
  const bruteMs = (performance.now() - start) / QUERIES;
  globalThis.gc?.();
  const before = process.memoryUsage.rss();
  const [built, cpu] = [performance.now(), process.cpuUsage()];
  const engine = await build(name, vectors);
  if (engine === undefined) return console.log(`${name.padEnd(15)} not installed`);
  const [buildMs, { user, system }] = [performance.now() - built, process.cpuUsage(cpu)];
  const times: number[] = [];
  let hits = 0;
  for (const [index, query] of queries.entries()) {
    const asked = performance.now();
    const found = await engine.search(query, wordsOf(index));
    times.push(performance.now() - asked);
    hits += found.slice(0, NEAREST).filter((one) => expected[index]?.includes(one)).length;
  }
  const memory = process.memoryUsage.rss() - before;
  times.sort((a, b) => a - b);
  const cells = [
    (buildMs / 1000).toFixed(1).padStart(8),
    ((user + system) / 1e6).toFixed(1).padStart(8),
    (times[Math.floor(QUERIES * 0.5)] ?? 0).toFixed(1).padStart(9),
    (times[Math.floor(QUERIES * 0.99)] ?? 0).toFixed(1).padStart(9),
    (memory / 1024 ** 2).toFixed(0).padStart(12),
    (name === 'sqlite-hybrid' ? '-' : (hits / (QUERIES * NEAREST)).toFixed(3)).padStart(12),
  ];
  console.log(`${name.padEnd(15)}${cells.join('')}   (brute force in JavaScript: ${bruteMs.toFixed(0)} ms)`);
  await engine.close();
}

async function build(name: string, vectors: readonly Vector[]): Promise<Engine | undefined> {
  if (name === 'usearch') return buildUsearch(vectors);
  if (name === 'hnswlib') return buildHnswlib(vectors);
  if (name === 'memory') return fill(new InMemoryVectorStore(), vectors, false);
  const folder = await mkdtemp(join(tmpdir(), 'troupe-vectors-'));
  const store = new SqliteVectorStore(join(folder, 'chunks.db'));
  return fill(store, vectors, name === 'sqlite-hybrid', async () => {
    await store[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  });
}

/** A store with all vectors. A hybrid search has words too, so that its ten are not those of the vectors alone. */
async function fill(
  store: VectorStoreBase,
  vectors: readonly Vector[],
  isHybrid: boolean,
  close: () => Promise<void> = async () => {},
): Promise<Engine> {
  for (let start = 0; start < vectors.length; start += BATCH) {
    const rows = vectors.slice(start, start + BATCH).map((embedding, index): StoredChunk => {
      const id = `${start + index}`;
      const content = { type: 'text', text: wordsOf(start + index) } as const;
      return { id, documentId: `d${start}`, index, content, metadata: { source: `d${start}` }, embedding };
    });
    await store.upsert(rows);
  }
  return {
    close,
    search: async (embedding, text) => {
      const found = await store.search({ embedding, limit: NEAREST, ...(isHybrid && { text }) });
      return found.map(({ chunk }) => Number(chunk.id));
    },
  };
}

interface Usearch {
  readonly Index: new (options: object) => {
    add(keys: BigUint64Array, vectors: Vector): void;
    search(query: Vector, count: number, threads: number): { readonly keys: BigUint64Array };
  };
}

async function buildUsearch(vectors: readonly Vector[]): Promise<Engine | undefined> {
  const usearch = load('usearch') as Usearch | undefined;
  if (usearch === undefined) return undefined;
  const index = new usearch.Index({ metric: 'cos', connectivity: 16, dimensions: DIMENSIONS });
  for (const [key, vector] of vectors.entries()) index.add(BigUint64Array.of(BigInt(key)), vector);
  return {
    close: async () => {},
    search: async (query) => Array.from(index.search(query, NEAREST, 1).keys, Number),
  };
}

interface Hnswlib {
  readonly HierarchicalNSW: new (
    space: 'cosine',
    dimensions: number,
  ) => {
    initIndex(options: { maxElements: number; m: number; efConstruction: number }): void;
    addPoint(vector: readonly number[], key: number): void;
    setEf(ef: number): void;
    searchKnn(query: readonly number[], count: number): { readonly neighbors: readonly number[] };
  };
}

async function buildHnswlib(vectors: readonly Vector[]): Promise<Engine | undefined> {
  const hnswlib = load('hnswlib-node') as Hnswlib | undefined;
  if (hnswlib === undefined) return undefined;
  const index = new hnswlib.HierarchicalNSW('cosine', DIMENSIONS);
  index.initIndex({ maxElements: vectors.length, m: 16, efConstruction: 200 });
  for (const [key, vector] of vectors.entries()) index.addPoint([...vector], key);
  index.setEf(EF);
  return {
    close: async () => {},
    search: async (query) => index.searchKnn([...query], NEAREST).neighbors,
  };
}

/** Package outside of the dependencies; undefined without an installation. */
function load(name: string): unknown {
  const folder = process.env['BENCH_MODULES'];
  try {
    return createRequire(folder === undefined ? import.meta.url : join(folder, 'package.json'))(name);
  } catch {
    return undefined;
  }
}

/** Numbers of the nearest vectors: every vector is compared. */
function bruteForce(
  query: Vector,
  vectors: readonly Vector[],
  lengths: readonly number[],
): readonly number[] {
  const best: { score: number; index: number }[] = [];
  for (const [index, vector] of vectors.entries()) {
    const score = dot(query, vector) / (lengths[index] ?? 1);
    if (best.length === NEAREST && score <= (best.at(-1)?.score ?? 0)) continue;
    best.push({ score, index });
    best.sort((x, y) => y.score - x.score);
    best.length = Math.min(best.length, NEAREST);
  }
  return best.map(({ index }) => index);
}

function dot(a: Vector, b: Vector): number {
  let sum = 0;
  for (let at = 0; at < DIMENSIONS; at++) sum += (a[at] ?? 0) * (b[at] ?? 0);
  return sum;
}

function near(center: Vector = new Float32Array(DIMENSIONS), random: () => number): Vector {
  return gaussian(random).map((noise, at) => (center[at] ?? 0) + 0.5 * noise);
}

function gaussian(random: () => number): Vector {
  return Float32Array.from({ length: DIMENSIONS }, () => {
    return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  });
}

/** Twenty words, of 5000. */
function wordsOf(seed: number): string {
  const random = seeded(seed + 1);
  return Array.from({ length: 20 }, () => `word${Math.floor(random() ** 2 * 5000)}`).join(' ');
}

function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
