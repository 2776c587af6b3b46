import type {
  AudioBlock,
  FileBlock,
  ImageBlock,
  ProviderMeta,
  ProviderToolBlock,
  TextBlock,
  ThinkingBlock,
  ToolResultBlock,
  ToolUseBlock,
  VideoBlock,
} from '../message/blocks.ts';

export type MediaBlock = ImageBlock | AudioBlock | VideoBlock | FileBlock;

/** System instructions. */
export interface SystemItem {
  readonly role: 'system';
  readonly text: string;
}

/** Message of a user or another agent. Never empty. */
export interface UserItem {
  readonly role: 'user';
  readonly name: string;
  readonly content: readonly (TextBlock | MediaBlock)[];
}

/** Model message. Has more content than thinking. */
export interface AssistantItem {
  readonly role: 'assistant';
  readonly name: string;
  readonly content: readonly (TextBlock | ThinkingBlock | MediaBlock | ToolUseBlock | ProviderToolBlock)[];
  /** Data of the provider about the answer as a whole. */
  readonly providerMeta?: ProviderMeta;
}

/** Results of all tool calls of the preceding assistant item, in their order. */
export interface ToolItem {
  readonly role: 'tool';
  /** The tool calls, in the order of the results, if their provider left data with one. */
  readonly calls?: readonly ToolUseBlock[];
  readonly results: readonly ToolResultBlock[];
}

export type PromptItem = SystemItem | UserItem | AssistantItem | ToolItem;

export interface Prompt {
  readonly items: readonly PromptItem[];
  /** Descriptions of repairs in the new part of the history; empty for a history made by this package. */
  readonly repairs: readonly string[];
}
