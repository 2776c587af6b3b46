import { fitId } from '../../formatter/msg-parts.ts';
import type { AssistantItem, MediaBlock, PromptItem } from '../../formatter/prompt.ts';
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
import { objectOf } from '../../model/http/wire-values.ts';
import type { OpenAITool } from './openai-tools.ts';
import { wireAnnotated } from './responses-annotations.ts';
import { wireClientCall, wireClientOutput } from './responses-client-calls.ts';
import { wireProviderItem } from './responses-provider-items.ts';

/** Pattern of tool call ids that the API accepts. */
const CALL_ID = /^.{1,64}$/;

/**
 * Key under which blocks keep the data to send back. Encrypted thinking is readable only by the vendor that
 * made the thinking.
 */
export function metaKeyOf(vendorName: string): string {
  return `${vendorName}Responses`;
}

/** Converts one prompt item to input items. @param metaKey key of the vendor whose thinking is sent back */
export function toInputItems(item: PromptItem, metaKey: string): readonly JsonObject[] {
  switch (item.role) {
    case 'system':
      return [{ role: 'system', content: [{ type: 'input_text', text: item.text }] }];
    case 'user':
      return [{ role: 'user', content: item.content.map(toPart) }];
    case 'assistant':
      return toAssistant(item, metaKey);
    case 'tool':
      return item.results.map((result, i) => toResult(result, item.calls?.[i], metaKey));
  }
}

function toResult(result: ToolResultBlock, call: ToolUseBlock | undefined, metaKey: string): JsonObject {
  const own = wireClientOutput(call, result, metaKey);
  return (
    own ?? { type: 'function_call_output', call_id: fitId(result.id, CALL_ID), output: toOutput(result) }
  );
}

/**
 * Keeps the order of the model's output: a reasoning item belongs to the next item, and is rejected alone.
 */
function toAssistant({ content }: AssistantItem, metaKey: string): readonly JsonObject[] {
  const items = content.flatMap((block) => toOutputItem(block, metaKey));
  return items.slice(0, items.findLastIndex((item) => item['type'] !== 'reasoning') + 1);
}

function toOutputItem(block: AssistantItem['content'][number], metaKey: string): readonly JsonObject[] {
  const meta = objectOf(block.providerMeta?.[metaKey]);
  switch (block.type) {
    case 'thinking':
      return toReasoning(block, meta);
    case 'text': {
      const phase = typeof meta['phase'] === 'string' && { phase: meta['phase'] };
      const parts = wireAnnotated(block, metaKey) ?? [{ type: 'output_text', text: block.text }];
      return [{ role: 'assistant', content: parts, ...phase }];
    }
    case 'tool_use': {
      const own = wireClientCall(block, metaKey);
      if (own !== undefined) return [own];
      const call = { call_id: fitId(block.id, CALL_ID), name: block.name };
      return [{ type: 'function_call', ...call, arguments: JSON.stringify(block.input) }];
    }
    default: {
      const own = wireProviderItem(block, metaKey); // the wire has no field for other media made by the model
      return own === undefined ? [] : [own];
    }
  }
}

/** Sends thinking back only in encrypted form: unencrypted thinking could be forged. */
function toReasoning({ thinking }: ThinkingBlock, meta: JsonObject): readonly JsonObject[] {
  if (typeof meta['encryptedContent'] !== 'string') return [];
  return [
    {
      type: 'reasoning',
      ...(typeof meta['id'] === 'string' && { id: meta['id'] }),
      summary: thinking === '' ? [] : [{ type: 'summary_text', text: thinking.toWellFormed() }],
      encrypted_content: meta['encryptedContent'],
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
  if (isProviderTool(block)) return block.providerMeta?.[metaKey] !== undefined;
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
  /** Whether the model thinks, so that its thinking can be requested. */
  readonly isReasoning: boolean;
  readonly reasoningSummary: 'auto' | 'concise' | 'detailed' | undefined;
  readonly store: boolean;
  readonly providerTools: readonly OpenAITool[];
}

/** The fields of the body besides the input and the tools. */
export function toResponsesOptions(
  { generation, structured, toolChoice, tools = [] }: WireRequest,
  { isReasoning, reasoningSummary, store, providerTools }: ResponsesSettings,
): { [key: string]: JsonValue | undefined } {
  const { reasoningEffort: effort } = generation;
  const hasTools = tools.length + providerTools.length > 0;
  const included = [
    ...(isReasoning ? ['reasoning.encrypted_content'] : []),
    ...providerTools.flatMap(({ include = [] }) => include),
  ];
  return {
    stream: true,
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
    ...generation.extra,
  };
}

function toToolChoice(choice: ToolChoice | undefined): JsonValue | undefined {
  if (typeof choice !== 'object') return choice;
  if ('name' in choice) return { type: 'function', name: choice.name };
  const tools = choice.allowed.map((name) => ({ type: 'function', name }));
  return { type: 'allowed_tools', mode: choice.mode ?? 'auto', tools };
}
