import { fitId } from '../../formatter/msg-parts.ts';
import { providerToolText } from '../../formatter/provider-parts.ts';
import type { AssistantItem, MediaBlock, PromptItem, ToolItem } from '../../formatter/prompt.ts';
import {
  isProviderTool,
  type ContentBlock,
  type TextBlock,
  type ThinkingBlock,
  type ToolResultBlock,
  type ToolUseBlock,
} from '../../message/blocks.ts';
import type { ToolChoice, ToolSchema } from '../../model/chat-model-base.ts';
import type { WireRequest } from '../../model/http/http-chat-model.ts';
import type { JsonObject, JsonValue } from '../../util/json.ts';
import { cachingFields } from './chat-to-wire.ts';
import type { ChatVendor } from './vendors.ts';
import { objectOf } from '../../model/http/wire-values.ts';
import type { OpenAITool } from './tools/openai-tools.ts';
import { wireAnnotated } from './tools/responses-annotations.ts';
import {
  isClientCall,
  wireClientCall,
  wireClientOutput,
  wordsBeside,
} from './tools/responses-client-calls.ts';
import { isTakenItem, wireProviderItem } from './tools/responses-provider-items.ts';

/** Pattern of tool call ids that the API accepts. */
const CALL_ID = /^.{1,64}$/;

/**
 * Key under which blocks keep the data to send back. Encrypted thinking is readable only by the vendor that
 * made the thinking.
 */
export function metaKeyOf(vendorName: string): string {
  return `${vendorName}Responses`;
}

/** Rules for the items that are sent back. */
export interface InputRules {
  /** Key of the vendor whose thinking is sent back. */
  readonly metaKey: string;
  /** Whether the model accepts reasoning items. Models without thinking reject reasoning items. */
  readonly takesReasoning: boolean;
  /** Whether the vendor stores items, and knows them by their ids. */
  readonly store: boolean;
}

/** Converts one prompt item to input items. */
export function toInputItems(item: PromptItem, rules: InputRules): readonly JsonObject[] {
  switch (item.role) {
    case 'system':
      return [{ role: 'system', content: [{ type: 'input_text', text: item.text }] }];
    case 'user':
      return [{ role: 'user', content: item.content.map(toPart) }];
    case 'assistant':
      return toAssistant(item, rules);
    case 'tool':
      return toResults(item, rules.metaKey);
  }
}

/** All results, and behind them the words that have no place in an item of their own. */
function toResults({ results, calls = [] }: ToolItem, metaKey: string): readonly JsonObject[] {
  const words = results.flatMap((result, i) => {
    const text = wordsBeside(calls[i], result, metaKey);
    return text === '' ? [] : [{ type: 'input_text', text: `The tool '${result.name}' says: ${text}` }];
  });
  return [
    ...results.map((result, i) => toResult(result, calls[i], metaKey)),
    ...(words.length > 0 ? [{ role: 'user', content: words }] : []),
  ];
}

function toResult(result: ToolResultBlock, call: ToolUseBlock | undefined, metaKey: string): JsonObject {
  const own = wireClientOutput(call, result, metaKey);
  if (own !== undefined) return own;
  const { caller } = callFields(call, metaKey);
  const by = caller && { caller };
  return {
    type: 'function_call_output',
    call_id: fitId(result.id, CALL_ID),
    output: toOutput(result),
    ...by,
  };
}

/** Fields of a function call to send back: the calling program, and the namespace of the tool. */
function callFields(
  call: ToolUseBlock | undefined,
  metaKey: string,
): { readonly caller?: JsonObject; readonly namespace?: string } {
  const meta = objectOf(call?.providerMeta?.[metaKey]);
  const caller = objectOf(meta['caller']);
  const isCaller = caller['type'] === 'program' && typeof caller['caller_id'] === 'string';
  const { namespace } = meta;
  return {
    ...(isCaller && { caller: { type: 'program', caller_id: caller['caller_id'] ?? '' } }),
    ...(typeof namespace === 'string' && namespace !== '' && { namespace }),
  };
}

/**
 * Keeps the order of the model's output: a reasoning item belongs to the next item, and is rejected alone.
 */
