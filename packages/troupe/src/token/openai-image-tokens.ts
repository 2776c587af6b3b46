import type { ImageSize } from './image-size.ts';

/**
 * Tiles: a base price plus a price per square of 512 pixels. Patches: squares of 32 pixels times a factor.
 */
type ImageRule = { readonly base: number; readonly tile: number } | { readonly factor: number };

export type ImageDetail = 'low' | 'high';

const TILE = 512;
const LONGEST_SIDE = 2048;
const SHORTER_SIDE = 768;
const PATCH = 32;
const MAX_PATCHES = 1536;

/** Size assumed for an unknown image. */
const USUAL_SIZE: ImageSize = { width: 1024, height: 1024 };

/**
 * Rules by model name; the first match counts. Factors of GPT-5 are the billed ones, lower than documented.
 */
const RULES: readonly (readonly [pattern: RegExp, rule: ImageRule])[] = [
  [/^gpt-4\.1-mini/, { factor: 1.62 }],
  [/^gpt-4\.1-nano/, { factor: 2.46 }],
  [/^(?:o4|codex)-mini/, { factor: 1.72 }],
  [/^gpt-5-nano/, { factor: 1.5 }],
  [/^gpt-5-mini|^gpt-5\.[2-9]/, { factor: 1.2 }],
  [/^gpt-5/, { base: 70, tile: 140 }],
  [/^gpt-4o-mini/, { base: 2833, tile: 5667 }],
  [/^o[13]/, { base: 75, tile: 150 }],
  [/^computer-use/, { base: 65, tile: 129 }],
  [/^/, { base: 85, tile: 170 }],
];

/** Tokens of an image for an OpenAI model. */
export function openAIImageTokens(
  modelName: string,
  size: ImageSize = USUAL_SIZE,
  detail: ImageDetail = 'high',
): number {
  const rule = RULES.find(([pattern]) => pattern.test(modelName))?.[1] ?? { factor: 1 };
  if ('factor' in rule) return Math.ceil(patches(size) * rule.factor);
  return detail === 'low' ? rule.base : rule.base + tiles(size) * rule.tile;
}

/** Scales the image down to fit a square, then limits its shorter side. Never enlarges. */
function tiles({ width, height }: ImageSize): number {
  const fit = Math.min(1, LONGEST_SIDE / Math.max(width, height));
  const scale = fit * Math.min(1, SHORTER_SIDE / (Math.min(width, height) * fit));
  return squares(width * scale, TILE) * squares(height * scale, TILE);
}

/** Scales the image down until the number of patches is within the limit, with whole patches on one side. */
function patches({ width, height }: ImageSize): number {
  const count = squares(width, PATCH) * squares(height, PATCH);
  if (count <= MAX_PATCHES) return count;
  const scale = Math.sqrt((PATCH * PATCH * MAX_PATCHES) / (width * height));
  const columns = (width * scale) / PATCH;
  const rows = (height * scale) / PATCH;
  const shrink = Math.min(1, whole(columns) / columns, whole(rows) / rows);
  return Math.min(MAX_PATCHES, squares(columns * shrink, 1) * squares(rows * shrink, 1));
}

function whole(length: number): number {
  return Math.max(1, Math.floor(length));
}

/** Number of squares that cover a length; tolerates rounding errors. */
function squares(length: number, side: number): number {
  return Math.ceil(length / side - 1e-9);
}
