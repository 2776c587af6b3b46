import type { ProviderMeta } from '../../message/blocks.ts';
import { isJsonObject, type JsonObject } from '../../util/json.ts';

/**
 * Key in a block's `providerMeta` for the metadata that a provider of the AI SDK expects back, stored with
 * the provider's name, because no other provider understands the metadata.
 *
 *     { aiSdk: { provider: 'anthropic.messages', metadata: { anthropic: { … } } } }
 *     { aiSdk: { provider: 'openai.responses', pieces: [{ start: 0, end: 120, metadata: { … } }, …] } }
 *
 * Consecutive parts of the same type become one block; `pieces` gives the range of each part.
 */
const KEY = 'aiSdk';

/** Stored range of a text part. */
export type Piece = { readonly start: number; readonly end: number; readonly metadata?: JsonObject };

/** Text part to send back. */
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

/** Everything kept with a block that came from the same provider. */
export function keptOf(meta: ProviderMeta | undefined, provider: string): JsonObject | undefined {
  return ownMeta(meta, provider);
}

/** Metadata of a block that came from the same provider. */
export function metadataOf(meta: ProviderMeta | undefined, provider: string): JsonObject | undefined {
  const metadata = ownMeta(meta, provider)?.['metadata'];
  return isJsonObject(metadata) ? metadata : undefined;
}

/** Parts of a block's text. Undefined for another provider's text, or for text changed since. */
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
