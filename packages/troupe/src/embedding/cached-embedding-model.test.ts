import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { withRunConfig } from '../config/run-config.ts';
import { SqliteEmbeddingCache } from '../stores/sqlite/sqlite-embedding-cache.ts';
import { CachedEmbeddingModel } from './cached-embedding-model.ts';
import { EmbeddingModelBase, type EmbeddedBatch, type EmbeddingInput } from './embedding-model-base.ts';
import { MemoryEmbeddingCache } from './memory-embedding-cache.ts';

class Counted extends EmbeddingModelBase {
  readonly inputs: EmbeddingInput[] = [];

  constructor(modelName = 'counted', variant?: string) {
    super({ modelName, variant, maxBatch: 100 });
  }

  protected override async embedBatch(inputs: readonly EmbeddingInput[]): Promise<EmbeddedBatch> {
    this.inputs.push(...inputs);
    return {
      embeddings: inputs.map((input) => Float32Array.from([String(input).length, 1.5])),
      inputTokens: 1,
    };
  }
}

test('an input is embedded once, whatever the order, and equal inputs of one call once', async () => {
  const model = new Counted();
  const cached = new CachedEmbeddingModel(model);
  await cached.embed(['a', 'bb', 'a']);
  const { embeddings, cachedCount, usage } = await cached.embed(['ccc', 'a', 'bb']);
  expect(embeddings.map(([length]) => length)).toEqual([3, 1, 2]);
  expect([cachedCount, usage.inputTokens, model.inputs]).toEqual([2, 1, ['a', 'bb', 'ccc']]);
});

test('queries and documents, and other models, do not share vectors', async () => {
  const cache = new MemoryEmbeddingCache();
  const [one, other] = [new Counted('one'), new Counted('other')];
  await new CachedEmbeddingModel(one, cache).embed(['a']);
  await new CachedEmbeddingModel(one, cache).embed(['a'], { purpose: 'query' });
  await new CachedEmbeddingModel(other, cache).embed(['a']);
  expect([one.inputs, other.inputs]).toEqual([['a', 'a'], ['a']]);
  const cut = new Counted('one', 'maxTokens 8');
  await new CachedEmbeddingModel(cut, cache).embed(['a']);
  expect(cut.inputs).toEqual(['a']);
});

test('the memory cache drops what was used least recently', async () => {
  const cache = new MemoryEmbeddingCache(2);
  const set = (key: string): Promise<void> => cache.set([{ key, embedding: new Float32Array(1) }]);
  await set('a');
  await set('b');
  await cache.get(['a']);
  await set('c');
  expect((await cache.get(['a', 'b', 'c'])).map((vector) => vector !== undefined)).toEqual([
    true,
    false,
    true,
  ]);
  expect(cache.size).toBe(2);
});

test('the SQLite cache is there after a restart, exact to the bit, and has a limit', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'embeddings-'));
  try {
    const path = join(folder, 'cache.db');
    const model = new Counted();
    {
      await using cache = new SqliteEmbeddingCache(path);
      await new CachedEmbeddingModel(model, cache).embed(['a', 'bb']);
    }
    await using cache = new SqliteEmbeddingCache(path, { maxEntries: 2 });
    const { embeddings } = await new CachedEmbeddingModel(model, cache).embed(['bb', 'a', 'bb']);
    expect(embeddings).toEqual(
      [
        [2, 1.5],
        [1, 1.5],
        [2, 1.5],
      ].map((list) => Float32Array.from(list)),
    );
    expect(model.inputs).toEqual(['a', 'bb']);
    await new CachedEmbeddingModel(model, cache).embed(['bb']); // used later than 'a'
    await new CachedEmbeddingModel(model, cache).embed(['dddd']);
    expect(await cache.count()).toBe(2);
    await new CachedEmbeddingModel(model, cache).embed(['bb', 'a']);
    expect(model.inputs).toEqual(['a', 'bb', 'dddd', 'a']);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a broken cache is logged, and the model is asked', async () => {
  const lines: string[] = [];
  const broken = {
    get: () => Promise.reject(new Error('disk')),
    set: () => Promise.reject(new Error('full')),
  };
  await withRunConfig({ logging: { log: (_level, line) => void lines.push(line) } }, async () => {
    expect((await new CachedEmbeddingModel(new Counted(), broken).embed(['a'])).embeddings).toHaveLength(1);
  });
  expect(lines).toEqual([
    'The cache of counted could not read: disk',
    'The cache of counted could not write: full',
  ]);
});
