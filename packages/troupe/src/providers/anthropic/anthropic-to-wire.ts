import { fitId } from '../../formatter/msg-parts.ts';
import type { AssistantItem, MediaBlock, PromptItem, ToolItem } from '../../formatter/prompt.ts';
import {
  isProviderTool,
  type ContentBlock,
  type TextBlock,
  type ThinkingBlock,
  type ToolOutputBlock,
  type ToolResultBlock,
  type ToolUseBlock,
} from '../../message/blocks.ts';
import type { ToolSchema } from '../../model/chat-model-base.ts';
import { fromBase64 } from '../../util/base64.ts';
import { isJsonObject, type JsonObject } from '../../util/json.ts';
import { wireTexts } from './tools/cited-text.ts';
import { ANTHROPIC_KEY, wireServerBlock } from './tools/server-tools.ts';

/** Image types that Claude accepts. */
const IMAGE_TYPES: readonly string[] = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];

/** Pattern of accepted tool call ids. */
const CALL_ID = /^[\w-]{1,64}$/;

/** Wire messages of a prompt item. System items after the first position become user messages. */
export function toMessages(item: PromptItem): readonly JsonObject[] {
  switch (item.role) {
    case 'system':
      return [userMessage(item.text)];
    case 'user':
      return [{ role: 'user', content: item.content.map(toPart) }];
    case 'assistant':
      return toAssistant(item);
    case 'tool':
      return [toResults(item)];
  }
}

export function userMessage(text: string): JsonObject {
  return { role: 'user', content: [{ type: 'text', text }] };
}

/** Removes the thinking of an item, for a model that must not get thinking back. */
export function withoutThinking(item: PromptItem): PromptItem {
  if (item.role !== 'assistant') return item;
  return { ...item, content: item.content.filter((block) => block.type !== 'thinking') };
}

function toAssistant({ content }: AssistantItem): readonly JsonObject[] {
  const parts: JsonObject[] = [];
  let end = 0; // Claude rejects thinking at the very end
  for (const block of content) {
    if (block.type === 'thinking') parts.push(...toThinking(block));
    else if (block.type === 'text') end = parts.push(...(wireTexts(block) ?? [plainText(block)]));
    else if (block.type === 'tool_use') end = parts.push(toToolUse(block));
    else if (isProviderTool(block)) {
      const raw = wireServerBlock(block);
      if (raw !== undefined) end = parts.push(raw);
    } // the wire has no field for media made by the model
  }
  return end === 0 ? [] : [{ role: 'assistant', content: parts.slice(0, end) }];
}

function plainText({ text }: TextBlock): JsonObject {
  return { type: 'text', text };
}

/** A call from code of a server tool goes back with its caller. */
function toToolUse({ id, name, input, providerMeta }: ToolUseBlock): JsonObject {
  const meta = providerMeta?.[ANTHROPIC_KEY];
  const caller = isJsonObject(meta) ? meta['caller'] : undefined;
  const by = isJsonObject(caller) && isCaller(caller) ? { caller } : {};
  return { type: 'tool_use', id: fitId(id, CALL_ID), name, input, ...by };
}

function isCaller({ type, tool_id: id }: JsonObject): boolean {
  return typeof type === 'string' && /^code_execution_\d+$/.test(type) && typeof id === 'string';
}

/** Whether a block of an answer goes back as Claude has written it. */
export function isTakenByClaude(block: ContentBlock): boolean {
  if (block.type === 'text') return wireTexts(block) !== undefined;
  return wireServerBlock(block) !== undefined;
}

/** Sends thinking back unchanged, or not at all: Claude rejects thinking without its signature. */
function toThinking({ thinking, providerMeta }: ThinkingBlock): readonly JsonObject[] {
  const meta = providerMeta?.['anthropic'];
  if (!isJsonObject(meta)) return [];
  const { signature, redactedData: data } = meta;
  if (typeof data === 'string') return [{ type: 'redacted_thinking', data }];
  return typeof signature === 'string' && signature !== '' ? [{ type: 'thinking', thinking, signature }] : [];
}

