import type { ContentBlock } from '../message/blocks.ts';
import type { Msg } from '../message/msg.ts';
import type { ToolSchema } from '../model/chat-model-base.ts';
import { TokenCounterBase } from './token-counter-base.ts';

/**
 * Counts characters instead of tokens: one JSON line per message (name, role, content) and per tool, without
 * the bytes of media. Equal everywhere and easy to predict.
 */
export class CharTokenCounter extends TokenCounterBase {
  static override readonly componentName: string = 'charTokenCounter';

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
