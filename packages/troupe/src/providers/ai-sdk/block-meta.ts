import type { ProviderMeta } from '../../message/blocks.ts';
import { isJsonObject, type JsonObject } from '../../util/json.ts';

/**
 * What a provider of the AI SDK wants back with a block is kept in the block's `providerMeta`, beside the name of
 * the provider: nobody else understands it.
 *
 *   { aiSdk: { provider: 'anthropic.messages', metadata: { anthropic: { … } } } }
 *   { aiSdk: { provider: 'openai.responses', pieces: [{ start: 0, end: 120, metadata: { openai: { … } } }, …] } }
 *
 * Parts of the same type that follow each other become one block; `pieces` tells where each of them is.
 */
const KEY = 'aiSdk';

/** A part of a text, by its place in it, as it is kept. */
export type Piece = { readonly start: number; readonly end: number; readonly metadata?: JsonObject };

/** A part of a text as it goes back. */
export interface TextPiece {
  readonly text: string;
  readonly metadata?: JsonObject;
}

export function toBlockMeta(
  provider: string,
  kept: { readonly metadata: JsonObject } | { readonly pieces: readonly Piece[] },
): ProviderMeta {
  return { [KEY]: { provider, ...kept } };
}

/** What the same provider sent along with a block. */
export function metadataOf(meta: ProviderMeta | undefined, provider: string): JsonObject | undefined {
  const metadata = ownMeta(meta, provider)?.['metadata'];
  return isJsonObject(metadata) ? metadata : undefined;
}

/** The parts of a block's text. Undefined if another provider wrote it, or if it was changed since. */
export function piecesOf(
  text: string,
  meta: ProviderMeta | undefined,
  provider: string,
): readonly TextPiece[] | undefined {
  const kept = ownMeta(meta, provider)?.['pieces'];
  if (!Array.isArray(kept)) return undefined;
  const pieces = kept.filter(isPiece);
  if (pieces.at(-1)?.end !== text.length) return undefined;
  return pieces.map(({ start, end, metadata }) => ({
    text: text.slice(start, end),
    ...(isJsonObject(metadata) && { metadata }),
  }));
}

function ownMeta(meta: ProviderMeta | undefined, provider: string): JsonObject | undefined {
  const own = meta?.[KEY];
  return isJsonObject(own) && own['provider'] === provider ? own : undefined;
}

function isPiece(value: unknown): value is Piece {
  return isJsonObject(value) && typeof value['start'] === 'number' && typeof value['end'] === 'number';
}
