import type { MediaBlock, PromptItem, AssistantItem, ToolItem } from '../../formatter/prompt.ts';
import { isMedia } from '../../formatter/prompt-media.ts';
import { plainOutput, shownMedia } from '../../formatter/tool-output.ts';
import type { TextBlock, ThinkingBlock, ToolUseBlock } from '../../message/blocks.ts';
import type { GenerationOptions, ToolChoice, ToolSchema } from '../../model/chat-model-base.ts';
import type { WireRequest } from '../../model/http/http-chat-model.ts';
import { isForced } from '../../model/tool-choice.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';
import type { ChatVendor } from './vendors.ts';

/** What stands for thinking that was lost, or that another model did. */
const NO_THINKING = '(not recorded)';

/** The wire messages of one prompt item. @param needsThinking whether calls without their thinking are rejected */
export function toChatMessages(
  item: PromptItem,
  vendor: ChatVendor,
  needsThinking: boolean,
): readonly JsonObject[] {
  switch (item.role) {
    case 'system':
      return [{ role: 'system', content: item.text }];
    case 'user':
      return [{ role: 'user', ...named(item.name, vendor), content: toContent(item.content, vendor) }];
    case 'assistant':
      return toAssistant(item, vendor, needsThinking);
    case 'tool':
      return toResults(item, vendor);
  }
}

function toAssistant(item: AssistantItem, vendor: ChatVendor, needsThinking: boolean): readonly JsonObject[] {
  const text = textOf(item.content.filter((block) => block.type === 'text'));
  const calls = item.content.filter((block) => block.type === 'tool_use');
  if (text === '' && calls.length === 0) return []; // the model's own sound has no place here
  return [
    {
      role: 'assistant',
      ...named(item.name, vendor),
      ...(needsThinking && calls.length > 0 && { [vendor.thinkingField]: NO_THINKING }),
      ...thinkingBack(item, calls.length > 0, vendor),
      content: text === '' ? null : text,
      ...(calls.length > 0 && { tool_calls: calls.map(toCall) }),
    },
  ];
}

function toCall({ id, name, input }: ToolUseBlock): JsonObject {
  return { id, type: 'function', function: { name, arguments: JSON.stringify(input) } };
}

/** Every result in its own message; behind the last of them, the media that they hold. */
function toResults(item: ToolItem, vendor: ChatVendor): readonly JsonObject[] {
  const messages: JsonObject[] = item.results.map((result) => ({
    role: 'tool',
    tool_call_id: result.id,
    content: plainOutput(result).text,
  }));
  const media = shownMedia(item);
  return media.length === 0 ? messages : [...messages, { role: 'user', content: toContent(media, vendor) }];
}

/** Thinking that the vendor wants to see again: its own text, and what it sent along for that. */
function thinkingBack(item: AssistantItem, hasCalls: boolean, vendor: ChatVendor): JsonObject {
  if (vendor.thinkingBack === 'never' || (vendor.thinkingBack === 'with_tool_calls' && !hasCalls)) return {};
  const blocks = item.content.filter((block) => block.type === 'thinking');
  const details = blocks.flatMap(reasoningDetails);
  if (details.length > 0) return { reasoning_details: details };
  const thinking = blocks.flatMap((block) => block.thinking || []).join('\n');
  return thinking === '' ? {} : { [vendor.thinkingField]: thinking };
}

function reasoningDetails({ providerMeta }: ThinkingBlock): readonly JsonValue[] {
  const meta = providerMeta?.['openrouter'];
  const details = isJsonObject(meta) ? meta['reasoningDetails'] : undefined;
  return Array.isArray(details) ? (details as readonly JsonValue[]) : [];
}

/** Plain text where there is nothing else: some vendors take nothing else. */
function toContent(blocks: readonly (TextBlock | MediaBlock)[], vendor: ChatVendor): JsonValue {
  if (!blocks.some(isMedia)) return textOf(blocks.filter((block) => block.type === 'text'));
  return blocks.map((block) =>
    block.type === 'text' ? { type: 'text', text: block.text } : toPart(block, vendor),
  );
}

