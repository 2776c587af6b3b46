import type { ContentBlock } from '../message/blocks.ts';
import type { Msg } from '../message/msg.ts';
import type { ToolSchema } from '../model/chat-model-base.ts';
import { TokenCounterBase } from './token-counter-base.ts';

/**
 * Counts characters: a line of JSON for each message, with its name, role and content,
 * and one for each tool. The bytes of media are left out. Not tokens at all, but
 * the same everywhere, and easy to reason about.
 */
export class CharTokenCounter extends TokenCounterBase {
  override async count(messages: readonly Msg[], tools: readonly ToolSchema[] = []): Promise<number> {
    return [...messages.map(dump), ...tools].reduce((sum, line) => sum + JSON.stringify(line).length + 1, 0);
  }
}

function dump({ name, role, content }: Msg): object {
  return { name, role, content: typeof content === 'string' ? content : content.map(withoutBytes) };
}

function withoutBytes(block: ContentBlock): object {
  if ('source' in block && block.source.type === 'base64') {
    return { ...block, source: { ...block.source, data: '' } };
  }
  if (block.type === 'tool_result' && typeof block.output !== 'string') {
    return { ...block, output: block.output.map(withoutBytes) };
  }
  return block;
}
