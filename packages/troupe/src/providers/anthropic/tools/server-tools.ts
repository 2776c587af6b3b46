import type {
  ContentBlock,
  ProviderToolBlock,
  ProviderToolResultBlock,
  ToolUseBlock,
} from '../../../message/blocks.ts';
import { objectOf, objectsOf, stringOf } from '../../../model/http/wire-values.ts';
import { isJsonObject, type JsonObject } from '../../../util/json.ts';

/** Name of the provider, and key of the metadata. */
export const ANTHROPIC_KEY = 'anthropic';

const CALL = /^(?:server|mcp)_tool_use$/;
const RESULT = /^[a-z_]+_tool_result$/;
/** Id of a summary that stands for the history before it. Nobody asked for the summary. */
const COMPACTION = 'compaction';

/** Whether a block of the wire is a call that Anthropic runs itself. */
export function isServerCall(type: string): boolean {
  return CALL.test(type);
}

/** Whether a block of the wire is the result of such a call. */
export function isServerResult(type: string): boolean {
  return RESULT.test(type);
}

/** The block for the result of a server tool. @param name name of the tool, if its call is known */
export function toServerResult(raw: JsonObject, name: string | undefined): ProviderToolResultBlock {
  const type = stringOf(raw['type']);
  const content = raw['content'];
  const code = errorCode(raw);
  return {
    type: 'provider_tool_result',
    id: stringOf(raw['tool_use_id']),
    name: name ?? type.replace(/_tool_result$/, ''),
    output: code === '' ? readable(content) : code,
    status: code === '' && raw['is_error'] !== true ? 'ok' : 'error',
    executedBy: ANTHROPIC_KEY,
    providerMeta: { [ANTHROPIC_KEY]: { block: raw } },
  };
}

/** The block for a summary of the history, which Claude makes when its context is full. */
export function toCompaction(raw: JsonObject): ProviderToolResultBlock {
  const block = { ...raw, type: COMPACTION };
  return { ...toServerResult(block, COMPACTION), id: COMPACTION };
}

/** Block of the wire that says where another model has gone on with the answer. */
const FALLBACK = 'fallback';

/** The block for a part of the answer of which only Anthropic knows the meaning, so that nothing of an answer is lost. */
export function toOpaque(raw: JsonObject, index: number): ProviderToolResultBlock {
  const type = stringOf(raw['type']) || 'block';
  return {
    type: 'provider_tool_result',
    id: `${type}_${index}`,
    name: type,
    output: type === FALLBACK ? modelsOf(raw) : JSON.stringify(raw),
    status: 'ok',
    executedBy: ANTHROPIC_KEY,
    providerMeta: { [ANTHROPIC_KEY]: { block: raw } },
  };
}

function modelsOf({ from, to }: JsonObject): string {
  return `from ${stringOf(objectOf(from)['model'])} to ${stringOf(objectOf(to)['model'])}`;
}

/** The block of the wire behind a call or a result of a server tool; undefined if Anthropic did not make it. */
export function wireServerBlock(block: ContentBlock): JsonObject | undefined {
  if (block.type !== 'provider_tool_use' && block.type !== 'provider_tool_result') return undefined;
  const raw = objectOf(block.providerMeta?.[ANTHROPIC_KEY])['block'];
  if (!isJsonObject(raw)) return undefined;
  const type = stringOf(raw['type']);
  if (block.type === 'provider_tool_use')
    return isServerCall(type) ? { ...raw, id: block.id, name: block.name, input: block.input } : undefined;
  if (type === COMPACTION) return isCompaction(raw) ? raw : undefined;
  if (type === FALLBACK)
    return isFallback(raw) ? { type, from: raw['from'] ?? {}, to: raw['to'] ?? {} } : undefined;
  return isServerResult(type) && raw['tool_use_id'] === block.id ? raw : undefined;
}

/** Whether a block stands alone: a summary, or the place from which another model has answered. */
export function standsAlone(block: ProviderToolBlock): boolean {
  if (block.type !== 'provider_tool_result') return false;
  const type = wireServerBlock(block)?.['type'];
  return type === COMPACTION || type === FALLBACK;
}

function isFallback({ from, to }: JsonObject): boolean {
  return [from, to].every((one) => isJsonObject(one) && typeof one['model'] === 'string');
}

function isCompaction({ content }: JsonObject): boolean {
  return typeof content === 'string' || content === null;
}

/** Id of the server call from whose code a call was made; empty if the model made it. */
export function callerOf(block: ProviderToolBlock | ToolUseBlock): string {
  const meta = objectOf(block.providerMeta?.[ANTHROPIC_KEY]);
  const caller = block.type === 'tool_use' ? meta['caller'] : objectOf(meta['block'])['caller'];
  return stringOf(objectOf(caller)['tool_id']);
}

/** Names of tools that a tool search has found. The API refuses a name that is not among the tools. */
export function referencedTools(raw: JsonObject): readonly string[] {
  return objectsOf(objectOf(raw['content'])['tool_references']).map((one) => stringOf(one['tool_name']));
}

function errorCode({ content }: JsonObject): string {
  return isJsonObject(content) ? stringOf(content['error_code']) : '';
}

/** Readable part of a result, without encrypted contents. */
function readable(content: unknown): string {
  if (typeof content === 'string') return content;
  if (Array.isArray(content)) return content.map(readable).filter(Boolean).join('\n');
  if (!isJsonObject(content)) return '';
  const { type, title, url, text, stdout, stderr, tool_references: found, content: inner } = content;
  switch (stringOf(type)) {
    case 'web_search_result':
      return `${stringOf(title)} <${stringOf(url)}>`;
    case 'web_fetch_result':
      return [stringOf(url), readable(inner)].join('\n');
    case 'document':
      return [stringOf(title), stringOf(objectOf(content['source'])['data'])].filter(Boolean).join('\n');
    case 'tool_reference':
      return stringOf(content['tool_name']);
  }
  if (found !== undefined) return readable(found);
  const printed = [stringOf(text), stringOf(stdout), stringOf(stderr), files(inner)]
    .filter(Boolean)
    .join('\n');
  if (printed !== '' || stringOf(type) === '') return printed;
  const open = Object.entries(content).filter(([key]) => !key.startsWith('encrypted_'));
  return open.length < Object.keys(content).length ? '(encrypted)' : JSON.stringify(content);
}

/** Files that code has made, and texts. */
function files(content: unknown): string {
  if (typeof content === 'string') return content;
  return objectsOf(content)
    .map((part) => stringOf(part['file_id']) || readable(part))
    .join('\n');
}
