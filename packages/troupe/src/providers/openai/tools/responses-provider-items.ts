import type { ContentBlock, ImageBlock, ProviderToolResultBlock } from '../../../message/blocks.ts';
import { objectOf, objectsOf, stringOf } from '../../../model/http/wire-values.ts';
import { isJsonObject, readJson, type JsonObject, type JsonValue } from '../../../util/json.ts';

/** Types of items run by the vendor, which go back unchanged. */
const PROVIDER_ITEMS: ReadonlySet<string> = new Set([
  'web_search_call',
  'file_search_call',
  'tool_search_call',
  'tool_search_output',
  'code_interpreter_call',
  'image_generation_call',
  'mcp_call',
  'mcp_list_tools',
  'shell_call',
  'shell_call_output',
  'program',
  'program_output',
  'compaction',
  'x_search_call', // this one and the following at xAI
  'custom_tool_call',
  'code_execution_call',
  'collections_search_call',
  'view_image_call',
  'view_x_video_call',
]);

/** Types of items that are no tools of the vendor. */
const OTHER_ITEM = /^(?:|message|reasoning|function_call)$/;

/** Whether an item was run by the vendor. An item of an unknown type is one too, so that nothing of an answer is lost. */
export function isProviderItem({ type }: JsonObject): boolean {
  return !OTHER_ITEM.test(stringOf(type));
}

/** Whether the vendor takes an item back. Nobody can say that of an unknown one, which becomes text. */
function isTakenBack({ type }: JsonObject): boolean {
  return PROVIDER_ITEMS.has(stringOf(type));
}

/** Whether a block says what an item says that the vendor takes back, which stands with the call. */
export function isTakenItem({ providerMeta }: ContentBlock, metaKey: string): boolean {
  const meta = providerMeta?.[metaKey];
  if (!isJsonObject(meta)) return false;
  return isJsonObject(meta['item']) ? isTakenBack(meta['item']) : meta['isUnknown'] !== true;
}

/** Id of an item for its blocks. @param index number of the item, for items of vendors that give no ids */
export function providerItemId(item: JsonObject, index: number): string {
  return stringOf(item['id']) || stringOf(item['call_id']) || `${stringOf(item['type'])}_${index}`;
}

/** Name of the tool of an item: `web_search`, or that of the MCP server's tool. */
export function providerToolName(item: JsonObject): string {
  return stringOf(item['name']) || stringOf(item['type']).replace(/_call$/, '');
}

/** Input of the tool, as far as the item contains it. */
export function providerToolInput(item: JsonObject): JsonObject {
  switch (stringOf(item['type'])) {
    case 'code_interpreter_call':
    case 'program':
      return typeof item['code'] === 'string' ? { code: item['code'] } : argumentsOf(item);
    case 'file_search_call':
    case 'search_results':
      return Array.isArray(item['queries']) ? { queries: item['queries'] } : argumentsOf(item);
    case 'image_generation_call':
      return given({ prompt: item['revised_prompt'], action: item['action'] });
    case 'custom_tool_call':
      return argumentsOf({ arguments: item['input'] ?? '' });
    case 'mcp_list_tools':
      return { server: stringOf(item['server_label']) };
    default: {
      if (!isJsonObject(item['action'])) return argumentsOf(item); // tools of xAI and MCP have arguments
      const { sources: _, ...action } = item['action']; // sources are the result
      return action;
    }
  }
}

/** Arguments of an item, as an object or as JSON. */
function argumentsOf({ arguments: given }: JsonObject): JsonObject {
  const args = isJsonObject(given) ? given : readJson(stringOf(given));
  if (isJsonObject(args)) return args;
  return stringOf(given) === '' ? {} : { arguments: stringOf(given) };
}

/** The block with the result of an item, for people. The item itself stands with the call. */
export function providerToolResult(
  item: JsonObject,
  id: string,
  executedBy: string,
  metaKey: string,
): ProviderToolResultBlock {
  const { error } = item;
  const isFailed =
    /failed|incomplete/.test(stringOf(item['status'])) || (error !== undefined && error !== null);
  return {
    type: 'provider_tool_result',
    id,
    name: providerToolName(item),
    output: isFailed ? textOf(error) || 'failed' : readable(item) || stringOf(item['status']) || 'completed',
    status: isFailed ? 'error' : 'ok',
    executedBy,
    providerMeta: { [metaKey]: isTakenBack(item) ? {} : { isUnknown: true } },
  };
}

function readable(item: JsonObject): string {
  switch (stringOf(item['type'])) {
    case 'web_search_call':
    case 'x_search_call':
      return lines(objectOf(item['action'])['sources'], ({ url, name }) => stringOf(url) || stringOf(name));
    case 'file_search_call':
      return lines(item['results'], ({ filename, text }) => `${stringOf(filename)}: ${stringOf(text)}`);
    case 'code_interpreter_call':
      return lines(item['outputs'], ({ logs, url }) => stringOf(logs) || stringOf(url));
    case 'search_results': // of Perplexity
      return lines(item['results'], ({ title, url }) => `${stringOf(title)} <${stringOf(url)}>`);
    case 'mcp_list_tools':
    case 'tool_search_output':
      return lines(item['tools'], ({ name }) => stringOf(name));
    case 'shell_call_output':
      return lines(item['output'], ({ stdout, stderr }) =>
        [stringOf(stdout), stringOf(stderr)].join('\n').trim(),
      );
    case 'program_output':
      return textOf(item['result']);
    default:
      return isTakenBack(item) ? textOf(item['output']) : JSON.stringify(item);
  }
}

/** The image that a generation has made; undefined without one. The item keeps everything but the bytes. */
export function generatedImage(item: JsonObject, metaKey: string): ImageBlock | undefined {
  const { result, ...rest } = item;
  const data = stringOf(result);
  if (data === '') return undefined;
  const mediaType = `image/${stringOf(item['output_format']) || 'png'}`;
  return {
    type: 'image',
    source: { type: 'base64', mediaType, data },
    providerMeta: { [metaKey]: { item: rest } },
  };
}

/** The item behind a block, as the vendor made it; undefined if the block says nothing to the vendor, or is not the vendor's. */
export function wireProviderItem(block: ContentBlock, metaKey: string): JsonObject | undefined {
  const item = objectOf(objectOf(block.providerMeta?.[metaKey])['item']);
  const { id } = item;
  if (!isTakenBack(item) || typeof id !== 'string' || id.trim() === '') return undefined;
  if (block.type === 'provider_tool_use') return item['type'] === 'image_generation_call' ? undefined : item;
  const isImage = block.type === 'image' && item['type'] === 'image_generation_call';
  return isImage && block.source.type === 'base64' ? { ...item, result: block.source.data } : undefined;
}

function lines(value: JsonValue | undefined, line: (entry: JsonObject) => string): string {
  return objectsOf(value)
    .map(line)
    .filter((text) => text !== '')
    .join('\n');
}

function textOf(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function given(fields: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  const defined: Record<string, JsonValue> = {};
  for (const [key, value] of Object.entries(fields)) if (typeof value === 'string') defined[key] = value;
  return defined;
}
