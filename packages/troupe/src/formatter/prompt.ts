import type {
  AudioBlock,
  FileBlock,
  ImageBlock,
  TextBlock,
  ThinkingBlock,
  ToolResultBlock,
  ToolUseBlock,
  VideoBlock,
} from '../message/blocks.ts';

export type MediaBlock = ImageBlock | AudioBlock | VideoBlock | FileBlock;

/** What the system says, e.g. the agent's instructions. */
export interface SystemItem {
  readonly role: 'system';
  readonly text: string;
}

/** What a user, or another agent, says. Never empty. */
export interface UserItem {
  readonly role: 'user';
  readonly name: string;
  readonly content: readonly (TextBlock | MediaBlock)[];
}

/** What the model said. It holds more than thinking. */
export interface AssistantItem {
  readonly role: 'assistant';
  readonly name: string;
  readonly content: readonly (TextBlock | ThinkingBlock | MediaBlock | ToolUseBlock)[];
}

/** The results of all calls of the assistant item right before it, in the order of the calls. */
export interface ToolItem {
  readonly role: 'tool';
  readonly results: readonly ToolResultBlock[];
}

export type PromptItem = SystemItem | UserItem | AssistantItem | ToolItem;

export interface Prompt {
  readonly items: readonly PromptItem[];
  /** What had to be put right in what is new, in words; empty for a history of our own. */
  readonly repairs: readonly string[];
}
