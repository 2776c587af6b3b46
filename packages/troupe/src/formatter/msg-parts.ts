import {
  isProviderTool,
  type ContentBlock,
  type TextBlock,
  type ToolOutputBlock,
  type ToolResultBlock,
  type ToolUseBlock,
} from '../message/blocks.ts';
import type { Msg } from '../message/msg.ts';
import { fingerprint } from '../util/hash.ts';
import { readJson, type JsonObject } from '../util/json.ts';
import { mediaCaption } from './media-caption.ts';
import { providerToolText } from './provider-parts.ts';
import type { AssistantItem, SystemItem, UserItem } from './prompt.ts';

/** Parts of one message, valid for every provider. */
export interface MsgParts {
  readonly results: readonly ToolResultBlock[];
  readonly calls: readonly ToolUseBlock[];
  /** The message without tool results. Contains the tool calls. */
  readonly item: SystemItem | UserItem | AssistantItem | undefined;
}

/**
 * Escaped half of a surrogate pair; `JSON.stringify` leaves whole characters unescaped. The lookbehind
 * excludes escaped backslashes.
 */
const LONE_SURROGATE = /(?<=(?:^|[^\\])(?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g;

const known = new WeakMap<Msg, MsgParts>();
let made = 0;

/** Parts of a message, cached because messages never change. */
export function partsOf(msg: Msg): MsgParts {
  let parts = known.get(msg);
  if (parts === undefined) {
    parts = split(msg);
    made++;
    known.set(msg, parts);
  }
  return parts;
}

/** Number of messages split so far. */
export function partsMade(): number {
  return made;
}

function split(msg: Msg): MsgParts {
  const results: ToolResultBlock[] = [];
  const calls: ToolUseBlock[] = [];
  const rest: Exclude<ContentBlock, ToolResultBlock>[] = [];
  for (const block of msg.getContentBlocks()) {
    if (block.type === 'tool_result') {
      results.push(cleanResult(block));
      continue;
    }
    if ((block.type === 'text' && isBlank(block.text)) || (block.type === 'thinking' && isUseless(block)))
      continue;
    const clean = cleanBlock(block);
    if (clean.type === 'tool_use') calls.push(clean);
    rest.push(clean);
  }
  return { results, calls, item: toItem(msg, rest, calls.length > 0) };
}

function toItem(
  msg: Msg,
  blocks: readonly Exclude<ContentBlock, ToolResultBlock>[],
  hasCalls: boolean,
): MsgParts['item'] {
  if (msg.role === 'assistant' || hasCalls) {
    const hasContent = blocks.some((block) => block.type !== 'thinking');
    const meta = msg.providerMeta && { providerMeta: msg.providerMeta };
    return hasContent
      ? { role: 'assistant', name: wellFormed(msg.name), content: blocks, ...meta }
      : undefined;
  }
  const content = blocks
    .map((block) => (isProviderTool(block) ? providerToolText(block) : block))
    .filter((block) => block.type !== 'thinking' && block.type !== 'tool_use');
  if (content.length === 0) return undefined;
  if (msg.role === 'system' && content.every((block) => block.type === 'text')) {
    return {
      role: 'system',
      text: content.map((block) => (block.type === 'text' ? block.text : '')).join('\n'),
    };
  }
  return { role: 'user', name: wellFormed(msg.name), content };
}

function cleanBlock<B extends Exclude<ContentBlock, ToolResultBlock>>(block: B): B {
  if (block.type === 'text') {
    const whole: TextBlock = block.citations === undefined ? block : (wellFormedJson(block) as TextBlock);
    return (whole.text.isWellFormed() ? whole : { ...whole, text: wellFormed(whole.text) }) as B;
  }
  if (isProviderTool(block)) return wellFormedJson(block) as B;
  if (block.type === 'thinking') {
    const isSigned = block.providerMeta !== undefined; // then every character counts
    return isSigned || block.thinking.isWellFormed()
      ? block
      : { ...block, thinking: wellFormed(block.thinking) };
  }
  if (block.type !== 'tool_use') return block;
  const { rawInput: _, ...call } = block; // unreadable input is not sent again
  return {
    ...call,
    id: cleanId(block.id),
    name: cleanToolName(block.name),
    input: wellFormedJson(block.input) as JsonObject,
  } as B;
}

function cleanResult(block: ToolResultBlock): ToolResultBlock {
  const { output } = block;
  return {
    ...block,
    id: cleanId(block.id),
    name: cleanToolName(block.name),
    output: typeof output === 'string' ? wellFormed(output) : output.flatMap(cleanOutput),
  };
}

/** A block of a tool result; media get a line with their URL or path before them. */
function cleanOutput(block: ToolOutputBlock): readonly ToolOutputBlock[] {
  if (block.type === 'text') return [{ ...block, text: wellFormed(block.text) }];
  const caption = mediaCaption(block);
  return caption === undefined ? [block] : [caption, block];
}

/**
 * Returns the id if it has a portable format, else an id derived from it. Some models need their own ids back
 * unchanged.
 */
export function cleanId(id: string): string {
  return fitId(id, /^[\x21-\x7e]{1,64}$/);
}

/** Returns the id if it matches the format, else an id derived from it. */
export function fitId(id: string, form: RegExp): string {
  return form.test(id) ? id : `call_${fingerprint(id)}`;
}

/** Tool name valid for every provider. Models can invent any name. */
export function cleanToolName(name: string): string {
  if (/^[\w-]{1,64}$/.test(name)) return name;
  return name.slice(0, 64).replace(/[^\w-]/g, '_') || 'unnamed';
}

/** Replaces half surrogate pairs, which providers reject, by U+FFFD. */
function wellFormed(text: string): string {
  return text.isWellFormed() ? text : text.toWellFormed();
}

function wellFormedJson(input: object): object {
  const text = JSON.stringify(input);
  return /\\ud[89a-f]/.test(text) ? (readJson(text.replace(LONE_SURROGATE, '\ufffd')) as object) : input;
}

function isBlank(text: string): boolean {
  return !/\S/.test(text);
}

function isUseless(block: { readonly thinking: string; readonly providerMeta?: object }): boolean {
  return block.providerMeta === undefined && isBlank(block.thinking);
}