function toPart(block: MediaBlock, vendor: ChatVendor): JsonObject {
  const { source } = block;
  const url = source.type === 'url' ? source.url : `data:${source.mediaType};base64,${source.data}`;
  switch (block.type) {
    case 'image':
      return { type: 'image_url', image_url: { url } };
    case 'video':
      return { type: 'video_url', video_url: { url } };
    case 'file':
      return { type: 'file', file: { filename: block.filename ?? 'file', file_data: url } };
    case 'audio': {
      if (source.type === 'url') return { type: 'input_audio', input_audio: { data: url, format: 'mp3' } };
      const format = /wav/.test(source.mediaType) ? 'wav' : 'mp3';
      return { type: 'input_audio', input_audio: { data: vendor.audioPrefix + source.data, format } };
    }
  }
}

function textOf(blocks: readonly TextBlock[]): string {
  return blocks.map((block) => block.text).join('\n');
}

/** Names are for those who are not simply the user or the assistant. */
function named(name: string, vendor: ChatVendor): JsonObject {
  if (!vendor.takesNames || name === 'user' || name === 'assistant') return {};
  const own = name.slice(0, 64).replace(/[^\w-]/g, '_');
  return /[^_]/.test(own) ? { name: own } : {};
}

export function toChatTool({ name, description, parameters }: ToolSchema): JsonObject {
  return {
    type: 'function',
    function: { name, ...(description !== undefined && { description }), parameters },
  };
}

/** The fields of the body besides the messages and the tools. */
export function toChatOptions(
  request: WireRequest,
  vendor: ChatVendor,
): { [key: string]: JsonValue | undefined } {
  const { generation, structured, toolChoice, tools = [] } = request;
  return {
    stream: true,
    stream_options: { include_usage: true },
    [vendor.maxTokensField]: generation.maxTokens,
    temperature: generation.temperature,
    top_p: generation.topP,
    top_k: vendor.takesTopK ? generation.topK : undefined,
    stop: generation.stop,
    seed: generation.seed,
    presence_penalty: generation.presencePenalty,
    frequency_penalty: generation.frequencyPenalty,
    parallel_tool_calls: tools.length > 0 ? generation.parallelToolCalls : undefined,
    tool_choice: tools.length > 0 ? toToolChoice(toolChoice, vendor) : undefined,
    response_format: structured && {
      type: 'json_schema',
      json_schema: { name: structured.name ?? 'answer', schema: structured.schema, strict: false },
    },
    ...thinkingSwitch(generation, vendor),
    ...generation.extra,
  };
}

function toToolChoice(choice: ToolChoice | undefined, vendor: ChatVendor): JsonValue | undefined {
  if (choice === undefined || choice === 'auto' || choice === 'none') return choice;
  if (typeof choice === 'object' && 'name' in choice) {
    return vendor.forcedChoice === 'none' ? 'auto' : { type: 'function', function: { name: choice.name } };
  }
  return isForced(choice) && vendor.forcedChoice === 'any' ? 'required' : 'auto';
}

/** Whether and how much to think, in the vendor's words. */
function thinkingSwitch(generation: GenerationOptions, vendor: ChatVendor): JsonObject {
  const { reasoningEffort: effort, thinkingTokens: tokens } = generation;
  if (effort === undefined && tokens === undefined) return {};
  const isOn = effort !== 'none' && tokens !== 0;
  switch (vendor.thinkingSwitch) {
    case 'reasoning_effort':
      return effort === undefined ? {} : { reasoning_effort: effort };
    case 'enable_thinking':
      return { enable_thinking: isOn, ...(isOn && tokens !== undefined && { thinking_budget: tokens }) };
    case 'thinking':
      return { thinking: { type: isOn ? 'enabled' : 'disabled' } };
    case 'reasoning':
      if (!isOn) return { reasoning: { enabled: false } };
      return { reasoning: tokens === undefined ? { effort: effort ?? 'medium' } : { max_tokens: tokens } };
    case 'none':
      return {};
  }
}
