import type { AssistantItem, MediaBlock, PromptItem, ToolItem } from '../../formatter/prompt.ts';
import { plainOutput, shownMedia } from '../../formatter/tool-output.ts';
import type { TextBlock } from '../../message/blocks.ts';
import type { GenerationOptions, ToolSchema } from '../../model/chat-model-base.ts';
import type { WireRequest } from '../../model/http/http-chat-model.ts';
import { toolsForChoice } from '../../model/tool-choice.ts';
import type { JsonObject, JsonValue } from '../../util/json.ts';

/** The wire messages of one prompt item. */
export function toOllamaMessages(item: PromptItem): readonly JsonObject[] {
  switch (item.role) {
    case 'system':
      return [{ role: 'system', content: item.text }];
    case 'user':
      return [toUser(item.content)];
    case 'assistant':
      return toAssistant(item);
    case 'tool':
      return toResults(item);
  }
}

function toUser(blocks: readonly (TextBlock | MediaBlock)[]): JsonObject {
  const images = blocks.flatMap((block) =>
    block.type === 'image' && block.source.type === 'base64' ? block.source.data : [],
  );
  return { role: 'user', content: textOf(blocks), ...(images.length > 0 && { images }) };
}

/**
 * Sends thinking back only with its tool calls, where models expect thinking. Thinking signed or marked by
 * another provider is left out.
 */
function toAssistant({ content }: AssistantItem): readonly JsonObject[] {
  const calls = content.filter((block) => block.type === 'tool_use');
  const thinking = content
    .flatMap((block) => (block.type === 'thinking' && block.providerMeta === undefined ? block.thinking : []))
    .join('\n');
  const text = textOf(content);
  if (text === '' && calls.length === 0) return [];
  return [
    {
      role: 'assistant',
      content: text,
      ...(calls.length > 0 && thinking !== '' && { thinking }),
      ...(calls.length > 0 && {
        tool_calls: calls.map(({ id, name, input }) => ({ id, function: { name, arguments: input } })),
      }),
    },
  ];
}

function toResults(item: ToolItem): readonly JsonObject[] {
  const messages: JsonObject[] = item.results.map((result) => ({
    role: 'tool',
    content: plainOutput(result),
    tool_name: result.name,
    tool_call_id: result.id,
  }));
  const media = shownMedia(item);
  return media.length === 0 ? messages : [...messages, toUser(media)];
}

function textOf(blocks: readonly { readonly type: string }[]): string {
  return blocks
    .filter((block): block is TextBlock => block.type === 'text')
    .map((block) => block.text)
    .join('\n');
}

export function toOllamaTool({ name, description, parameters }: ToolSchema): JsonObject {
  return { type: 'function', function: { name, description: description ?? '', parameters } };
}

/** Tools to offer. Ollama has no tool choice, only the list of tools. */
export function ollamaTools(request: WireRequest): readonly ToolSchema[] {
  const { toolChoice } = request;
  if (toolChoice === 'none') return [];
  const tools = toolsForChoice(request);
  if (typeof toolChoice !== 'object' || !('name' in toolChoice)) return tools;
  return tools.filter((tool) => tool.name === toolChoice.name);
}

/** The fields of the body besides the messages and the tools. */
export function toOllamaOptions(
  { generation, structured, settings }: WireRequest,
  modelName: string,
  keepAlive: string | number | undefined,
): { [key: string]: JsonValue | undefined } {
  const { options: extraOptions, ...extra } = generation.extra ?? {};
  const options = definedOnly({
    num_predict: generation.maxTokens,
    temperature: generation.temperature,
    top_p: generation.topP,
    top_k: generation.topK,
    stop: generation.stop,
    seed: generation.seed,
    presence_penalty: generation.presencePenalty,
    frequency_penalty: generation.frequencyPenalty,
    ...(extraOptions as JsonObject | undefined),
  });
  return {
    stream: settings.isStreamed,
    think: toThink(generation, modelName),
    format: structured?.schema,
    options: Object.keys(options).length > 0 ? options : undefined,
    keep_alive: keepAlive,
    ...extra,
  };
}

const LEVELS = {
  none: 'low',
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'high',
} as const;

/**
 * Switch for thinking; undefined leaves the decision to the model. Only gpt-oss has levels, and can't be
 * switched off.
 */
function toThink(
  { reasoningEffort: effort, thinkingTokens: tokens }: GenerationOptions,
  modelName: string,
): JsonValue | undefined {
  const isOff = effort === 'none' || tokens === 0;
  if (/gpt-?oss/i.test(modelName)) return isOff ? 'low' : effort && LEVELS[effort];
  return effort === undefined && tokens === undefined ? undefined : !isOff;
}

function definedOnly(fields: { readonly [key: string]: JsonValue | undefined }): JsonObject {
  const defined: { [key: string]: JsonValue } = {};
  for (const [key, value] of Object.entries(fields)) if (value !== undefined) defined[key] = value;
  return defined;
}
