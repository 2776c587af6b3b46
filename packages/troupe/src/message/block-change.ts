import type { BlockType, ContentBlock } from './blocks.ts';

/**
 * What happened to one block of a message while it was written. Text, thinking
 * and tool input come in deltas; every block starts and ends once. `block_end`
 * carries the block, except where the deltas said it all, and except for a tool
 * call that was never finished: that one is dropped. Who shows text as it comes
 * needs no more than the deltas.
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
  /** Sound, as base64 that can be decoded by itself. */
  | { readonly type: 'audio_delta'; readonly msgId: string; readonly index: number; readonly data: string }
  | {
      readonly type: 'block_end';
      readonly msgId: string;
      readonly index: number;
      readonly block?: ContentBlock;
    }
  /** The message starts anew: its blocks so far are void. */
  | { readonly type: 'msg_reset'; readonly msgId: string; readonly reason: string };
