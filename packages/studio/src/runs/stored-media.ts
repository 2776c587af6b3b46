import { createHash } from 'node:crypto';

import { FILE_SCHEME } from '../protocol.ts';
import { isRecord } from '../store/json-text.ts';

/** Base64 up to this length stays where it is, except that of files, which people download. */
const MAX_INLINE_CHARS = 2048;

export interface FoundFile {
  readonly id: string;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

/**
 * A copy of a value in which base64 sources of files, and long ones of other blocks, are replaced by addresses of stored files. Unchanged
 * parts stay the same objects.
 */
export function withoutMedia(
  value: unknown,
  store: (file: FoundFile) => void,
  maxInline = MAX_INLINE_CHARS,
): unknown {
  if (Array.isArray(value)) {
    const items = value.map((item) => withoutMedia(item, store, maxInline));
    return items.some((item, i) => item !== value[i]) ? items : value;
  }
  if (!isRecord(value)) return value;
  const { type, data, mediaType, media_type: agentScopeType } = value;
  if (type === 'base64' && typeof data === 'string' && data.length > maxInline) {
    const named = mediaType ?? agentScopeType;
    const bytes = Buffer.from(data, 'base64');
    const id = createHash('sha256').update(bytes).digest('hex');
    const file = { id, mediaType: typeof named === 'string' ? named.slice(0, 100) : '', bytes };
    store(file);
    return { type: 'url', url: `${FILE_SCHEME}${id}`, mediaType: file.mediaType };
  }
  let changed: Record<string, unknown> | undefined;
  for (const [key, item] of Object.entries(value)) {
    const kept = withoutMedia(item, store, type === 'file' ? 0 : maxInline);
    if (kept === item) continue;
    changed ??= { ...value };
    changed[key] = kept;
  }
  return changed ?? value;
}
