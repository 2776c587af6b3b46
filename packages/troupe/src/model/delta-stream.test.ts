import { expect, test } from 'vitest';

import type { ModelDelta } from '../message/model-delta.ts';
import { DeltaStream, deltaBatches } from './delta-stream.ts';

const text = (one: string): ModelDelta => ({ type: 'text', text: one });

function openOf(batches: readonly (readonly ModelDelta[])[], onStop: () => void = () => {}) {
  return async function* (signal: AbortSignal): AsyncGenerator<readonly ModelDelta[], void, void> {
    signal.addEventListener('abort', onStop);
    yield* batches;
  };
}

async function allOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

const BATCHES = [[text('a'), text('b')], [text('c')]];

test('a stream of batches is read delta by delta, or in its batches', async () => {
  expect(await allOf(new DeltaStream(openOf(BATCHES), undefined))).toEqual(BATCHES.flat());
  expect(await allOf(deltaBatches(new DeltaStream(openOf(BATCHES), undefined)))).toEqual(BATCHES);
});

test('a stream without batches gives each delta alone', async () => {
  async function* deltas(): AsyncGenerator<ModelDelta, void, void> {
    yield* BATCHES.flat();
  }
  expect(await allOf(deltaBatches(deltas()))).toEqual([[text('a')], [text('b')], [text('c')]]);
});

test('an abort between two deltas of a batch ends the stream before the second', async () => {
  const stop = new AbortController();
  const seen: ModelDelta[] = [];
  const read = async (): Promise<void> => {
    for await (const delta of new DeltaStream(openOf(BATCHES), stop.signal)) {
      seen.push(delta);
      stop.abort(new Error('enough'));
    }
  };
  await expect(read()).rejects.toThrow('enough');
  expect(seen).toEqual([text('a')]);
});

test.each(['delta by delta', 'in batches'])('a reader %s that leaves stops the source', async (how) => {
  let isStopped = false;
  const stream = new DeltaStream(
    openOf(BATCHES, () => (isStopped = true)),
    undefined,
  );
  for await (const _ of how === 'in batches' ? deltaBatches(stream) : stream) break;
  expect(isStopped).toBe(true);
});

test('leaving a stream without batches tells its source at once, also while a delta is awaited', async () => {
  let isTold = false;
  const source: AsyncIterableIterator<ModelDelta> = {
    next: () => new Promise(() => {}),
    return: async () => {
      isTold = true;
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
  const batches = deltaBatches(source)[Symbol.asyncIterator]();
  void batches.next();
  await batches.return?.();
  expect(isTold).toBe(true);
});