/** Whether an item begins with thinking that can be sent back. */
export function beginsWithThinking({ content }: AssistantItem): boolean {
  const [first] = content;
  return first?.type === 'thinking' && toThinking(first).length > 0;
}

/** Puts all tool results of a turn in one message: Claude allows nothing in between. */
function toResults({ results }: ToolItem): JsonObject {
  return { role: 'user', content: results.map(toResult) };
}

function toResult({ id, output, status }: ToolResultBlock): JsonObject {
  const parts = (typeof output === 'string' ? [{ type: 'text', text: output } as const] : output)
    .filter((block) => block.type !== 'text' || /\S/.test(block.text))
    .map(toPart);
  const isError = status !== 'ok';
  if (isError && parts.length === 0) parts.push({ type: 'text', text: `The call ended as '${status}'.` });
  return {
    type: 'tool_result',
    tool_use_id: fitId(id, CALL_ID),
    ...(parts.length > 0 && { content: parts }),
    ...(isError && { is_error: true }),
  };
}

function toPart(block: TextBlock | MediaBlock | ToolOutputBlock): JsonObject {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text };
    case 'image':
      return toImage(block);
    case 'file':
      return toDocument(block);
    case 'audio':
    case 'video':
      return leftOut(block, 'it can be neither heard nor watched');
  }
}

function toImage(block: Extract<MediaBlock, { type: 'image' }>): JsonObject {
  const { source } = block;
  if (source.type === 'url') return { type: 'image', source: byUrl(source.url) };
  const { mediaType, data } = source;
  if (!IMAGE_TYPES.includes(mediaType)) return leftOut(block, `${mediaType} can't be seen`);
  return { type: 'image', source: { type: 'base64', media_type: mediaType, data } };
}

function toDocument(block: Extract<MediaBlock, { type: 'file' }>): JsonObject {
  const { source, filename = '' } = block;
  const title = /\S/.test(filename) ? { title: filename.slice(0, 500).toWellFormed() } : {};
  if (source.type === 'url') return { type: 'document', source: byUrl(source.url), ...title };
  const { mediaType, data } = source;
  if (mediaType === 'application/pdf') {
    return { type: 'document', source: { type: 'base64', media_type: mediaType, data }, ...title };
  }
  const text = /^text\/|[/+]json\b/.test(mediaType) ? new TextDecoder().decode(fromBase64(data)) : '';
  if (!/\S/.test(text)) return leftOut(block, `${mediaType} can't be read`);
  return { type: 'document', source: { type: 'text', media_type: 'text/plain', data: text }, ...title };
}

function byUrl(url: string): JsonObject {
  return { type: 'url', url: url.toWellFormed() };
}

/** Whether Claude fetches a medium by URL. Of documents, only PDF. */
export function fetchesUrl({ type, source }: MediaBlock): boolean {
  if (source.type !== 'url' || !/^https:/i.test(source.url)) return false;
  if (type !== 'file') return type === 'image';
  return source.mediaType === undefined
    ? /\.pdf(?:[?#]|$)/i.test(source.url)
    : source.mediaType === 'application/pdf';
}

function leftOut({ type }: MediaBlock, why: string): JsonObject {
  return { type: 'text', text: `[There was ${/^[ai]/.test(type) ? 'an' : 'a'} ${type} here, but ${why}.]` };
}

export function toTool({ name, description, parameters }: ToolSchema): JsonObject {
  return {
    name,
    ...(description !== undefined && { description }),
    input_schema: { type: 'object', ...parameters },
  };
}

/**
 * Tools that were called so far: Claude rejects a history with tool calls but no tools, even when no tool
 * call is wanted.
 */
export function toolsIn(items: readonly PromptItem[]): readonly ToolSchema[] {
  const calls = items.flatMap((item) => (item.role === 'assistant' ? item.content : []));
  const names = new Set(calls.flatMap((block) => (block.type === 'tool_use' ? [block.name] : [])));
  return Array.from(names, (name) => ({ name, parameters: { type: 'object' } }));
}
