import { copyJsonObject, isJsonObject, type JsonObject } from '../../util/json.ts';

/** A provider's metadata, if there is any that can be kept: what is no JSON could not be saved. */
export function metadataIn(part: JsonObject): JsonObject | undefined {
  const metadata = part['providerMetadata'];
  if (!isJsonObject(metadata) || Object.keys(metadata).length === 0) return undefined;
  try {
    return copyJsonObject(metadata, 'providerMetadata', { maxDepth: MAX_DEPTH });
  } catch {
    return undefined;
  }
}

/** Less than a block may have, which it becomes a part of. */
const MAX_DEPTH = 90;
