import type { AssistantItem, MediaBlock, PromptItem } from '../../formatter/prompt.ts';
import type { TextBlock, ThinkingBlock, ToolResultBlock } from '../../message/blocks.ts';
import type { ToolChoice, ToolSchema } from '../../model/chat-model-base.ts';
import type { WireRequest } from '../../model/http/http-chat-model.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';

/** Under which blocks keep what this API wants back. */
export const META_KEY = 'openaiResponses';

/** The input items of one prompt item. */
export function toInputItems(item: PromptItem): readonly JsonObject[] {
  switch (item.role) {
    case 'system':
      return [{ role: 'system', content: [{ type: 'input_text', text: item.text }] }];
    case 'user':
      return [{ role: 'user', content: item.content.map(toPart) }];
    case 'assistant':
      return toAssistant(item);
    case 'tool':
      return item.results.map((result) => ({
        type: 'function_call_output',
        call_id: result.id,
        output: toOutput(result),
      }));
  }
}

/** In the order in which the model said it: a reasoning item belongs to what follows it. */
function toAssistant({ content }: AssistantItem): readonly JsonObject[] {
  return content.flatMap((block): JsonObject | readonly JsonObject[] => {
    if (block.type === 'thinking') return toReasoning(block);
    if (block.type === 'text')
      return { role: 'assistant', content: [{ type: 'output_text', text: block.text }] };
    if (block.type !== 'tool_use') return []; // the model's own media have no place here
    return {
      type: 'function_call',
      call_id: block.id,
      name: block.name,
      arguments: JSON.stringify(block.input),
    };
  });
}

/** Thinking goes back only with its encrypted form. Others could not be told from what somebody made up. */
function toReasoning({ thinking, providerMeta }: ThinkingBlock): readonly JsonObject[] {
  const meta = providerMeta?.[META_KEY];
  if (!isJsonObject(meta) || typeof meta['encryptedContent'] !== 'string') return [];
  return [
    {
      type: 'reasoning',
      ...(typeof meta['id'] === 'string' && { id: meta['id'] }),
      summary: thinking === '' ? [] : [{ type: 'summary_text', text: thinking }],
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

/** A tool is strict unless it says otherwise, and then its schema has to be of a special kind. */
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
  /** Whether the model thinks, so that its thinking can be asked for. */
  readonly isReasoning: boolean;
  readonly reasoningSummary: 'auto' | 'concise' | 'detailed' | undefined;
  readonly store: boolean;
}

/** The fields of the body besides the input and the tools. */
export function toResponsesOptions(
  { generation, structured, toolChoice, tools = [] }: WireRequest,
  { isReasoning, reasoningSummary, store }: ResponsesSettings,
): { [key: string]: JsonValue | undefined } {
  const { reasoningEffort: effort } = generation;
  return {
    stream: true,
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
