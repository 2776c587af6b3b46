import type { Chunk } from '../document/chunk.ts';
import { newId } from '../util/ids.ts';
import type { StoredChunk, VectorStoreBase } from '../vector/vector-store-base.ts';
import type { ContractCase } from './chat-model-contract.ts';
import { check, checkSame, thrownBy } from './contract-checks.ts';

type Make = (collection: string) => VectorStoreBase | Promise<VectorStoreBase>;

interface Case {
  readonly name: string;
  readonly run: (open: () => Promise<VectorStoreBase>) => Promise<void>;
}

/**
 * Cases that every vector store has to pass, for any test runner: `for (const { name, run } of
 * vectorStoreContract(make)) test(name, run)`.
 * @param make opens a store. The collection is new for each case; opened twice, it has the same chunks, unless
 * `isStored` is false
 */
export function vectorStoreContract(make: Make, { isStored = true } = {}): readonly ContractCase[] {
  const cases = isStored ? [...CASES, REOPENED] : CASES;
  return cases.map(({ name, run }) => ({
    name,
    run: async () => {
      const collection = `c_${newId().replace(/\W/g, '')}`;
      const stores: VectorStoreBase[] = [];
      try {
        await run(async () => {
          const store = await make(collection);
          stores.push(store);
          return store;
        });
      } finally {
        for (const store of stores) await store[Symbol.asyncDispose]();
      }
    },
  }));
}

function chunk(
  id: string,
  text: string,
  numbers: readonly number[],
  fields: Partial<Chunk> = {},
): StoredChunk {
  const content = { type: 'text', text } as const;
  const embedding = numbers.length === 0 ? undefined : Float32Array.from(numbers);
  return { id, documentId: 'doc', index: 0, content, metadata: {}, ...fields, embedding };
}

const FRUIT: readonly StoredChunk[] = [
  chunk('a', 'Apples are red and grow on trees.', [1, 0.1, 0], {
    documentId: 'fruit',
    metadata: { kind: 'fruit', year: 2020 },
  }),
  chunk('b', 'Bananas are yellow.', [0.9, 0.5, 0], {
    documentId: 'fruit',
    index: 1,
    metadata: { kind: 'fruit', year: 2024, isSweet: true },
  }),
  chunk('c', 'Cars have four wheels.', [0, 0.1, 1], {
    documentId: 'cars',
    metadata: { kind: 'machine', year: 2024 },
  }),
];

const idsOf = (found: readonly { chunk: Chunk }[]): string[] => found.map(({ chunk: { id } }) => id);
const bare = ({ embedding: _, ...rest }: StoredChunk): Chunk => rest;

