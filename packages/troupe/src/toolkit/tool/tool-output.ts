import { toBlock, type ContentBlock, type ToolOutputBlock, type ToolStatus } from '../../message/blocks.ts';
import { copyJsonObject, isJsonObject, NotJsonError, type JsonObject } from '../../util/json.ts';
import { jsonText } from './json-text.ts';
import { ToolResponse } from './tool-response.ts';

/** What came of a call, before it is known of which. */
export interface ToolOutput {
  readonly output: string | readonly ToolOutputBlock[];
  readonly status: ToolStatus;
  readonly metadata?: JsonObject;
}

/** Longer lists are data that happens to look like blocks. */
const MAX_BLOCKS = 1000;
/** How much base64 a result may hold. No provider takes more. */
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
 * What a tool returned, made fit for a message. Apart from the keys of plain data nothing of it is looked at, and
 * nothing is called.
 * @throws TypeError that says what can't be used.
 */
export function toToolOutput(value: unknown): ToolOutput {
  if (!ToolResponse.isInstance(value)) return { output: textOrBlocks(value), status: 'ok' };
  const { content, status, metadata } = value;
  const output = Array.isArray(content) ? toBlocks(content) : textOrBlocks(content);
  if (metadata === undefined) return { output, status };
  return { output, status, metadata: usable(() => copyJsonObject(metadata, 'metadata', MAX_METADATA)) };
}

/**
 * What a middleware or `postProcess` returned: a result, or anything that a tool may return.
 * @throws TypeError that says what can't be used.
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
      // It is other data, which may have a `type` too, such as a list of files.
    }
  }
  return toText(value);
}

function toText(value: unknown): string {
  return usable(() => jsonText(value, 'The result'));
}

/** @throws if there is anything in it that is no block, or none that a result can have. */
function toBlocks(list: readonly unknown[]): ToolOutput['output'] {
  if (list.length > MAX_BLOCKS) return toText(list);
  return withoutHugeMedia(
    list.map((item, i) => {
      const type = isJsonObject(item) ? ownValue(item, 'type') : undefined;
      if (OUTPUT_TYPES.includes(type)) return toBlock(item, `content[${i}]`) as ToolOutputBlock;
      throw new TypeError(`content[${i}].type must be one of ${OUTPUT_TYPES.join(', ')}.`);
    }),
  );
}

function withoutHugeMedia(blocks: readonly ToolOutputBlock[]): readonly ToolOutputBlock[] {
  let room = MAX_MEDIA_CHARS;
  return blocks.map((block) => {
    if (block.type === 'text' || block.source.type !== 'base64') return block;
    const { length } = block.source.data;
    if (length <= room) {
      room -= length;
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

/** A property without calling a getter. */
function ownValue(object: object, key: string): unknown {
  return Object.getOwnPropertyDescriptor(object, key)?.value;
}
