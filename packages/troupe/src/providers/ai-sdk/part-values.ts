import { copyJsonObject, isJsonObject, type JsonObject } from '../../util/json.ts';

/** Provider metadata of a part, if JSON: other values could not be saved. */
export function metadataIn(part: JsonObject): JsonObject | undefined {
  const metadata = part['providerMetadata'];
  if (!isJsonObject(metadata) || Object.keys(metadata).length === 0) return undefined;
  try {
    return copyJsonObject(metadata, 'providerMetadata', { maxDepth: MAX_DEPTH });
  } catch {
    return undefined;
  }
}

/** Maximum depth of metadata: lower than the limit of a block, which holds the metadata. */
const MAX_DEPTH = 90;
