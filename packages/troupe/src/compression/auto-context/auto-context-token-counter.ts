import type { ContentBlock } from '../../message/blocks.ts';
import type { Msg } from '../../message/msg.ts';
import type { ToolSchema } from '../../model/chat-model-base.ts';
import { TokenCounterBase } from '../../token/token-counter-base.ts';

/** Fixed tokens of a message, a tool call, a tool result and a tool schema. */
const MESSAGE = 5;
const TOOL_USE = 10;
const TOOL_RESULT = 8;
const TOOL = 8;
/** Fixed tokens of thinking and media, independent of their size. */
const OTHER = 5;
const CHARS_PER_TOKEN = 2.5;

/** Estimate of AgentScope's AutoContextMemory: 2.5 characters per token. Too high for English. */
export class AutoContextTokenCounter extends TokenCounterBase {
  static override readonly componentName: string = 'autoContextTokenCounter';

  override async count(messages: readonly Msg[], tools: readonly ToolSchema[] = []): Promise<number> {
    return sum(messages, ofMsg) + sum(tools, ofTool);
  }
}

function ofMsg(msg: Msg): number {
  const { name, content } = msg;
  const role = msg.hasContentBlocks('tool_result') ? 'tool' : msg.role;
  const frame = MESSAGE + ofText(role) + ofText(name);
  return frame + (typeof content === 'string' ? ofText(content) : sum(content, ofBlock));
}

function ofBlock(block: ContentBlock): number {
  switch (block.type) {
    case 'text':
      return ofText(block.text);
    case 'tool_use': {
      const { name, id, input, rawInput = '' } = block;
      return TOOL_USE + ofText(name) + ofText(id) + ofText(JSON.stringify(input)) + ofText(rawInput);
    }
    case 'tool_result': {
      const { name, id, output } = block;
      const frame = TOOL_RESULT + ofText(name) + ofText(id);
      return frame + (typeof output === 'string' ? ofText(output) : sum(output, ofBlock));
    }
    default:
      return OTHER;
  }
}

function ofTool({ name, description = '', parameters }: ToolSchema): number {
  return TOOL + ofText(name) + ofText(description) + ofText(JSON.stringify(parameters));
}

function ofText(text: string): number {
  return Math.ceil(text.length / CHARS_PER_TOKEN);
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