function toAssistant(item: AssistantItem, given: InputRules): readonly JsonObject[] {
  const { content, providerMeta } = item;
  // Data about the answer come with its end; an answer that was cut off is not stored.
  const rules = { ...given, store: given.store && providerMeta?.[given.metaKey] !== undefined };
  const all = withStoredThinking(content, rules).flatMap((block) => toOutputItem(block, rules));
  const items = all.flatMap((item, i) => withoutRepetition(item, all.slice(0, i)));
  const whole = items.slice(0, items.findLastIndex((item) => item['type'] !== 'reasoning') + 1);
  return rules.store ? whole.map(withPairedId) : whole;
}

/**
 * Turns calls of the vendor's own tools into text where the stored thinking before them is not sent: the vendor knows both by
 * their ids, and rejects such a call alone.
 */
function withStoredThinking(content: AssistantItem['content'], rules: InputRules): AssistantItem['content'] {
  const alone = new Set<string>();
  let isLost = false;
  const blocks: AssistantItem['content'][number][] = [];
  for (const block of content) {
    if (isLost && block.type === 'image') continue; // made by such a call
    if (block.type === 'thinking')
      isLost = isStoredThinking(block, rules) && toOutputItem(block, rules).length === 0;
    else if (block.type === 'provider_tool_use' && isLost) alone.add(block.id);
    else if (block.type !== 'provider_tool_result') isLost = false;
    const isAlone = isProviderTool(block) && alone.has(block.id);
    blocks.push(isAlone ? providerToolText(block) : block);
  }
  return alone.size === 0 ? content : blocks;
}

/** Whether the vendor has stored some thinking. */
function isStoredThinking({ providerMeta }: ThinkingBlock, { metaKey, store }: InputRules): boolean {
  const { id, isStored } = objectOf(providerMeta?.[metaKey]);
  return typeof id === 'string' && (isStored === true || store);
}

/** Leaves out an item that comes twice, which the API refuses; a call of the program's stays, without its item's id. */
function withoutRepetition(item: JsonObject, before: readonly JsonObject[]): readonly JsonObject[] {
  const { id, ...rest } = item;
  if (id === undefined || !before.some((one) => one['id'] === id)) return [item];
  return isClientCall(item) ? [rest] : [];
}

/**
 * Leaves out an id without its counterpart: a vendor that stores items rejects a reasoning item by its id
 * unless the next item has its own, and the other way round.
 */
function withPairedId(item: JsonObject, i: number, all: readonly JsonObject[]): JsonObject {
  const isReasoning = item['type'] === 'reasoning';
  const isOptional = isReasoning || item['type'] === 'message' || item['type'] === 'function_call';
  if (!isOptional) return item; // items of other types need their ids
  const other = isReasoning ? all.slice(i + 1).find(({ type }) => type !== 'reasoning') : all[i - 1];
  const isPair = isReasoning || other?.['type'] === 'reasoning';
  if (isPair && typeof other?.['id'] === 'string') return item;
  const { id: _, ...rest } = item;
  return rest;
}

function toOutputItem(
  block: AssistantItem['content'][number],
  { metaKey, takesReasoning, store }: InputRules,
): readonly JsonObject[] {
  const meta = objectOf(block.providerMeta?.[metaKey]);
  const id = typeof meta['id'] === 'string' && meta['id'] !== '' && { id: meta['id'] };
  const ownId = store && id;
  switch (block.type) {
    case 'thinking':
      return takesReasoning ? toReasoning(block, meta, store) : [];
    case 'text': {
      const phase = typeof meta['phase'] === 'string' && { phase: meta['phase'] };
      const content = wireAnnotated(block, metaKey) ?? [{ type: 'output_text', text: block.text }];
      return [{ ...(ownId && { type: 'message' }), ...ownId, role: 'assistant', content, ...phase }];
    }
    case 'tool_use': {
      const own = wireClientCall(block, metaKey);
      if (own !== undefined) return [own];
      const call = { call_id: fitId(block.id, CALL_ID), name: block.name };
      const fields = callFields(block, metaKey);
      return [
        { type: 'function_call', ...ownId, ...call, arguments: JSON.stringify(block.input), ...fields },
      ];
    }
    default: {
      const own = wireProviderItem(block, metaKey); // the wire has no field for other media made by the model
      return own === undefined ? [] : [own];
    }
  }
}

