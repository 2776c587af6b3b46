import type { ContentBlock, ToolOutputBlock } from '../message/blocks.ts';
import type { Msg } from '../message/msg.ts';
import type { ToolSchema } from '../model/chat-model-base.ts';
import { imageSize, type ImageSize } from './image-size.ts';
import { TokenCounterBase, type CountOptions } from './token-counter-base.ts';
import { toolTokens, type CountText } from './tool-tokens.ts';

/** Fixed tokens: the answer, a message with its role, a name, a tool call. */
const ANSWER = 3;
const MESSAGE = 4;
const NAME = 1;
const TOOL_CALL = 3;

/** Flat estimates; the real cost depends on content and provider. */
const MEDIA = { audio: 500, video: 2000, file: 2000 };

/** Names equal to a role, which are not sent. */
const PLAIN_NAMES: ReadonlySet<string> = new Set(['user', 'assistant', 'system']);

/**
 * Counts like the chat APIs: text by tokens, images by size, other media at a flat rate, plus fixed tokens
 * for each message, tool call and tool. A tool result counts as a message.
 */
export abstract class ChatTokenCounter extends TokenCounterBase {
  /** Fixed tokens of a tool. */
  protected abstract readonly perTool: number;
  protected abstract readonly countsThinking: boolean;

  /** Function that counts the tokens of a text. */
  protected abstract textCounter(): CountText | Promise<CountText>;
  /** Tokens of an image; the size may be unknown. */
  protected abstract imageTokens(size: ImageSize | undefined): number;

  override async count(
    messages: readonly Msg[],
    tools: readonly ToolSchema[] = [],
    options: CountOptions = {},
  ): Promise<number> {
    const each = await this.countEach(messages, options);
    const ofTools = tools.length === 0 ? 0 : toolTokens(tools, this.perTool, await this.textCounter());
    return each.reduce((sum, tokens) => sum + tokens, ANSWER + ofTools);
  }

  protected override async countOne(msg: Msg): Promise<number> {
    const ofText = await this.textCounter();
    const blocks = msg.getContentBlocks();
    let tokens = blocks.reduce((sum, block) => sum + this.#ofBlock(block, ofText), 0);
    const isOnlyResults = blocks.length > 0 && blocks.every((block) => block.type === 'tool_result');
    if (isOnlyResults) return tokens;
    tokens += MESSAGE;
    return PLAIN_NAMES.has(msg.name) ? tokens : tokens + NAME + ofText(msg.name);
  }

  #ofBlock(block: ContentBlock | ToolOutputBlock, ofText: CountText): number {
    switch (block.type) {
      case 'text':
        return ofText(block.text);
      case 'thinking':
        return this.countsThinking ? ofText(block.thinking) : 0;
      case 'tool_use':
      case 'provider_tool_use':
        return TOOL_CALL + ofText(block.name) + ofText(JSON.stringify(block.input));
      case 'tool_result':
      case 'provider_tool_result': {
        const { output } = block;
        if (typeof output === 'string') return MESSAGE + ofText(output);
        return output.reduce((sum, part) => sum + this.#ofBlock(part, ofText), MESSAGE);
      }
      case 'image':
        return this.imageTokens(imageSize(block.source));
      default:
        return MEDIA[block.type];
    }
  }
}
