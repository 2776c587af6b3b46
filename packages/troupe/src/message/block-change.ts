import type { BlockType, ContentBlock } from './blocks.ts';
import type { Role } from './msg.ts';

/** Author of a message. */
export interface Sender {
  readonly name: string;
  readonly role: Role;
}

/**
 * A change of one block of a draft. Text, thinking, tool input and audio come in
 * deltas; every block starts and ends once. `block_end` carries the block, unless
 * the deltas contain the whole block. An unfinished tool call is dropped: its
 * `block_end` has no block. A program that shows streamed text needs only the deltas.
 */
export type BlockChange =
  | {
      readonly type: 'block_start';
      readonly msgId: string;
      readonly index: number;
      readonly blockType: BlockType;
      /** Id and name of a tool call. */
      readonly toolCallId?: string;
      readonly name?: string;
      /** Author of the message, if different from `impliedSender`. */
      readonly sender?: Sender;
    }
  | { readonly type: 'text_delta'; readonly msgId: string; readonly index: number; readonly text: string }
  | {
      readonly type: 'thinking_delta';
      readonly msgId: string;
      readonly index: number;
      readonly thinking: string;
    }
  | {
      readonly type: 'tool_input_delta';
      readonly msgId: string;
      readonly index: number;
      readonly json: string;
    }
  /** One piece of audio, as base64 that decodes on its own. */
  | { readonly type: 'audio_delta'; readonly msgId: string; readonly index: number; readonly data: string }
  | {
      readonly type: 'block_end';
      readonly msgId: string;
      readonly index: number;
      readonly block?: ContentBlock;
    }
  /** The message starts again: all blocks so far are void. */
  | { readonly type: 'msg_reset'; readonly msgId: string; readonly reason: string };

/** The sender of a message by default: the agent that prints it, as the assistant; of a tool result, the system. */
export function impliedSender(blockType: BlockType, agentPath: readonly string[]): Sender {
  return blockType === 'tool_result'
    ? { name: 'system', role: 'system' }
    : { name: agentPath.at(-1) ?? '', role: 'assistant' };
}
