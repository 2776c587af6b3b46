import type { AssistantItem, MediaBlock, PromptItem, ToolItem } from '../../formatter/prompt.ts';
import { providerToolText } from '../../formatter/provider-parts.ts';
import { plainOutput, shownMedia } from '../../formatter/tool-output.ts';
import { isProviderTool, type MediaSource, type TextBlock } from '../../message/blocks.ts';
import type { GenerationOptions, ModelRequest, ToolChoice, ToolSchema } from '../../model/chat-model-base.ts';
import { toolsForChoice, isForced } from '../../model/tool-choice.ts';
import { isJsonObject, type JsonObject } from '../../util/json.ts';
import { mediaTypeOfName } from '../../util/media-type.ts';
import { keptOf, metadataOf, piecesOf, type TextPiece } from './block-meta.ts';
import type { AiSdkCallOptions } from './language-model.ts';
import {
  isOpenAI,
  toApproval,
  toProviderParts,
  toProviderTool,
  type AiSdkProviderTool,
  type PromptTarget,
} from './provider-tools.ts';
import { escapeTags } from '../../util/escape-tags.ts';

/** A message of the AI SDK: instructions are plain text, everything else comes in parts. */
type Message =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user' | 'assistant' | 'tool'; readonly content: readonly object[] };

/** Turns prompt items into messages of the AI SDK, each only once: an item never changes. */
export class PromptWriter {
  readonly #target: PromptTarget;
  readonly #written = new WeakMap<PromptItem, readonly Message[]>();

  constructor(target: PromptTarget) {
    this.#target = target;
  }

  /**
   * Orders a prompt for all providers, because packages pass most of a prompt on unchanged: system messages
   * stay instructions only at the beginning and become messages later; a user message comes first and last;
   * consecutive assistant messages are merged.
   */
  messages(items: readonly PromptItem[]): readonly Message[] {
    const start = Math.max(
      0,
      items.findIndex((item) => item.role !== 'system'),
    );
    const messages = items.slice(0, start).flatMap(toInstructions);
    if (items[start]?.role === 'assistant') messages.push(userMessage('(The conversation begins.)'));
    for (const item of items.slice(start)) {
      for (const message of this.#messagesOf(item)) {
        const last = messages.at(-1);
        if (message.role === 'assistant' && last?.role === 'assistant')
          messages[messages.length - 1] = { ...last, content: [...last.content, ...message.content] };
        else messages.push(message);
      }
    }
    if (messages.at(-1)?.role === 'assistant') messages.push(userMessage('(Go on.)'));
    return messages;
  }

  #messagesOf(item: PromptItem): readonly Message[] {
    let messages = this.#written.get(item);
    if (messages === undefined) this.#written.set(item, (messages = toMessages(item, this.#target)));
    return messages;
  }
}

function toInstructions(item: PromptItem): Message[] {
  return item.role === 'system' ? [{ role: 'system', content: item.text }] : [];
}

function toMessages(item: PromptItem, target: PromptTarget): readonly Message[] {
  switch (item.role) {
    case 'system':
      return [userMessage(`<system-info>${escapeTags(item.text)}</system-info>`)];
    case 'user':
      return [{ role: 'user', content: toUserContent(item.content, target) }];
    case 'assistant': {
      const own = isStoredNowhere(item, target) ? { ...item, content: item.content.flatMap(plain) } : item;
      const content = own.content.flatMap((block) => toAssistantParts(block, own, target));
      return content.length === 0 ? [] : [{ role: 'assistant', content }];
    }
    case 'tool':
      return toResults(item, target);
  }
}

/**
 * Whether a provider that is sent references to its answers has not stored this one: it was cut off. Data about the answer
 * come with its end.
 */
function isStoredNowhere({ providerMeta }: AssistantItem, { provider, isStored }: PromptTarget): boolean {
  return isStored === true && isOpenAI(provider) && metadataOf(providerMeta, provider) === undefined;
}

/** A block without references to stored parts. */
function plain(block: AssistantItem['content'][number]): AssistantItem['content'] {
  if (block.type === 'thinking') return [];
  if (isProviderTool(block)) return [providerToolText(block)];
  const { providerMeta: _, ...rest } = block;
  return [rest];
}

function userMessage(text: string): Message {
  return { role: 'user', content: [{ type: 'text', text }] };
}

function toUserContent(blocks: readonly (TextBlock | MediaBlock)[], target: PromptTarget): object[] {
  return blocks.map((block) =>
    block.type === 'text' ? { type: 'text', text: block.text } : toFilePart(block, target),
  );
}

/** Converts an assistant block. Thinking and media are sent back only to the provider that made them. */
function toAssistantParts(
  block: AssistantItem['content'][number],
  { content }: AssistantItem,
  target: PromptTarget,
): object[] {
  const { provider } = target;
  const { providerMeta } = block;
  switch (block.type) {
    case 'text': {
      const pieces = piecesOf(block.text, providerMeta, provider) ?? [{ text: block.text }];
      return pieces.map((piece) => toTextPart('text', piece));
    }
    case 'thinking': {
      const pieces = piecesOf(block.thinking, providerMeta, provider) ?? [];
      return pieces.map((piece) => toTextPart('reasoning', piece));
    }
    case 'tool_use': {
      if (keptOf(providerMeta, provider)?.['isApproval'] === true) return []; // the provider’s call stands before
      const call = { type: 'tool-call', toolCallId: block.id, toolName: block.name, input: block.input };
      return [{ ...call, ...optionsFrom(metadataOf(providerMeta, provider)) }];
    }
    case 'provider_tool_use':
    case 'provider_tool_result':
      return toProviderParts(block, content, target);
    default: {
      const metadata = metadataOf(providerMeta, provider);
      if (metadata === undefined || block.source.type === 'url') return [];
      return [{ ...toFilePart(block, target), ...optionsFrom(metadata) }];
    }
  }
}

