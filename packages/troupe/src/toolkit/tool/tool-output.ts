import { toBlock, type ContentBlock, type ToolOutputBlock, type ToolStatus } from '../../message/blocks.ts';
import { copyJsonObject, isJsonObject, NotJsonError, type JsonObject } from '../../util/json.ts';
import { jsonText } from './json-text.ts';
import { ToolResponse } from './tool-response.ts';

/** Output of a tool call, without the id and name of the tool call. */
export interface ToolOutput {
  readonly output: string | readonly ToolOutputBlock[];
  readonly status: ToolStatus;
  readonly metadata?: JsonObject;
}

/** Maximum blocks in a result; a longer list is treated as data. */
const MAX_BLOCKS = 1000;
/** Maximum base64 characters in a result. No provider accepts more. */
const MAX_MEDIA_CHARS = 32 * 1024 * 1024;
const MAX_METADATA = { maxDepth: 64, maxSize: 1024 * 1024 };
const OUTPUT_TYPES: readonly unknown[] = [
  'text',
  'image',
  'audio',
  'video',
  'file',
] satisfies ContentBlock['type'][];

const ADVICE = 'A tool returns text, blocks, a ToolResponse, or JSON.';

/**
 * Converts the return value of a tool: text, blocks, a response, or data, which becomes text as `jsonText` writes it.
 * @throws TypeError that names the unusable part.
 */
export function toToolOutput(value: unknown): ToolOutput {
  if (!ToolResponse.isInstance(value)) return { output: textOrBlocks(value), status: 'ok' };
  const { content, status, metadata } = value;
  const output = Array.isArray(content) ? toBlocks(content) : textOrBlocks(content);
  if (metadata === undefined) return { output, status };
  return { output, status, metadata: usable(() => copyJsonObject(metadata, 'metadata', MAX_METADATA)) };
}

/**
 * Converts the return value of a middleware or `postProcess`: a tool result, or any value that a tool may
 * return.
 * @throws TypeError that names the unusable part.
 */
export function fromResult(value: unknown): ToolOutput {
  if (!isJsonObject(value) || ownValue(value, 'type') !== 'tool_result') return toToolOutput(value);
  const { output, status, metadata } = value as { [key in keyof ToolOutput]?: unknown };
  return toToolOutput(
    new ToolResponse(output as ToolOutput['output'], {
      status: status as ToolStatus,
      metadata: metadata as JsonObject | undefined,
    }),
  );
}

function textOrBlocks(value: unknown): ToolOutput['output'] {
  if (typeof value === 'string') return value;
  if (value === undefined) return 'Done.';
  if (Array.isArray(value) && value.length > 0) {
    try {
      return toBlocks(value);
    } catch {
      // Other data with a `type`, such as a list of files.
    }
  }
  return toText(value);
}

function toText(value: unknown): string {
  return usable(() => jsonText(value, 'The result'));
}

/** @throws if an item is no block, or a block that results can't have. */
function toBlocks(list: readonly unknown[]): ToolOutput['output'] {
  if (list.length > MAX_BLOCKS) return toText(list);
  return withoutHugeMedia(
    Array.from(list, (item, i) => {
      const type = isJsonObject(item) ? ownValue(item, 'type') : undefined;
      if (OUTPUT_TYPES.includes(type)) return toBlock(item, `content[${i}]`) as ToolOutputBlock;
      throw new TypeError(`content[${i}].type must be one of ${OUTPUT_TYPES.join(', ')}.`);
    }),
  );
}

function withoutHugeMedia(blocks: readonly ToolOutputBlock[]): readonly ToolOutputBlock[] {
  let remaining = MAX_MEDIA_CHARS;
  return blocks.map((block) => {
    if (block.type === 'text' || block.source.type !== 'base64') return block;
    const { length } = block.source.data;
    if (length <= remaining) {
      remaining -= length;
      return block;
    }
    const text = `<system-info>The ${block.type} of ${length} base64 characters is too large to be shown.</system-info>`;
    return { type: 'text', text };
  });
}

function usable<T>(convert: () => T): T {
  try {
    return convert();
  } catch (error) {
    const problem = error instanceof NotJsonError ? error.message : 'The result is beyond the size limit';
    throw new TypeError(`${problem}. ${ADVICE}`, { cause: error });
  }
}

/** Reads a property without calling a getter. */
function ownValue(object: object, key: string): unknown {
  return Object.getOwnPropertyDescriptor(object, key)?.value;
}
