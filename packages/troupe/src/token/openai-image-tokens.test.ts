import { expect, test } from 'vitest';
import { openAIImageTokens } from './openai-image-tokens.ts';

const size = (width: number, height: number) => ({ width, height });

test.each<[model: string, width: number, height: number, tokens: number]>([
  // Tiles. The first three are OpenAI's own examples.
  ['gpt-4o', 1024, 1024, 765],
  ['gpt-4o', 2048, 4096, 1105],
  ['gpt-4o', 4096, 8192, 1105],
  ['gpt-4.1', 512, 512, 255],
  ['gpt-4.1', 513, 512, 425],
  ['gpt-4.5-preview', 1, 1, 255],
  ['gpt-4o', 3072, 1536, 85 + 6 * 170],
  ['gpt-4o', 1036, 2072, 85 + 6 * 170],
  ['gpt-4o', 10_000, 10, 85 + 4 * 170],
  ['gpt-4o-mini', 1024, 1024, 2833 + 4 * 5667],
  ['o1', 1024, 1024, 675],
  ['o3', 1024, 1024, 675],
  ['gpt-5', 1024, 1024, 630],
  ['gpt-5.1', 1024, 1024, 630],
  ['a-model-to-come', 1024, 1024, 765],
  // Patches. OpenAI's examples have 1024 and 1452 of them.
  ['gpt-4.1-mini', 1024, 1024, Math.ceil(1024 * 1.62)],
  ['gpt-4.1-mini', 1800, 2400, Math.ceil(1452 * 1.62)],
  ['gpt-4.1-mini', 2505, 3340, Math.ceil(1452 * 1.62)],
  ['gpt-4.1-nano', 1024, 1024, Math.ceil(1024 * 2.46)],
  ['o4-mini', 1024, 1024, Math.ceil(1024 * 1.72)],
  ['gpt-5-mini', 1024, 1024, 1229],
  ['gpt-5-mini', 1280, 720, 1104],
  ['gpt-5-mini', 2048, 768, 1844],
  ['gpt-5-nano', 32, 32, 2],
  ['gpt-5.4', 33, 32, 3],
])('%s: an image of %i x %i pixels has %i tokens', (model, width, height, tokens) => {
  expect(openAIImageTokens(model, size(width, height))).toBe(tokens);
});

test('an image never has more than 1536 patches', () => {
  for (const [width, height] of [
    [4000, 1474],
    [10_000, 10_000],
    [100_000, 40],
    [1537 * 32, 32],
  ] as const) {
    const tokens = openAIImageTokens('gpt-4.1-mini', size(width, height));
    expect(tokens).toBeGreaterThan(700);
    expect(tokens).toBeLessThanOrEqual(Math.ceil(1536 * 1.62));
  }
});

test('in low detail only the base counts, and patches count as ever', () => {
  expect(openAIImageTokens('gpt-4o', size(4000, 4000), 'low')).toBe(85);
  expect(openAIImageTokens('o3', size(4000, 4000), 'low')).toBe(75);
  expect(openAIImageTokens('gpt-4.1-mini', size(1024, 1024), 'low')).toBe(Math.ceil(1024 * 1.62));
});

test('an image of unknown size counts as one of 1024 x 1024', () => {
  expect(openAIImageTokens('gpt-4o', undefined)).toBe(765);
  expect(openAIImageTokens('gpt-5-mini', undefined)).toBe(1229);
});
