import type { ContentBlock, MediaSource, ToolOutputBlock } from '../message/blocks.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../util/json.ts';

/** Blocks in the form of AgentScope 1.x. Types that its Studio refuses become text. */
export function toAgentScopeBlocks(content: string | readonly ContentBlock[]): JsonObject[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return content.map(toAgentScopeBlock);
}

function toAgentScopeBlock(block: ContentBlock): JsonObject {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text };
    case 'thinking':
      return { type: 'thinking', thinking: block.thinking };
    case 'image':
    case 'audio':
    case 'video':
      return { type: block.type, source: toAgentScopeSource(block.source) };
    case 'file':
      return { type: 'text', text: `[file ${block.filename ?? ''}]` };
    case 'tool_use':
      return { type: 'tool_use', id: block.id, name: block.name, input: block.input };
    case 'tool_result': {
      const { id, name, output } = block;
      const shown = typeof output === 'string' ? output : output.map(toAgentScopeBlock);
      return { type: 'tool_result', id, name, output: shown };
    }
  }
}

function toAgentScopeSource(source: MediaSource): JsonObject {
  return source.type === 'base64'
    ? { type: 'base64', media_type: source.mediaType, data: source.data }
    : { type: 'url', url: source.url };
}

/** Blocks of AgentScope 1.x as content blocks. Blocks of other types, and damaged ones, become text. */
export function fromAgentScopeBlocks(blocks: JsonValue): string | ContentBlock[] {
  if (typeof blocks === 'string') return blocks;
  return Array.isArray(blocks) ? (blocks as readonly JsonValue[]).map(fromAgentScopeBlock) : [];
}

function fromAgentScopeBlock(value: JsonValue): ContentBlock {
  const block = isJsonObject(value) ? value : {};
  const text = (key: string): string => (typeof block[key] === 'string' ? block[key] : '');
  switch (block['type']) {
    case 'text':
      return { type: 'text', text: text('text') };
    case 'thinking':
      return { type: 'thinking', thinking: text('thinking') };
    case 'image':
    case 'audio':
    case 'video': {
      const source = fromAgentScopeSource(block['source']);
      return source === undefined ? asText(value) : { type: block['type'], source };
    }
    case 'tool_use': {
      const input = isJsonObject(block['input']) ? block['input'] : {};
      return { type: 'tool_use', id: text('id'), name: text('name'), input };
    }
    case 'tool_result': {
      const output = fromAgentScopeBlocks(block['output'] ?? '');
      const isShown = (one: ContentBlock): one is ToolOutputBlock =>
        one.type !== 'thinking' && one.type !== 'tool_use' && one.type !== 'tool_result';
      return {
        type: 'tool_result',
        id: text('id'),
        name: text('name'),
        output: typeof output === 'string' ? output : output.filter(isShown),
        status: 'ok',
      };
    }
    default:
      return asText(value);
  }
}

function asText(value: JsonValue): ContentBlock {
  return { type: 'text', text: JSON.stringify(value).slice(0, 10_000) };
}

function fromAgentScopeSource(value: JsonValue | undefined): MediaSource | undefined {
  if (!isJsonObject(value)) return undefined;
  const { type, media_type: mediaType, data, url } = value;
  if (type === 'base64' && typeof mediaType === 'string' && typeof data === 'string')
    return { type, mediaType, data };
  return type === 'url' && typeof url === 'string' ? { type, url } : undefined;
}