/** Sends thinking back as its vendor gave it: encrypted, as it is, or by the id under which it is stored. Other thinking could be forged. */
function toReasoning({ thinking }: ThinkingBlock, meta: JsonObject, store: boolean): readonly JsonObject[] {
  const { id, encryptedContent, isRaw } = meta;
  const isStored = meta['isStored'] === true && store;
  if (typeof encryptedContent !== 'string' && isRaw !== true && !isStored) return [];
  const text = thinking.toWellFormed();
  return [
    {
      type: 'reasoning',
      ...(typeof id === 'string' && id !== '' && { id }),
      summary: isRaw === true || thinking === '' ? [] : [{ type: 'summary_text', text }],
      ...(isRaw === true && { content: [{ type: 'reasoning_text', text }] }),
      ...(typeof encryptedContent === 'string' && { encrypted_content: encryptedContent }),
    },
  ];
}

function toOutput({ output }: ToolResultBlock): JsonValue {
  if (typeof output === 'string') return output;
  if (output.length === 0) return '';
  if (output.every((block) => block.type === 'text')) return output.map((block) => block.text).join('\n');
  return output.map(toPart);
}

function toPart(block: TextBlock | MediaBlock): JsonObject {
  if (block.type === 'text') return { type: 'input_text', text: block.text };
  const { source } = block;
  const url = source.type === 'url' ? source.url : `data:${source.mediaType};base64,${source.data}`;
  if (block.type === 'image') return { type: 'input_image', image_url: url, detail: 'auto' };
  if (source.type === 'url') return { type: 'input_file', file_url: url };
  return {
    type: 'input_file',
    filename: block.type === 'file' ? (block.filename ?? 'file') : block.type,
    file_data: url,
  };
}

/** Whether a block of an answer goes back as the vendor has made it. */
export function isTakenByResponses(block: ContentBlock, metaKey: string): boolean {
  if (isProviderTool(block)) return isTakenItem(block, metaKey);
  return block.type === 'text' && wireAnnotated(block, metaKey) !== undefined;
}

/** Marks a tool as not strict unless asked for: strict mode requires a special kind of schema. */
export function toResponsesTool({ name, description, parameters }: ToolSchema): JsonObject {
  return {
    type: 'function',
    name,
    ...(description !== undefined && { description }),
    parameters,
    strict: false,
  };
}

export interface ResponsesSettings {
  /** Whether the model thinks, so that its thinking can be requested; undefined if unknown. */
  readonly isReasoning: boolean | undefined;
  readonly reasoningSummary: 'auto' | 'concise' | 'detailed' | undefined;
  readonly store: boolean;
  readonly providerTools: readonly OpenAITool[];
  readonly vendor: ChatVendor;
}

/** The fields of the body besides the input and the tools. */
export function toResponsesOptions(
  { generation, structured, toolChoice, tools = [], settings }: WireRequest,
  { isReasoning, reasoningSummary, store, providerTools, vendor }: ResponsesSettings,
): { [key: string]: JsonValue | undefined } {
  const { reasoningEffort: effort } = generation;
  const hasTools = tools.length + providerTools.length > 0;
  const included = [
    ...(isReasoning ? ['reasoning.encrypted_content'] : []),
    ...providerTools.flatMap(({ include = [] }) => include),
  ];
  return {
    stream: settings.isStreamed,
    store,
    max_output_tokens: generation.maxTokens,
    temperature: generation.temperature,
    top_p: generation.topP,
    parallel_tool_calls: hasTools ? generation.parallelToolCalls : undefined,
    tool_choice: hasTools ? toToolChoice(toolChoice) : undefined,
    text: structured && {
      format: {
        type: 'json_schema',
        name: structured.name ?? 'answer',
        schema: structured.schema,
        strict: false,
      },
    },
    include: included.length > 0 ? included : undefined,
    reasoning:
      isReasoning && (effort !== undefined || reasoningSummary !== undefined)
        ? {
            ...(effort !== undefined && { effort }),
            ...(reasoningSummary !== undefined && { summary: reasoningSummary }),
          }
        : undefined,
    service_tier: vendor.takesServiceTier ? generation.serviceTier : undefined,
    ...cachingFields(generation.caching, vendor),
    ...generation.extra,
  };
}

function toToolChoice(choice: ToolChoice | undefined): JsonValue | undefined {
  if (typeof choice !== 'object') return choice;
  if ('name' in choice) return { type: 'function', name: choice.name };
  const tools = choice.allowed.map((name) => ({ type: 'function', name }));
  return { type: 'allowed_tools', mode: choice.mode ?? 'auto', tools };
}
