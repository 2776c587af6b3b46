import type { Part } from '@a2a-js/sdk';

import type { ContentBlock, MediaSource, ToolOutputBlock } from '../../message/blocks.ts';
import type { PendingCall } from '../../message/pending-call.ts';
import { toBase64 } from '../../util/base64.ts';
import { parseDataUrl } from '../../util/data-url.ts';
import { fileNameIn } from '../../util/file-name.ts';
import { copyJson, type JsonValue } from '../../util/json.ts';
import { mediaTypeOfName } from '../../util/media-type.ts';
import { dataBlock, dataOf } from './data-block.ts';

type Content = NonNullable<Part['content']>;

const UNTYPED = 'application/octet-stream';
const MAX_DATA = { maxDepth: 60, maxSize: 1_000_000 };

/**
 * Converts blocks for another agent, without thinking blocks (private) and without media that only this
 * machine can read. Folder `a2a/protocol`: start here.
 */
export function toParts(blocks: readonly ContentBlock[]): Part[] {
  return blocks.flatMap((block) => {
    const part = toPart(block);
    return part === undefined ? [] : [part];
  });
}

export function textPart(text: string): Part {
  return part({ $case: 'text', value: text });
}

export function dataPart(data: JsonValue): Part {
  return part({ $case: 'data', value: data }, 'application/json');
}

/** Data part with pending tool calls. */
export function pendingPart(pending: readonly PendingCall[]): Part {
  return dataPart({ pending: copyJson(pending, 'pending') });
}

function toPart(block: ContentBlock): Part | undefined {
  switch (block.type) {
    case 'thinking':
      return undefined;
    case 'text': {
      const data = dataOf(block);
      return data === undefined ? textPart(block.text) : dataPart(data);
    }
    case 'tool_use':
    case 'tool_result':
    case 'provider_tool_use':
    case 'provider_tool_result':
      return dataPart(copyJson(block, 'block'));
    case 'file':
      return mediaPart(block.type, block.source, block.filename);
    default:
      return mediaPart(block.type, block.source);
  }
}

function mediaPart(type: string, source: MediaSource, filename = ''): Part {
  if (source.type === 'base64') {
    const value = Buffer.from(source.data, 'base64');
    return part({ $case: 'raw', value }, source.mediaType, filename);
  }
  if (isWebUrl(source.url)) return part({ $case: 'url', value: source.url }, source.mediaType, filename);
  try {
    if (!/^data:/i.test(source.url)) throw new TypeError('not an address for others');
    const { bytes, mediaType } = parseDataUrl(source.url);
    return part({ $case: 'raw', value: Buffer.from(bytes) }, mediaType, filename);
  } catch {
    return textPart(`(Here was ${describeKind(type)} that only the sender can read.)`);
  }
}

function describeKind(type: string): string {
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}

function part(content: Content, mediaType = '', filename = ''): Part {
  return { content, mediaType, filename, metadata: undefined };
}

/**
 * Converts parts from another agent to blocks. Nothing is fetched: http and https addresses stay addresses,
 * others become a note. The media type decides the kind of block.
 */
export function blocksOfParts(parts: readonly Part[]): ToolOutputBlock[] {
  return parts.flatMap((one) => {
    const block = toBlock(one);
    return block === undefined ? [] : [block];
  });
}

function toBlock({ content, mediaType, filename }: Part): ToolOutputBlock | undefined {
  switch (content?.$case) {
    case undefined:
      return undefined;
    case 'text':
      return content.value === '' ? undefined : { type: 'text', text: content.value };
    case 'raw':
      return medium(
        { type: 'base64', mediaType: typeOf(mediaType, filename), data: toBase64(content.value) },
        filename,
      );
    case 'url':
      return urlBlock(content.value, mediaType, filename);
    case 'data':
      return toDataBlock(content.value);
  }
}

function toDataBlock(value: unknown): ToolOutputBlock | undefined {
  if (value === undefined) return undefined;
  try {
    return dataBlock(copyJson(value, 'data', MAX_DATA));
  } catch {
    return note('data that was too much to take in');
  }
}

function urlBlock(url: string, mediaType: string, filename: string): ToolOutputBlock {
  if (!isWebUrl(url)) return note('an address that is neither http nor https');
  const type = typeOf(mediaType, filename || new URL(url).pathname);
  return medium({ type: 'url', url, ...(type !== UNTYPED && { mediaType: type }) }, filename);
}

function medium(source: MediaSource, filename: string): ToolOutputBlock {
  const kind = source.mediaType?.split('/')[0];
  if (kind === 'image' || kind === 'audio' || kind === 'video') return { type: kind, source };
  const name = fileNameIn(filename);
  return { type: 'file', source, ...(name !== undefined && { filename: name }) };
}

function typeOf(mediaType: string, name: string): string {
  const stated = /^[\w.+-]{1,100}\/[\w.+-]{1,100}/.exec(mediaType)?.[0].toLowerCase();
  return stated ?? mediaTypeOfName(name) ?? UNTYPED;
}

function note(what: string): ToolOutputBlock {
  return { type: 'text', text: `(Here was ${what}; it was left out.)` };
}

function isWebUrl(url: string): boolean {
  const parsed = URL.parse(url);
  return parsed !== null && (parsed.protocol === 'http:' || parsed.protocol === 'https:');
}
