import type {
  CallToolResult,
  ContentBlock,
  EmbeddedResource,
  PromptMessage,
} from '@modelcontextprotocol/client';

import { getLogger } from '../../config/run-config.ts';
import { messageOf } from '../../errors.ts';
import type { ToolOutputBlock } from '../../message/blocks.ts';
import { Msg } from '../../message/msg.ts';
import { jsonText } from '../../toolkit/tool/json-text.ts';
import { ToolResponse } from '../../toolkit/tool/tool-response.ts';
import { fileNameIn } from '../../util/file-name.ts';
import { copyJson, type JsonObject, type JsonValue } from '../../util/json.ts';

const MEDIA_TYPE = /^[\w.+-]{1,100}\/[\w.+-]{1,100}(?: ?;[ \w.+="-]{0,100})?$/;
const MAX_METADATA = { maxDepth: 60, maxSize: 500_000 };

/**
 * Converts a server's answer to a tool response. Links stay text: nothing is fetched because a server names
 * an address.
 */
export function toToolResponse(result: CallToolResult): ToolResponse {
  const { content, structuredContent, isError, _meta } = result;
  const blocks = content.map(toOutputBlock);
  if (structuredContent !== undefined && !blocks.some(({ type }) => type === 'text')) {
    blocks.push({ type: 'text', text: jsonText(structuredContent, 'structuredContent') });
  }
  const [first] = blocks;
  const isText = blocks.length === 1 && first?.type === 'text';
  return new ToolResponse(isText ? first.text : blocks.length === 0 ? 'Done.' : blocks, {
    status: isError ? 'error' : 'ok',
    metadata: metadataOf({ structuredContent, _meta }),
  });
}

/** Converts content of a server to a block. */
export function toOutputBlock(content: ContentBlock): ToolOutputBlock {
  switch (content.type) {
    case 'text':
      return text(content.text);
    case 'image':
    case 'audio':
      return medium(content.mimeType, content.data);
    case 'resource_link': {
      const { name, title = name, uri, description } = content;
      return text(`${title}: ${uri}${description === undefined ? '' : ` (${description})`}`);
    }
    case 'resource':
      return resource(content.resource);
  }
}

/** Converts a message of a prompt. Assistant messages get the name of the server. */
export function toMsg({ role, content }: PromptMessage, server: string): Msg {
  return new Msg({ name: role === 'user' ? 'user' : server, role, content: [toOutputBlock(content)] });
}

function resource(contents: EmbeddedResource['resource']): ToolOutputBlock {
  if ('text' in contents) return text(contents.text);
  return medium(contents.mimeType ?? 'application/octet-stream', contents.blob, fileNameIn(contents.uri));
}

/** Makes a media block. The media type decides the kind of block, whatever kind the server names. */
function medium(given: string, data: string, filename?: string): ToolOutputBlock {
  const mediaType = MEDIA_TYPE.test(given) ? given : 'application/octet-stream';
  const source = { type: 'base64', mediaType, data } as const;
  const [kind] = mediaType.split('/');
  if (kind === 'image' || kind === 'audio' || kind === 'video') return { type: kind, source };
  return { type: 'file', source, ...(filename !== undefined && { filename }) };
}

function text(content: string): ToolOutputBlock {
  return { type: 'text', text: content };
}

/** Metadata for the program. Values beyond the size limit are dropped with a warning. */
function metadataOf(parts: Readonly<Record<string, unknown>>): JsonObject | undefined {
  const metadata: { [key: string]: JsonValue } = {};
  for (const [key, value] of Object.entries(parts)) {
    try {
      if (value !== undefined) metadata[key] = copyJson(value, key, MAX_METADATA);
    } catch (error) {
      getLogger().log('warn', `The ${key} of a result is dropped: ${messageOf(error)}`);
    }
  }
  return Object.keys(metadata).length > 0 ? metadata : undefined;
}
