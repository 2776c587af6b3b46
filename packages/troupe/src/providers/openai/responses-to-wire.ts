import { fitId } from '../../formatter/msg-parts.ts';
import type { AssistantItem, MediaBlock, PromptItem } from '../../formatter/prompt.ts';
import type { TextBlock, ThinkingBlock, ToolResultBlock } from '../../message/blocks.ts';
import type { ToolChoice, ToolSchema } from '../../model/chat-model-base.ts';
import type { WireRequest } from '../../model/http/http-chat-model.ts';
import type { JsonObject, JsonValue } from '../../util/json.ts';
import { objectOf } from '../../model/http/wire-values.ts';

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
      return item.results.map((result) => ({
        type: 'function_call_output',
        call_id: fitId(result.id, CALL_ID),
        output: toOutput(result),
      }));
  }
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
      return [{ role: 'assistant', content: [{ type: 'output_text', text: block.text }], ...phase }];
    }
    case 'tool_use': {
      const call = { call_id: fitId(block.id, CALL_ID), name: block.name };
      return [{ type: 'function_call', ...call, arguments: JSON.stringify(block.input) }];
    }
    default:
      return []; // the wire has no field for media made by the model
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
}

/** The fields of the body besides the input and the tools. */
export function toResponsesOptions(
  { generation, structured, toolChoice, tools = [], settings }: WireRequest,
  { isReasoning, reasoningSummary, store }: ResponsesSettings,
): { [key: string]: JsonValue | undefined } {
  const { reasoningEffort: effort } = generation;
  return {
    stream: settings.isStreamed,
    store,
    max_output_tokens: generation.maxTokens,
    temperature: generation.temperature,
    top_p: generation.topP,
    parallel_tool_calls: tools.length > 0 ? generation.parallelToolCalls : undefined,
    tool_choice: tools.length > 0 ? toToolChoice(toolChoice) : undefined,
    text: structured && {
      format: {
        type: 'json_schema',
        name: structured.name ?? 'answer',
        schema: structured.schema,
        strict: false,
      },
    },
    include: isReasoning ? ['reasoning.encrypted_content'] : undefined,
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
