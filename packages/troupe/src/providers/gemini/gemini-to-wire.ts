import { isMedia } from '../../formatter/prompt-media.ts';
import type { AssistantItem, MediaBlock, PromptItem, ToolItem } from '../../formatter/prompt.ts';
import { providerToolText } from '../../formatter/provider-parts.ts';
import { plainOutput, shownMedia } from '../../formatter/tool-output.ts';
import {
  isProviderTool,
  type ContentBlock,
  type ProviderToolBlock,
  type TextBlock,
  type ToolResultBlock,
} from '../../message/blocks.ts';
import { isJsonObject, type JsonObject } from '../../util/json.ts';
import type { GeminiDialect } from './gemini-dialect.ts';
import { GEMINI_KEY, wireGooglePart } from './google-parts.ts';

/** Google's own marker for tool calls not made by Gemini: no signature is required. */
const NO_SIGNATURE = 'skip_thought_signature_validator';

/** The contents of one prompt item. */
export function toContents(item: PromptItem, dialect: GeminiDialect): readonly JsonObject[] {
  switch (item.role) {
    case 'system':
      return [{ role: 'user', parts: [{ text: item.text }] }];
    case 'user':
      return [{ role: 'user', parts: item.content.map(toPart) }];
    case 'assistant':
      return [{ role: 'model', parts: toAnswer(item, dialect) }];
    case 'tool':
      return toResponses(item, dialect.hasIds);
  }
}

/**
 * Whether a block of an answer is sent back: not foreign thinking, and of media only the model's own images.
 */
export function isSent(block: ContentBlock): boolean {
  if (isProviderTool(block)) return wireGooglePart(block) !== undefined;
  if (block.type === 'thinking') return signatureOf(block) !== undefined;
  if (!isMedia(block)) return true;
  return (
    block.type === 'image' && block.source.type === 'base64' && isJsonObject(block.providerMeta?.['gemini'])
  );
}

function toAnswer(
  { content }: AssistantItem,
  { hasIds, needsSignature }: GeminiDialect,
): readonly JsonObject[] {
  const firstCall = content.find((block) => block.type === 'tool_use');
  const parts = content.filter(isSent);
  return parts.map((block) => {
    const thoughtSignature = signatureOf(block);
    const signed = thoughtSignature === undefined ? {} : { thoughtSignature };
    if (block.type === 'thinking') {
      return { text: block.thinking, ...(block.thinking !== '' && { thought: true }), ...signed };
    }
    if (isProviderTool(block)) return toGooglePart(block, parts);
    if (block.type !== 'tool_use') return { ...toPart(block), ...signed };
    const { id, name, input } = block;
    const functionCall = { ...(hasIds && { id }), name, args: input };
    const isUnsigned = needsSignature && block === firstCall && thoughtSignature === undefined;
    return { functionCall, ...(isUnsigned ? { thoughtSignature: NO_SIGNATURE } : signed) };
  });
}

/** A call that Google runs, or its result, as Google made it. Half of such a pair is sent as text, and so is a repetition. */
function toGooglePart(block: ProviderToolBlock, parts: readonly ContentBlock[]): JsonObject {
  const other = block.type === 'provider_tool_use' ? 'provider_tool_result' : 'provider_tool_use';
  const isPaired = parts.some((part) => part.type === other && part.id === block.id);
  const isFirst = parts.find((part) => part.type === block.type && part.id === block.id) === block;
  const raw = isPaired ? wireGooglePart(block) : undefined;
  const part = isFirst || raw?.['codeExecutionResult'] !== undefined ? raw : undefined; // code may have two results
  return part ?? toPart(providerToolText(block));
}

/** Whether a block of an answer goes back as Gemini has made it. Citations do not, but a signed text must not change. */
export function isTakenByGemini(block: ContentBlock): boolean {
  if (isProviderTool(block)) {
    const meta = block.providerMeta?.[GEMINI_KEY];
    return isJsonObject(meta) && (meta['part'] === undefined || wireGooglePart(block) !== undefined);
  }
  return signatureOf(block) !== undefined;
}

/** Puts all tool results in one content; their media follow in another. */
function toResponses(item: ToolItem, hasIds: boolean): readonly JsonObject[] {
  const responses = item.results.map((result) => ({ functionResponse: toResponse(result, hasIds) }));
  const media = shownMedia(item).map(toPart);
  return [
    { role: 'user', parts: responses },
    ...(media.length === 0 ? [] : [{ role: 'user', parts: media }]),
  ];
}

function toResponse(result: ToolResultBlock, hasIds: boolean): JsonObject {
  const { id, name, status } = result;
  const text = plainOutput(result);
  return { ...(hasIds && { id }), name, response: status === 'ok' ? { output: text } : { error: text } };
}

function toPart(block: TextBlock | MediaBlock): JsonObject {
  if (block.type === 'text') return { text: block.text };
  const { source } = block;
  if (source.type === 'base64') return { inlineData: { mimeType: source.mediaType, data: source.data } };
  const { url, mediaType } = source;
  return {
    fileData: { fileUri: url.toWellFormed(), ...(mediaType?.isWellFormed() && { mimeType: mediaType }) },
  };
}

/** URLs that Gemini fetches: uploaded files, and YouTube videos. */
const FETCHED =
  /^https:\/\/(?:generativelanguage\.googleapis\.com|(?:www\.|m\.)?youtube\.com|youtu\.be)(?=\/)/i;

export function isFetched({ source }: MediaBlock): boolean {
  return source.type === 'url' && FETCHED.test(source.url);
}

function signatureOf({ providerMeta }: ContentBlock): string | undefined {
  const meta = providerMeta?.['gemini'];
  const signature = isJsonObject(meta) ? meta['thoughtSignature'] : undefined;
  return typeof signature === 'string' && signature !== '' ? signature : undefined;
}
