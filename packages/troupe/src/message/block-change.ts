import type { BlockType, ContentBlock } from './blocks.ts';
import type { Citation } from './citation.ts';
import type { Role } from './msg.ts';

/** Author of a message. */
export interface Sender {
  readonly name: string;
  readonly role: Role;
}

/** Id and name of a tool call, or of a call that the provider runs. */
export interface CallDetails {
  readonly toolCallId?: string;
  readonly name?: string;
  /** The provider that runs the call itself. */
  readonly executedBy?: string;
}

/**
 * A change of one block of a draft. Text, thinking, citations, tool input and audio come in
 * deltas; every block starts and ends once. `block_end` carries the block, unless
 * the deltas contain the whole block. An unfinished tool call is dropped: its
 * `block_end` has no block. A program that shows streamed text needs only the deltas.
 */
export type BlockChange =
  | ({
      readonly type: 'block_start';
      readonly msgId: string;
      readonly index: number;
      readonly blockType: BlockType;
      /** Author of the message, if different from `impliedSender`. */
      readonly sender?: Sender;
    } & CallDetails)
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
  /** Sources of the text so far. */
  | {
      readonly type: 'citations_delta';
      readonly msgId: string;
      readonly index: number;
      readonly citations: readonly Citation[];
    }
  /** An image as far as it is made, as base64, in place of the last one. */
  | {
      readonly type: 'image_delta';
      readonly msgId: string;
      readonly index: number;
      readonly data: string;
      readonly mediaType: string;
    }
  /** One piece of audio, as base64 that decodes on its own. `isSpeech`: of the message's text, read out by a `ttsModel`. */
  | {
      readonly type: 'audio_delta';
      readonly msgId: string;
      readonly index: number;
      readonly data: string;
      readonly mediaType?: string;
      readonly isSpeech?: boolean;
    }
  | {
      readonly type: 'block_end';
      readonly msgId: string;
      readonly index: number;
      readonly block?: ContentBlock;
    }
  /** The message starts again: all blocks so far are void. */
  | { readonly type: 'msg_reset'; readonly msgId: string; readonly reason: string };

/** Details of a call for the start of its block; none for other blocks. */
export function callOf(block: ContentBlock): CallDetails {
  if (block.type === 'tool_use') return { toolCallId: block.id, name: block.name };
  if (block.type !== 'provider_tool_use') return {};
  return { toolCallId: block.id, name: block.name, executedBy: block.executedBy };
}

/** The sender of a message by default: the agent that prints it, as the assistant; of a tool result, the system. */
export function impliedSender(blockType: BlockType, agentPath: readonly string[]): Sender {
  return blockType === 'tool_result'
    ? { name: 'system', role: 'system' }
    : { name: agentPath.at(-1) ?? '', role: 'assistant' };
}
