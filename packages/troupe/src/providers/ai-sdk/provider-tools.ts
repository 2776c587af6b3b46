import { providerToolText } from '../../formatter/provider-parts.ts';
import {
  isProviderTool,
  type ContentBlock,
  type ProviderToolBlock,
  type ToolUseBlock,
} from '../../message/blocks.ts';
import type { Citation } from '../../message/citation.ts';
import { objectOf, stringOf } from '../../model/http/wire-values.ts';
import { copyJsonObject, isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';
import { keptOf, metadataOf, piecesOf } from './block-meta.ts';
import type { SpecVersion } from './language-model.ts';

/** A tool that the provider runs itself, as the packages of the AI SDK make them: `openai.tools.webSearch()`. */
export interface AiSdkProviderTool {
  /** Such as `openai.web_search`. */
  readonly id: string;
  /** Name of the tool in calls. @default the last part of the id */
  readonly name?: string | undefined;
  readonly args?: object | undefined;
}

/**
 * Receiver of a prompt: the provider decides which blocks are sent back, the version decides the form of
 * files.
 */
export interface PromptTarget {
  readonly provider: string;
  readonly version: SpecVersion;
  /** Whether the provider stores its answers, and is sent references to their parts. */
  readonly isStored?: boolean | undefined;
}

/** Name of the tool of the program's own that is asked before a provider uses a remote MCP server. */
export const APPROVAL_TOOL = 'mcp_approval';

/** Tools of OpenAI whose items the package sends back from the message; of others it knows only stored items. */
const RESENT = /^(?:web_search|web_search_preview|tool_search|programmatic_tool_calling|shell)$/;

/** The definition of a provider's tool. Its type has another name since v3. */
export function toProviderTool(
  { id, name, args = {} }: AiSdkProviderTool,
  { version }: PromptTarget,
): object {
  const type = version === 'v2' ? 'provider-defined' : 'provider';
  return { type, id, name: name ?? id.slice(id.lastIndexOf('.') + 1), args };
}

/** Whether a block of an answer goes back as the provider has made it. */
export function isTakenByAiSdk(block: ContentBlock, target: PromptTarget): boolean {
  const { provider, version, isStored } = target;
  if (block.type === 'text') return piecesOf(block.text, block.providerMeta, provider) !== undefined;
  if (!isProviderTool(block) || keptOf(block.providerMeta, provider) === undefined) return false;
  if (!isOpenAI(provider) || isStored) return true;
  return version === 'v4' && RESENT.test(block.name);
}

/** The parts of a provider's call or result, as the provider has made them. Half of a pair becomes text. */
export function toProviderParts(
  block: ProviderToolBlock,
  content: readonly ContentBlock[],
  { provider, isStored }: PromptTarget,
): object[] {
  const kept = keptOf(block.providerMeta, provider);
  const metadata = metadataOf(block.providerMeta, provider);
  const options = metadata && Object.keys(metadata).length > 0 ? { providerOptions: metadata } : {};
  if (typeof kept?.['kind'] === 'string') return [{ type: 'custom', kind: kept['kind'], ...options }];
  const other = block.type === 'provider_tool_use' ? 'provider_tool_result' : 'provider_tool_use';
  const isPaired = content.some((one) => one.type === other && one.id === block.id);
  if (kept === undefined || (!isPaired && !(isOpenAI(provider) && isStored)))
    return [{ type: 'text', text: providerToolText(block).text }];
  const call = { toolCallId: block.id, toolName: block.name };
  if (block.type === 'provider_tool_use')
    return [{ type: 'tool-call', ...call, input: block.input, providerExecuted: true, ...options }];
  const type = block.status === 'ok' ? 'json' : 'error-json';
  return [{ type: 'tool-result', ...call, output: { type, value: kept['result'] ?? null }, ...options }];
}

/** The part that tells a provider whether it may make a call; undefined for a result of another tool. */
export function toApproval(
  call: ToolUseBlock | undefined,
  result: { readonly id: string; readonly status: string; readonly output: string },
  { provider }: PromptTarget,
): object | undefined {
  if (call === undefined || keptOf(call.providerMeta, provider)?.['isApproval'] !== true) return undefined;
  const approved = result.status === 'ok';
  const reason = approved ? {} : { reason: result.output };
  return { type: 'tool-approval-response', approvalId: result.id, approved, ...reason };
}

/** The block for the result of a provider's tool. The result itself is kept, to go back. */
export function toResultBlock(part: JsonObject, executedBy: string, meta: JsonObject): ProviderToolBlock {
  const result = jsonOf(part['result']);
  return {
    type: 'provider_tool_result',
    id: stringOf(part['toolCallId']),
    name: stringOf(part['toolName']),
    output: typeof result === 'string' ? result : JSON.stringify(result),
    status: part['isError'] === true ? 'error' : 'ok',
    executedBy,
    providerMeta: { aiSdk: { ...meta, result } },
  };
}

/** The block for content of which only the provider knows the meaning. */
export function toCustomBlock(
  kind: string,
  id: string,
  executedBy: string,
  meta: JsonObject,
): ProviderToolBlock {
  const providerMeta = { aiSdk: { ...meta, kind } };
  const output = JSON.stringify(meta['metadata'] ?? {});
  return { type: 'provider_tool_result', id, name: kind, output, status: 'ok', executedBy, providerMeta };
}

export function toSource(part: JsonObject): Citation {
  const said = Object.values(objectOf(part['providerMetadata'])).filter((one) => isJsonObject(one));
  const quote = said.map((one) => stringOf(one['citedText'])).find((text) => text !== '') ?? '';
  const texts = {
    url: stringOf(part['url']),
    title: stringOf(part['title']),
    filename: stringOf(part['filename']),
    quote,
  };
  return Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== ''));
}

/** A value as JSON; null if it is none. */
function jsonOf(value: unknown): JsonValue {
  try {
    return copyJsonObject({ value }, 'result', { maxDepth: 90 })['value'] ?? null;
  } catch {
    return null;
  }
}

/** Whether a provider is the Responses API, which may store answers. */
export function isOpenAI(provider: string): boolean {
  return /^(?:openai|azure)\.responses$/.test(provider);
}
