import type { ContentBlock, MediaSource, ToolOutputBlock } from '../message/blocks.ts';
import type { Msg } from '../message/msg.ts';
import type { JsonObject, JsonValue } from '../util/json.ts';

const MEDIA_TYPES = {
  image: 'image/jpeg',
  audio: 'audio/wav',
  video: 'video/mp4',
  file: 'application/octet-stream',
};

/** The parts of a message in the form of the conventions. Bytes are left out: only their number is told. */
export function messageParts({ content }: Pick<Msg, 'content'>): JsonObject[] {
  if (typeof content === 'string') return [{ type: 'text', content }];
  return content.map(partOf);
}

function partOf(block: ContentBlock): JsonObject {
  switch (block.type) {
    case 'text':
      return { type: 'text', content: block.text };
    case 'thinking':
      return { type: 'reasoning', content: block.thinking };
    case 'provider_tool_use':
      return { type: 'server_tool_call', id: block.id, name: block.name, arguments: block.input };
    case 'provider_tool_result':
      return { type: 'server_tool_call_response', id: block.id, response: outputOf(block.output) };
    case 'tool_use':
      return { type: 'tool_call', id: block.id, name: block.name, arguments: block.rawInput ?? block.input };
    case 'tool_result':
      return { type: 'tool_call_response', id: block.id, response: outputOf(block.output) };
    default:
      return mediaPart(block.type, block.source);
  }
}

/** The output of a tool: a text, or parts. */
export function outputOf(output: string | readonly ToolOutputBlock[]): JsonValue {
  return typeof output === 'string' ? output : output.map(partOf);
}

function mediaPart(modality: keyof typeof MEDIA_TYPES, source: MediaSource): JsonObject {
  const mime_type = source.mediaType ?? MEDIA_TYPES[modality];
  if (source.type === 'base64')
    return {
      type: 'blob',
      modality,
      mime_type,
      content: `[${Math.floor((source.data.length * 3) / 4)} bytes]`,
    };
  const { url } = source;
  const uri = url.startsWith('data:') ? `[data URL of ${url.length} characters]` : withoutQuery(url);
  return { type: 'uri', modality, mime_type, uri };
}

/** The query and the user info of an address may hold a signature or a password. */
function withoutQuery(url: string): string {
  return url.replace(/[?#].*$/s, '').replace(/^([a-z][\w+.-]*:\/\/)[^/@]*@/i, '$1');
}