const CASES: readonly Case[] = [
  {
    name: 'what is not there is not found',
    run: async (open) => {
      const store = await open();
      checkSame(
        await store.search({ embedding: Float32Array.from([1, 0, 0]), text: 'apple' }),
        [],
        'an empty store',
      );
      checkSame(
        [
          await store.count(),
          await store.get({ ids: ['a'] }),
          await store.delete({ ids: ['a'] }),
          await store.listDocuments(),
        ],
        [0, [], 0, []],
        'an empty store',
      );
    },
  },
  {
    name: 'vectors: nearest first, the score is the cosine and higher is better',
    run: async (open) => {
      const store = await open();
      await store.add(FRUIT);
      const found = await store.search({ embedding: Float32Array.from([1, 0, 0]), limit: 2 });
      checkSame(idsOf(found), ['a', 'b'], 'order');
      const scores = found.map(({ score }) => Math.round(score * 1000) / 1000);
      checkSame(scores, [0.995, 0.874], 'scores');
      const [first] = found;
      checkSame(first?.chunk, bare(FRUIT[0] as StoredChunk), 'the whole chunk');
      const near = await store.search({ embedding: Float32Array.from([1, 0, 0]), minScore: 0.9 });
      checkSame(idsOf(near), ['a'], 'a threshold keeps the better ones');
    },
  },
  {
    name: 'full text: words in any form, the best match first, scores from 0 to 1',
    run: async (open) => {
      const store = await open();
      await store.add(FRUIT);
      const found = await store.search({ text: 'What about the APPLE tree?' });
      checkSame(idsOf(found), ['a'], 'an apple');
      check(
        found.every(({ score }) => score > 0 && score < 1),
        'scores are between 0 and 1',
      );
      checkSame(
        await store.search({ text: '"quoted" NEAR (NOT -x* OR' }),
        [],
        'query language is plain words',
      );
      checkSame(await store.search({ text: '?!' }), [], 'no words');
      await store.upsert([chunk('z', '苹果是红色的水果。', [])]);
      checkSame(idsOf(await store.search({ text: '红色' })), ['z'], 'Chinese');
    },
  },
  {
    name: 'hybrid: what both find is best, and a chunk without a vector is found by its words',
    run: async (open) => {
      const store = await open();
      await store.add([...FRUIT, chunk('d', 'Quinces are sour.', [], { documentId: 'fruit', index: 2 })]);
      const found = await store.search({
        embedding: Float32Array.from([1, 0.4, 0]),
        text: 'yellow bananas',
        limit: 4,
      });
      checkSame(idsOf(found).slice(0, 1), ['b'], 'best by both');
      const sour = await store.search({
        embedding: Float32Array.from([0, 0.1, 1]),
        text: 'sour quince',
        limit: 4,
      });
      check(idsOf(sour).includes('d'), 'found by words only');
    },
  },
  {
    name: 'filters: values, lists, booleans, ranges; a missing field never matches',
    run: async (open) => {
      const store = await open();
      await store.add(FRUIT);
      const embedding = Float32Array.from([1, 0, 0]);
      const found = async (
        filter: NonNullable<Parameters<VectorStoreBase['count']>[0]>,
      ): Promise<unknown> => {
        const byVector = idsOf(await store.search({ embedding, filter })).sort();
        checkSame(byVector.length, await store.count(filter), 'count and search agree');
        return byVector;
      };
      checkSame(await found({ kind: 'fruit' }), ['a', 'b'], 'a value');
      checkSame(await found({ kind: ['machine', 'x'] }), ['c'], 'a list');
      checkSame(await found({ isSweet: true }), ['b'], 'a boolean');
      checkSame(await found({ year: { gt: 2020 }, kind: 'fruit' }), ['b'], 'a range and a value');
      checkSame(await found({ year: { gte: 2020, lte: 2020 } }), ['a'], 'bounds');
      checkSame(await found({ year: '2024' }), [], 'a string is no number');
      checkSame(await found({ isSweet: 1 }), [], 'a number is no boolean');
      checkSame(await found({ kind: [] }), [], 'no values');
      checkSame(await found({ nothing: 'x' }), [], 'a missing field');
      checkSame(
        idsOf(await store.search({ text: 'wheels yellow', filter: { kind: 'machine' } })),
        ['c'],
        'full text',
      );
    },
  },
  {
    name: 'chunks of some documents: by vector, by words and by both',
    run: async (open) => {
      const store = await open();
      await store.add(FRUIT);
      const embedding = Float32Array.from([1, 0, 0]);
      const text = 'apples bananas wheels';
      for (const query of [{ embedding }, { text }, { embedding, text }]) {
        checkSame(idsOf(await store.search({ ...query, documentIds: ['cars', 'x'] })), ['c'], 'one document');
        checkSame(
          idsOf(await store.search({ ...query, documentIds: ['fruit'], filter: { isSweet: true } })),
          ['b'],
          'and a filter',
        );
        checkSame(await store.search({ ...query, documentIds: [] }), [], 'no documents');
      }
    },
  },
  {
    name: 'hybrid: a rare word counts, however many chunks are nearer by vector',
    run: async (open) => {
      const store = await open();
      const near = Array.from({ length: 60 }, (_, index) =>
        chunk(`near${index}`, `Common words number ${index}.`, [1, index / 1000, 0]),
      );
      await store.add([...near, chunk('rare', 'The part zx81 is common.', [1, 0.2, 0.1])]);
      const query = { embedding: Float32Array.from([1, 0, 0]), text: 'common zx81' };
      const [best] = await store.search({ ...query, limit: 1 });
      checkSame(best?.chunk.id, 'rare', 'the rare word');
      const [byVector] = await store.search({ ...query, mode: 'vector', documentIds: ['dx'], limit: 1 });
      checkSame(byVector, undefined, 'another document');
    },
  },
  {
    name: 'upsert replaces content and terms, and keeps a vector if none is given',
    run: async (open) => {
      const store = await open();
      await store.add(FRUIT);
      await store.upsert([
        chunk('a', 'Pears are green.', [], { documentId: 'fruit', metadata: { kind: 'pear' } }),
      ]);
      checkSame(await store.count(), 3, 'nothing is doubled');
      const [first] = await store.search({ embedding: Float32Array.from([1, 0.1, 0]) });
      checkSame(
        first?.chunk.content,
        { type: 'text', text: 'Pears are green.' },
        'the old vector finds the new text',
      );
      checkSame(idsOf(await store.search({ text: 'apples' })), [], 'old words are gone');
      await store.upsert([chunk('a', 'Pears are green.', [0, 0.1, 1], { documentId: 'fruit' })]);
      const moved = await store.search({ embedding: Float32Array.from([1, 0.1, 0]), limit: 1 });
      checkSame(idsOf(moved), ['b'], 'the new vector counts');
    },
  },
  {
    name: 'add refuses a known id, and changes nothing',
    run: async (open) => {
      const store = await open();
      await store.add(FRUIT);
      await thrownBy(store.add([chunk('x', 'X', [1, 1, 1]), FRUIT[0] as StoredChunk]), 'adding twice');
      checkSame([await store.count(), await store.get({ ids: ['x'] })], [3, []], 'nothing was added');
      await thrownBy(store.upsert([chunk('y', 'Y', [1, 2])]), 'a vector of another length');
      await thrownBy(store.upsert([chunk('y', 'Y', [0, 0, 0])]), 'a vector of zeros');
      await thrownBy(store.search({ embedding: Float32Array.from([1, 2]) }), 'a query of another length');
      checkSame(await store.count(), 3, 'nothing was added');
    },
  },
  {
    name: 'vectors of two lengths in a new store are refused, and the store stays usable',
    run: async (open) => {
      const store = await open();
      await thrownBy(store.add([chunk('x', 'X', [1, 2]), chunk('y', 'Y', [1, 2, 3])]), 'two lengths');
      await store.add([chunk('x', 'X', [1, 2])]);
      checkSame(idsOf(await store.search({ embedding: Float32Array.from([1, 2]) })), ['x'], 'one length');
    },
  },
  {
    name: 'deleting by id and by document removes text, vector and chunk',
    run: async (open) => {
      const store = await open();
      await store.add(FRUIT);
      checkSame(await store.delete({ documentIds: ['fruit', 'unknown'] }), 2, 'two chunks');
      checkSame(
        idsOf(await store.search({ embedding: Float32Array.from([1, 0, 0]), text: 'apples bananas' })),
        ['c'],
        'the rest',
      );
      checkSame(await store.listDocuments(), [{ documentId: 'cars', chunkCount: 1 }], 'documents');
      checkSame(await store.delete({ ids: ['c', 'c'] }), 1, 'by id');
      checkSame(await store.count(), 0, 'all');
    },
  },
  {
    name: 'documents are listed in order and by pages, and chunks of a document in their order',
    run: async (open) => {
      const store = await open();
      await store.add(
        ['d3', 'd1', 'd2'].map((documentId) => chunk(documentId, 'x', [1, 0, 0], { documentId })),
      );
      await store.add([
        chunk('later', 'y', [], { documentId: 'd1', index: 7 }),
        chunk('between', 'z', [], { documentId: 'd1', index: 3 }),
      ]);
      checkSame(
        await store.listDocuments({ limit: 2 }),
        [
          { documentId: 'd1', chunkCount: 3 },
          { documentId: 'd2', chunkCount: 1 },
        ],
        'first page',
      );
      checkSame(
        await store.listDocuments({ after: 'd2' }),
        [{ documentId: 'd3', chunkCount: 1 }],
        'second page',
      );
      checkSame(
        (await store.get({ documentIds: ['d1'] })).map(({ id }) => id),
        ['d1', 'between', 'later'],
        'chunks of a document',
      );
    },
  },
];

const REOPENED: Case = {
  name: 'a store opened again has the same chunks, and another collection none of them',
  run: async (open) => {
    await (await open()).add(FRUIT);
    const again = await open();
    await again.upsert(FRUIT);
    checkSame(await again.count(), 3, 'added again');
    checkSame(
      idsOf(await again.search({ embedding: Float32Array.from([1, 0, 0]), text: 'apples', limit: 1 })),
      ['a'],
      'found',
    );
  },
};
