import { InvalidMsgError, messageOf } from '../errors.ts';
import { copyJsonObject, describe, isJsonObject, type JsonObject } from '../util/json.ts';
import { checkCitations, type Citation } from './citation.ts';

/** Data of the provider that must be sent back with the block (signatures, reasoning ids). Kept unchanged. */
export type ProviderMeta = JsonObject;

interface BlockBase {
  readonly providerMeta?: ProviderMeta;
}

export interface TextBlock extends BlockBase {
  readonly type: 'text';
  readonly text: string;
  /** Sources of the text, as far as the provider names them. */
  readonly citations?: readonly Citation[];
}

export interface ThinkingBlock extends BlockBase {
  readonly type: 'thinking';
  readonly thinking: string;
}

/** Bytes of an image, a sound, a video or a file, or the address of the bytes. */
export type MediaSource =
  | { readonly type: 'base64'; readonly mediaType: string; readonly data: string }
  | { readonly type: 'url'; readonly url: string; readonly mediaType?: string };

export interface ImageBlock extends BlockBase {
  readonly type: 'image';
  readonly source: MediaSource;
}

export interface AudioBlock extends BlockBase {
  readonly type: 'audio';
  readonly source: MediaSource;
}

export interface VideoBlock extends BlockBase {
  readonly type: 'video';
  readonly source: MediaSource;
}

export interface FileBlock extends BlockBase {
  readonly type: 'file';
  readonly source: MediaSource;
  readonly filename?: string;
}

/** A tool call. */
export interface ToolUseBlock extends BlockBase {
  readonly type: 'tool_use';
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
  /** Text written by the model, if the text could not be read as an object. */
  readonly rawInput?: string;
}

/** Status of a tool result. */
export type ToolStatus = 'ok' | 'error' | 'interrupted' | 'denied' | 'unavailable';

export type ToolOutputBlock = TextBlock | ImageBlock | AudioBlock | VideoBlock | FileBlock;

/** The result of a tool call. */
export interface ToolResultBlock extends BlockBase {
  readonly type: 'tool_result';
  /** Id of the tool call. */
  readonly id: string;
  readonly name: string;
  readonly output: string | readonly ToolOutputBlock[];
  readonly status: ToolStatus;
  /** Data of the tool for the program. The model does not see it. */
  readonly metadata?: JsonObject;
  /** The answer with which the tool ends the agent's reply: a message as JSON, or the output itself. */
  readonly responseMsg?: true | JsonObject;
}

/**
 * A call of a tool that the provider runs itself, such as its web search. No tool call: nothing is run here, no
 * permission is asked, and the result may be missing.
 */
export interface ProviderToolUseBlock extends BlockBase {
  readonly type: 'provider_tool_use';
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
  /** Name of the provider, such as `anthropic`. */
  readonly executedBy: string;
}

/** Result of a provider's tool in a readable form. The form of the provider is in `providerMeta`. */
export interface ProviderToolResultBlock extends BlockBase {
  readonly type: 'provider_tool_result';
  /** Id of the `provider_tool_use` block. */
  readonly id: string;
  readonly name: string;
  readonly output: string | readonly ToolOutputBlock[];
  readonly status: 'ok' | 'error';
  /** Name of the provider. */
  readonly executedBy: string;
}

/** A block about a tool that the provider ran. */
export type ProviderToolBlock = ProviderToolUseBlock | ProviderToolResultBlock;

export type ContentBlock =
  | TextBlock
  | ThinkingBlock
  | ImageBlock
  | AudioBlock
  | VideoBlock
  | FileBlock
  | ToolUseBlock
  | ToolResultBlock
  | ProviderToolUseBlock
  | ProviderToolResultBlock;

export type BlockType = ContentBlock['type'];
export type BlockOf<Type extends BlockType> = Extract<ContentBlock, { type: Type }>;

const STATUSES: readonly string[] = [
  'ok',
  'error',
  'interrupted',
  'denied',
  'unavailable',
] satisfies ToolStatus[];
const OUTPUT_TYPES: readonly string[] = ['text', 'image', 'audio', 'video', 'file'] satisfies BlockType[];

/** Maximum nesting of a block and of a message's metadata. Smaller than the limit of JSON, because a message is part of a state. */
export const MAX_BLOCK_DEPTH = 100;

type Check = (block: JsonObject, path: string) => void;

