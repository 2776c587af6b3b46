import type { MediaBlock, PromptItem, AssistantItem, ToolItem } from '../../formatter/prompt.ts';
import { isMedia } from '../../formatter/prompt-media.ts';
import { plainOutput, shownMedia } from '../../formatter/tool-output.ts';
import type { MediaSource, TextBlock, ThinkingBlock, ToolUseBlock } from '../../message/blocks.ts';
import { TroupeError } from '../../errors.ts';
import type { Caching, GenerationOptions, ToolChoice, ToolSchema } from '../../model/chat-model-base.ts';
import type { WireRequest } from '../../model/http/http-chat-model.ts';
import { objectOf, objectsOf } from '../../model/http/wire-values.ts';
import { isForced } from '../../model/tool-choice.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';
import { keptFields } from './chat-tool-calls.ts';
import type { ChatDialect } from './dialect.ts';
import { recordsOf } from './tools/thinking-record.ts';
import { THINKING_FIELDS, type ChatVendor, type ThinkingField } from './vendors.ts';

/** Placeholder for thinking that was lost or made by another model. */
const NO_THINKING = '(not recorded)';
/** Stands between tool results and their media, where a user must not follow a tool. */
const SEE_MEDIA: JsonObject = { role: 'assistant', content: '(The tool results have media.)' };

/** Converts one prompt item to wire messages. */
export function toChatMessages(item: PromptItem, dialect: ChatDialect): readonly JsonObject[] {
  const { vendor } = dialect;
  switch (item.role) {
    case 'system':
      return [{ role: 'system', content: item.text }];
    case 'user':
      return [{ role: 'user', ...named(item.name, vendor), content: toContent(item.content, vendor) }];
    case 'assistant':
      return toAssistant(item, dialect);
    case 'tool':
      return toResults(item, dialect);
  }
}

function toAssistant(item: AssistantItem, dialect: ChatDialect): readonly JsonObject[] {
  const { vendor } = dialect;
  const text = textOf(item.content.filter((block) => block.type === 'text'));
  const calls = item.content.filter((block) => block.type === 'tool_use');
  if (text === '' && calls.length === 0) return []; // the wire has no field for sound made by the model
  const { parts, ...thinking } = thinkingBack(item, calls.length > 0, dialect);
  const content = text === '' ? null : text;
  return [
    {
      role: 'assistant',
      ...named(item.name, vendor),
      ...(dialect.needsThinking && calls.length > 0 && { [vendor.thinkingField]: NO_THINKING }),
      ...thinking,
      content: parts === undefined ? content : [...parts, ...(text === '' ? [] : [{ type: 'text', text }])],
      ...filesBack(item, dialect),
      ...(calls.length > 0 && { tool_calls: calls.map((call) => toCall(call, dialect)) }),
    },
  ];
}

/** Annotations of files that OpenRouter has read: sent back, they save reading the files again. */
function filesBack({ providerMeta }: AssistantItem, { name }: ChatDialect): JsonObject {
  if (name !== 'openrouter') return {};
  const annotations = objectsOf(objectOf(providerMeta?.[name])['annotations']).filter(
    ({ type }) => type === 'file',
  );
  return annotations.length === 0 ? {} : { annotations };
}

/** A tool call, with the fields that its vendor wants back. */
function toCall(call: ToolUseBlock, dialect: ChatDialect): JsonObject {
  const { name, input, providerMeta } = call;
  const kept = keptFields(objectOf(objectOf(providerMeta?.[dialect.name])['fields']));
  const called = { name, arguments: JSON.stringify(input) };
  return { id: dialect.callId(call.id), type: 'function', function: called, ...kept };
}

/** Puts every tool result in its own message, followed by a message with the media of all results. */
function toResults(item: ToolItem, { vendor, callId }: ChatDialect): readonly JsonObject[] {
  const messages: JsonObject[] = item.results.map((result) => ({
    role: 'tool',
    tool_call_id: callId(result.id),
    content: plainOutput(result),
  }));
  const media = shownMedia(item);
  if (media.length === 0) return messages;
  const between = vendor.roleOrder === 'any' ? [] : [SEE_MEDIA];
  return [...messages, ...between, { role: 'user', content: toContent(media, vendor) }];
}

/** Thinking of an answer in the fields of a message. */
interface ThinkingBack {
  readonly reasoning_content?: string;
  readonly reasoning?: string;
  readonly reasoning_details?: readonly JsonValue[];
  readonly thinking_blocks?: readonly JsonValue[];
  /** Thinking that goes into the content. */
  readonly parts?: readonly JsonObject[];
}

/**
 * Returns the thinking to send back: only the vendor's own, as text in the field in which it came, or as the
 * record sent with the answer.
 */
function thinkingBack(item: AssistantItem, hasCalls: boolean, { name, vendor }: ChatDialect): ThinkingBack {
  if (vendor.thinkingBack === 'never' || (vendor.thinkingBack === 'with_tool_calls' && !hasCalls)) return {};
  const blocks = item.content
    .filter((block) => block.type === 'thinking')
    .filter(({ providerMeta }) => isJsonObject(providerMeta?.[name]));
  const records = recordsOf(blocks, name);
  if (Object.keys(records).length > 0) return records;
  const thinking = blocks.flatMap((block) => block.thinking || []).join('\n');
  if (thinking === '') return {};
  const text = thinking.toWellFormed();
  switch (fieldOf(blocks[0], name) ?? vendor.thinkingField) {
    case 'reasoning':
      return { reasoning: text };
    case 'reasoning_content':
      return { reasoning_content: text };
    case 'content':
      return { parts: [{ type: 'thinking', thinking: [{ type: 'text', text }] }] };
    case 'extra_content':
      return {}; // Google refuses its own thinking
  }
}

