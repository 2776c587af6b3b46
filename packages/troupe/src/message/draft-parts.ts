import { joinBase64 } from '../util/base64.ts';
import { isJsonObject, type JsonObject } from '../util/json.ts';
import { PartialJson } from '../util/partial-json.ts';
import {
  MAX_BLOCK_DEPTH,
  toBlock,
  toJsonObject,
  type ContentBlock,
  type ProviderMeta,
  type ToolUseBlock,
} from './blocks.ts';
import type { Citation } from './citation.ts';

/** A growing or finished block of a draft. */
export type Part = WrittenPart | ToolCallPart | AudioPart | ImagePart | WholePart;
type Written = { providerMeta?: ProviderMeta; block?: ContentBlock | undefined };
export type WrittenPart = {
  readonly type: 'text' | 'thinking';
  text: string;
  citations?: readonly Citation[];
  isOpen: boolean;
} & Written;
export type ToolCallPart = {
  readonly type: 'tool_use';
  readonly id: string;
  readonly name: string;
  /** The provider, if it runs the tool itself. */
  readonly executedBy: string | undefined;
  json: string;
} & Written;
export type AudioPart = {
  readonly type: 'audio';
  readonly mediaType: string;
  /** Number of a sound between whose pieces text may come. */
  readonly index: number | undefined;
  readonly pieces: string[];
} & Written;
/** An unfinished image of the provider. */
export type ImagePart = { readonly type: 'image' } & Written;
type WholePart = { readonly type: 'whole'; readonly block: ContentBlock };

/** True if the part no longer changes. */
export function isSettled(part: Part): boolean {
  if (part.type === 'text' || part.type === 'thinking') return !part.isOpen;
  return part.block !== undefined;
}

/** The block of a part; none for an unfinished tool call, audio or image. */
export function blockOf(part: Part): readonly ContentBlock[] {
  if (part.type === 'text' || part.type === 'thinking') part.block ??= textBlock(part);
  return part.block === undefined ? [] : [part.block];
}

export function textBlock(part: WrittenPart): ContentBlock {
  const meta = part.providerMeta && { providerMeta: part.providerMeta };
  const block: ContentBlock =
    part.type === 'text'
      ? { type: 'text', text: part.text, ...(part.citations && { citations: part.citations }), ...meta }
      : { type: 'thinking', thinking: part.text, ...meta };
  return Object.freeze(block);
}

export function audioBlock({ mediaType, pieces, providerMeta }: AudioPart): ContentBlock {
  const source = { type: 'base64', mediaType, data: joinBase64(pieces) };
  return toBlock({ type: 'audio', source, providerMeta }, 'audio');
}

/** The block of a call whose arguments are complete. Arguments that can't be read are kept as text. */
export function callBlock(part: ToolCallPart, parse: (json: string) => JsonObject): ContentBlock {
  const { id, name, json, executedBy, providerMeta } = part;
  const type = executedBy === undefined ? 'tool_use' : 'provider_tool_use';
  const call = { type, id, name, input: {}, executedBy, providerMeta };
  if (json.trim() === '') return toBlock(call, 'tool call');
  try {
    return toBlock({ ...call, input: parse(json) }, 'tool call');
  } catch {
    return toBlock({ ...call, rawInput: json }, 'tool call');
  }
}

/** A tool call as far as its arguments are written. */
export function partialCall({ id, name, json }: Pick<ToolCallPart, 'id' | 'name' | 'json'>): ToolUseBlock {
  const reader = new PartialJson();
  reader.add(json);
  const { value } = reader;
  return Object.freeze({ type: 'tool_use', id, name, input: isJsonObject(value) ? value : {} });
}

export function mergedMeta(before: ProviderMeta | undefined, after: ProviderMeta): ProviderMeta {
  return toJsonObject({ ...before, ...after }, 'providerMeta', MAX_BLOCK_DEPTH - 1);
}

/** Merges what a provider says about an answer: later values replace earlier ones of the same provider and key. */
export function mergedAnswerMeta(before: ProviderMeta | undefined, after: ProviderMeta): ProviderMeta {
  const merged: Record<string, unknown> = { ...before };
  for (const [provider, said] of Object.entries(after)) {
    const earlier = merged[provider];
    merged[provider] = isJsonObject(earlier) && isJsonObject(said) ? { ...earlier, ...said } : said;
  }
  return toJsonObject(merged, 'providerMeta', MAX_BLOCK_DEPTH - 1);
}
