// Counts work in place of time: a busy machine changes no count. Import this file before the code that is counted.
import { Session } from 'node:inspector/promises';
import { GCProfiler, getHeapStatistics, setFlagsFromString } from 'node:v8';

import { expect } from 'vitest';

const MB = 1024 ** 2;
const OPTIMIZERS = ['opt', 'maglev'];
/** Code of Node and of the test runner, which sends reports from time to time. */
const NOT_COUNTED = /^node:|\/node_modules\/(?:@vitest|vitest|vite)\//;

export interface Work {
  /** Executed blocks of JavaScript: function bodies, branches, rounds of loops. Work inside V8, such as a regular expression, is none. */
  readonly steps: number;
  /** Bytes allocated on the heap, which copies of texts and lists show. Exact to about a megabyte. */
  readonly bytes: number;
}

// Never stopped: V8 counts the blocks of functions that it compiles after the start.
const session = new Session();
session.connect();
await session.post('Profiler.enable');
await startCounting();

/** Starts to count. A second start keeps the counters, and drops optimized code. */
async function startCounting(): Promise<void> {
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
}

/** Runs the work once, and counts it. */
export async function countWork(work: () => unknown): Promise<Work> {
  // Optimized code does not count calls of inlined functions, and V8 optimizes when a thread of its own has time.
  for (const flag of OPTIMIZERS) setFlagsFromString(`--no-${flag}`);
  try {
    return await count(work);
  } finally {
    for (const flag of OPTIMIZERS) setFlagsFromString(`--${flag}`);
  }
}

async function count(work: () => unknown): Promise<Work> {
  await startCounting();
  globalThis.gc?.();
  await takeSteps();
  const collections = new GCProfiler();
  collections.start();
  const start = getHeapStatistics().used_heap_size;
  await work();
  const end = getHeapStatistics().used_heap_size;
  const steps = await takeSteps();
  let bytes = end - start;
  for (const { beforeGC, afterGC } of collections.stop().statistics)
    bytes += beforeGC.heapStatistics.usedHeapSize - afterGC.heapStatistics.usedHeapSize;
  return { steps, bytes };
}

/** Number of steps since the last time. */
async function takeSteps(): Promise<number> {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const ranges = result
    .filter(({ url }) => !NOT_COUNTED.test(url))
    .flatMap(({ functions }) => functions.flatMap((one) => one.ranges));
  return ranges.reduce((sum, { count }) => sum + count, 0);
}

/** Expects work to grow with its size and no faster: `times` the size takes about `times` the steps and bytes. */
export async function expectLinear(size: number, work: (size: number) => unknown, times = 4): Promise<void> {
  await work(size); // fills caches
  const small = await countWork(() => work(size));
  const large = await countWork(() => work(times * size));
  expect(large.steps / small.steps).toBeLessThan(1.25 * times);
  expect(large.bytes / (small.bytes + MB)).toBeLessThan(1.5 * times);
}