/** Field in which thinking came, if not the usual one of the vendor. */
function fieldOf(block: ThinkingBlock | undefined, vendorName: string): ThinkingField | undefined {
  const meta = block?.providerMeta?.[vendorName];
  const field = isJsonObject(meta) ? meta['field'] : undefined;
  return THINKING_FIELDS.find((one) => one === field);
}

/** Sends plain text where possible: some vendors accept nothing else. */
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
      const data = source.type === 'url' ? url : vendor.audioPrefix + source.data;
      return { type: 'input_audio', input_audio: { data, format: audioFormat(source) } };
    }
  }
}

function audioFormat(source: MediaSource): 'wav' | 'mp3' {
  const hint = source.mediaType ?? (source.type === 'url' ? source.url : '');
  return /wav/i.test(hint) ? 'wav' : 'mp3';
}

function textOf(blocks: readonly TextBlock[]): string {
  return blocks.map((block) => block.text).join('\n');
}

/** Adds a name only for speakers other than the plain user or assistant. */
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
  { vendor, rule }: ChatDialect,
): { [key: string]: JsonValue | undefined } {
  const { generation, structured, toolChoice, tools = [], settings } = request;
  return {
    stream: settings.isStreamed,
    stream_options: settings.isStreamed && vendor.takesStreamOptions ? { include_usage: true } : undefined,
    [vendor.maxTokensField]: generation.maxTokens,
    temperature: generation.temperature,
    top_p: generation.topP,
    top_k: vendor.takesTopK ? generation.topK : undefined,
    stop: generation.stop,
    [vendor.seedField]: generation.seed,
    presence_penalty: generation.presencePenalty,
    frequency_penalty: generation.frequencyPenalty,
    parallel_tool_calls: tools.length > 0 ? generation.parallelToolCalls : undefined,
    tool_choice: tools.length > 0 ? toToolChoice(toolChoice, vendor) : undefined,
    response_format: structured && {
      type: 'json_schema',
      json_schema: { name: structured.name ?? 'answer', schema: structured.schema, strict: false },
    },
    service_tier: vendor.takesServiceTier ? generation.serviceTier : undefined,
    ...cachingFields(generation.caching, vendor),
    ...thinkingSwitch(generation, rule.thinkingSwitch ?? vendor.thinkingSwitch),
    ...vendor.always,
    ...rule.always,
    ...oneAnswer(generation.extra),
  };
}

/** Fields of the caching of a prompt. */
export function cachingFields(caching: Caching | undefined, vendor: ChatVendor): JsonObject {
  if (typeof caching !== 'object' && (caching !== 'auto' || vendor.caching !== 'cache_control')) return {};
  const { key, ttl } = typeof caching === 'object' ? caching : {};
  switch (vendor.caching) {
    case 'prompt_cache_key':
      return {
        ...(key !== undefined && { prompt_cache_key: key }),
        ...(ttl === '24h' && { prompt_cache_retention: ttl }),
      };
    case 'cache_control':
      return { cache_control: { type: 'ephemeral', ...((ttl === '5m' || ttl === '1h') && { ttl }) } };
    case 'none':
      return {};
  }
}

/** @throws TroupeError if several answers are requested, which would be mixed */
function oneAnswer(extra: JsonObject = {}): JsonObject {
  if (extra['n'] === undefined || extra['n'] === 1) return extra;
  throw new TroupeError(
    'invalid_config',
    'generation.extra.n must be 1: a model call has one answer. Call the model several times.',
  );
}

/** Whether the request turns thinking off. */
export function isThinkingOff({ reasoningEffort, thinkingTokens, extra }: GenerationOptions): boolean {
  const { thinking, enable_thinking: isOn } = extra ?? {};
  const isDisabled = isJsonObject(thinking) && thinking['type'] === 'disabled';
  return reasoningEffort === 'none' || thinkingTokens === 0 || isDisabled || isOn === false;
}

function toToolChoice(choice: ToolChoice | undefined, vendor: ChatVendor): JsonValue | undefined {
  if (choice === undefined || choice === 'auto' || choice === 'none') return choice;
  if (typeof choice === 'object' && 'name' in choice) {
    return vendor.forcedChoice === 'none' ? 'auto' : { type: 'function', function: { name: choice.name } };
  }
  return isForced(choice) && vendor.forcedChoice === 'any' ? 'required' : 'auto';
}

/** Whether and how much to think, in the vendor's words. */
function thinkingSwitch(generation: GenerationOptions, by: ChatVendor['thinkingSwitch']): JsonObject {
  const { reasoningEffort: effort, thinkingTokens: tokens } = generation;
  if (effort === undefined && tokens === undefined) return {};
  const isOn = effort !== 'none' && tokens !== 0;
  switch (by) {
    case 'reasoning_effort':
      return effort === undefined ? {} : { reasoning_effort: effort };
    case 'enable_thinking':
      return { enable_thinking: isOn, ...(isOn && tokens !== undefined && { thinking_budget: tokens }) };
    case 'thinking':
      return { thinking: { type: isOn ? 'enabled' : 'disabled' } };
    case 'adaptive_thinking':
      return { thinking: { type: isOn ? 'adaptive' : 'disabled' } };
    case 'reasoning_enabled':
      return { reasoning: { enabled: isOn } };
    case 'reasoning':
      if (!isOn) return { reasoning: { enabled: false } };
      return { reasoning: tokens === undefined ? { effort: effort ?? 'medium' } : { max_tokens: tokens } };
    case 'none':
      return {};
  }
}
