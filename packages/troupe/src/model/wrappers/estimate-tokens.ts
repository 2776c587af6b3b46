import type { ContentBlock } from '../../message/blocks.ts';
import type { Msg } from '../../message/msg.ts';
import type { ModelRequest } from '../chat-model-base.ts';

export const BYTES_PER_TOKEN = 4;
const TOKENS_PER_MESSAGE = 4;
const TOKENS_PER_MEDIUM = 1000;

const known = new WeakMap<object, number>();

/** Rough number of prompt tokens of a request. Caches the estimate of each message and tool. */
export function estimateTokens({ messages, tools = [] }: ModelRequest): number {
  const ofMessages = messages.reduce((sum, msg) => sum + once(msg, () => ofMsg(msg)), 0);
  return tools.reduce((sum, tool) => sum + once(tool, () => ofText(JSON.stringify(tool))), ofMessages);
}

function once(value: object, estimate: () => number): number {
  let tokens = known.get(value);
  if (tokens === undefined) known.set(value, (tokens = estimate()));
  return tokens;
}

function ofMsg(msg: Msg): number {
  return msg.getContentBlocks().reduce((sum, block) => sum + ofBlock(block), TOKENS_PER_MESSAGE);
}

function ofBlock(block: ContentBlock): number {
  switch (block.type) {
    case 'text':
      return ofText(block.text);
    case 'thinking':
      return ofText(block.thinking);
    case 'tool_use':
    case 'provider_tool_use':
      return ofText(block.name + JSON.stringify(block.input));
    case 'tool_result':
    case 'provider_tool_result':
      if (typeof block.output === 'string') return ofText(block.output);
      return block.output.reduce((sum, part) => sum + ofBlock(part), 0);
    case 'image':
    case 'audio':
    case 'video':
    case 'file':
      return TOKENS_PER_MEDIUM;
  }
}

function ofText(text: string): number {
  return Math.ceil(utf8Length(text) / BYTES_PER_TOKEN);
}

/** UTF-8 bytes of a text: a Chinese character takes as many tokens as several Latin letters. */
export function utf8Length(text: string): number {
  let bytes = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : 3;
  }
  return bytes;
}