/** Checks of the required keys by block type. Further keys are allowed and kept. */
const CHECKS: Record<BlockType, Check> = {
  text(block, path) {
    requireString(block, 'text', path);
    checkCitations(block['citations'], `${path}.citations`);
  },
  thinking: (block, path) => requireString(block, 'thinking', path),
  image: requireSource,
  audio: requireSource,
  video: requireSource,
  file(block, path) {
    requireSource(block, path);
    allowString(block, 'filename', path);
  },
  tool_use(block, path) {
    requireString(block, 'id', path);
    requireString(block, 'name', path);
    if (!isJsonObject(block['input'])) fail(`${path}.input`, 'an object', block['input']);
    allowString(block, 'rawInput', path);
  },
  tool_result(block, path) {
    requireString(block, 'id', path);
    requireString(block, 'name', path);
    requireOneOf(block, 'status', STATUSES, path);
    allowObject(block, 'metadata', path);
    requireOutput(block, path);
  },
  provider_tool_use(block, path) {
    for (const key of ['id', 'name', 'executedBy']) requireString(block, key, path);
    if (!isJsonObject(block['input'])) fail(`${path}.input`, 'an object', block['input']);
  },
  provider_tool_result(block, path) {
    for (const key of ['id', 'name', 'executedBy']) requireString(block, key, path);
    requireOneOf(block, 'status', ['ok', 'error'], path);
    requireOutput(block, path);
  },
};

/** True for blocks about a tool that the provider ran. */
export function isProviderTool(block: { readonly type: string }): block is ProviderToolBlock {
  return block.type === 'provider_tool_use' || block.type === 'provider_tool_result';
}

/**
 * A frozen copy of a block, including unknown keys.
 * @throws InvalidMsgError with the path and the expected type.
 */
export function toBlock(value: unknown, path: string): ContentBlock {
  const block = toJsonObject(value, path);
  checkBlock(block, path);
  return block;
}

/**
 * A frozen copy of a part of a message.
 * @throws InvalidMsgError with the path.
 */
export function toJsonObject(value: unknown, path: string, maxDepth = MAX_BLOCK_DEPTH): JsonObject {
  try {
    return copyJsonObject(value, path, { maxDepth });
  } catch (error) {
    throw new InvalidMsgError(`${messageOf(error)}.`, { cause: error });
  }
}

function checkBlock(block: unknown, path: string): asserts block is ContentBlock & JsonObject {
  if (!isJsonObject(block)) return fail(path, 'a block', block);
  const type = block['type'];
  if (typeof type !== 'string' || !Object.hasOwn(CHECKS, type)) {
    throw new InvalidMsgError(`${path}.type must be one of ${Object.keys(CHECKS).join(', ')}.`);
  }
  CHECKS[type as BlockType](block, path);
  allowObject(block, 'providerMeta', path);
}

function requireOutput(block: JsonObject, path: string): void {
  const output = block['output'];
  if (typeof output === 'string') return;
  if (!Array.isArray(output)) return fail(`${path}.output`, 'a string or a list of blocks', output);
  output.forEach((part: unknown, i) => {
    const at = `${path}.output[${i}]`;
    checkBlock(part, at);
    requireOneOf(part, 'type', OUTPUT_TYPES, at);
  });
}

function requireSource(block: JsonObject, path: string): void {
  const source = block['source'];
  if (!isJsonObject(source)) return fail(`${path}.source`, 'an object', source);
  const at = `${path}.source`;
  requireOneOf(source, 'type', ['base64', 'url'], at);
  if (source['type'] === 'url') {
    requireString(source, 'url', at);
    allowString(source, 'mediaType', at);
  } else {
    requireString(source, 'mediaType', at);
    requireString(source, 'data', at);
  }
}

function requireString(block: JsonObject, key: string, path: string): void {
  if (typeof block[key] !== 'string') fail(`${path}.${key}`, 'a string', block[key]);
}

function allowString(block: JsonObject, key: string, path: string): void {
  if (block[key] !== undefined) requireString(block, key, path);
}

function allowObject(block: JsonObject, key: string, path: string): void {
  const value = block[key];
  if (value !== undefined && !isJsonObject(value)) fail(`${path}.${key}`, 'an object', value);
}

function requireOneOf(block: JsonObject, key: string, allowed: readonly string[], path: string): void {
  const value = block[key];
  if (typeof value === 'string' && allowed.includes(value)) return;
  throw new InvalidMsgError(`${path}.${key} must be one of ${allowed.join(', ')}.`);
}

function fail(path: string, expected: string, actual: unknown): never {
  throw new InvalidMsgError(`${path} must be ${expected}, not ${describe(actual)}.`);
}