function toTextPart(type: 'text' | 'reasoning', { text, metadata }: TextPiece): object {
  return { type, text, ...optionsFrom(metadata) };
}

/** Converts metadata to provider options; empty metadata is left out. */
function optionsFrom(metadata: JsonObject | undefined): { readonly providerOptions?: JsonObject } {
  return metadata === undefined || Object.keys(metadata).length === 0 ? {} : { providerOptions: metadata };
}

/**
 * Puts all tool results in one message, followed by their media: not every provider accepts media in results.
 */
function toResults(item: ToolItem, target: PromptTarget): readonly Message[] {
  const content = item.results.map((result, i) => {
    const output = plainOutput(result);
    const approval = toApproval(item.calls?.[i], { ...result, output }, target);
    return (
      approval ?? {
        type: 'tool-result',
        toolCallId: result.id,
        toolName: result.name,
        output: { type: result.status === 'ok' ? 'text' : 'error-text', value: output },
      }
    );
  });
  const media = shownMedia(item);
  const results = { role: 'tool', content } as const;
  return media.length === 0 ? [results] : [results, { role: 'user', content: toUserContent(media, target) }];
}

function toFilePart(block: MediaBlock, { version }: PromptTarget): object {
  const filename = block.type === 'file' ? block.filename : undefined;
  return {
    type: 'file',
    mediaType: mediaTypeOf(block),
    data: version === 'v4' ? toTaggedData(block.source) : toData(block.source),
    ...(filename !== undefined && { filename }),
  };
}

function toData(source: MediaSource): string | URL {
  return source.type === 'url' ? new URL(source.url) : source.data;
}

function toTaggedData(source: MediaSource): object {
  return source.type === 'url'
    ? { type: 'url', url: new URL(source.url) }
    : { type: 'data', data: source.data };
}

const ANY_TYPE: Record<MediaBlock['type'], string> = {
  image: 'image/*',
  audio: 'audio/*',
  video: 'video/*',
  file: 'application/octet-stream',
};

/** Media type of a block, as exact as possible without its bytes. */
export function mediaTypeOf(block: MediaBlock): string {
  const { source } = block;
  if (source.type === 'base64') return source.mediaType;
  const named = block.type === 'file' ? mediaTypeOfName(block.filename ?? '') : undefined;
  return source.mediaType ?? named ?? mediaTypeOfName(pathOf(source.url)) ?? ANY_TYPE[block.type];
}

function pathOf(url: string): string {
  return URL.canParse(url) ? new URL(url).pathname : '';
}

/** Options of a model call without prompt, signal and headers. */
export function toCallOptions(
  request: ModelRequest & { readonly generation: GenerationOptions },
  target: PromptTarget,
  providerTools: readonly AiSdkProviderTool[] = [],
): Omit<AiSdkCallOptions, 'prompt'> {
  const { generation, structured, toolChoice } = request;
  const tools = toolsForChoice(request);
  const all = [
    ...tools.map((tool) => toTool(tool, target)),
    ...providerTools.map((tool) => toProviderTool(tool, target)),
  ];
  return withoutUndefined({
    maxOutputTokens: generation.maxTokens,
    temperature: generation.temperature,
    topP: generation.topP,
    topK: generation.topK,
    stopSequences: generation.stop && [...generation.stop],
    seed: generation.seed,
    presencePenalty: generation.presencePenalty,
    frequencyPenalty: generation.frequencyPenalty,
    reasoning: target.version === 'v4' ? reasoningOf(generation) : undefined,
    responseFormat: structured && {
      type: 'json',
      name: structured.name ?? 'answer',
      schema: structured.schema,
    },
    tools: all.length > 0 ? all : undefined,
    toolChoice: tools.length > 0 ? toToolChoice(toolChoice) : undefined,
    providerOptions: generation.extra,
  });
}

function reasoningOf({ reasoningEffort, thinkingTokens }: GenerationOptions): string | undefined {
  return reasoningEffort ?? (thinkingTokens === 0 ? 'none' : undefined);
}

/** Switches strict schemas off: the default of the Responses API, except in the package of v3. */
function toTool({ name, description, parameters }: ToolSchema, { version, provider }: PromptTarget): object {
  const strict = version === 'v3' && isResponsesApi(provider) ? false : undefined;
  return withoutUndefined({ type: 'function', name, description, inputSchema: parameters, strict });
}

export function isResponsesApi(provider: string): boolean {
  return /^(?:openai|azure)\.responses$/.test(provider);
}

function toToolChoice(choice: ToolChoice | undefined): object | undefined {
  if (choice === undefined) return undefined;
  if (typeof choice === 'string') return { type: choice };
  if ('name' in choice) return { type: 'tool', toolName: choice.name };
  return { type: isForced(choice) ? 'required' : 'auto' };
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** Removes keys without a value: some providers check only for the key. */
function withoutUndefined<T extends object>(options: T): Defined<T> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Defined<T>;
}

/** Merges provider options: options of a model call extend options of the model. */
export function mergedExtra(
  own: JsonObject | undefined,
  added: JsonObject | undefined,
): JsonObject | undefined {
  if (own === undefined || added === undefined) return own ?? added;
  const both = Object.entries(added).map(([provider, options]) => {
    const before = own[provider];
    return [provider, isJsonObject(before) && isJsonObject(options) ? { ...before, ...options } : options];
  });
  return { ...own, ...(Object.fromEntries(both) as JsonObject) };
}
