import type { ContentBlock, ToolOutputBlock, ToolResultBlock, ToolUseBlock } from '../message/blocks.ts';
import type { Msg } from '../message/msg.ts';
import { fingerprint } from '../util/hash.ts';
import { readJson, type JsonObject } from '../util/json.ts';
import type { AssistantItem, SystemItem, UserItem } from './prompt.ts';

/** A message by itself, taken apart and made fit for every provider. */
export interface MsgParts {
  readonly results: readonly ToolResultBlock[];
  readonly calls: readonly ToolUseBlock[];
  /** What is left of the message without the results. It holds the calls. */
  readonly item: SystemItem | UserItem | AssistantItem | undefined;
}

/** Only a half character is written so: `JSON.stringify` leaves whole ones as they are. The backslash itself is not escaped. */
const LONE_SURROGATE = /(?<=(?:^|[^\\])(?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g;

const known = new WeakMap<Msg, MsgParts>();
let made = 0;

/** The parts of a message. A message never changes, so they are made only once. */
export function partsOf(msg: Msg): MsgParts {
  let parts = known.get(msg);
  if (parts === undefined) {
    parts = takeApart(msg);
    made++;
    known.set(msg, parts);
  }
  return parts;
}

/** How many messages were taken apart so far. */
export function partsMade(): number {
  return made;
}

function takeApart(msg: Msg): MsgParts {
  const results: ToolResultBlock[] = [];
  const calls: ToolUseBlock[] = [];
  const rest: Exclude<ContentBlock, ToolResultBlock>[] = [];
  for (const block of msg.getContentBlocks()) {
    if (block.type === 'tool_result') {
      results.push(cleanResult(block));
      continue;
    }
    if ((block.type === 'text' && isBlank(block.text)) || (block.type === 'thinking' && isUseless(block)))
      continue;
    const clean = cleanBlock(block);
    if (clean.type === 'tool_use') calls.push(clean);
    rest.push(clean);
  }
  return { results, calls, item: toItem(msg, rest, calls.length > 0) };
}

function toItem(
  msg: Msg,
  blocks: readonly Exclude<ContentBlock, ToolResultBlock>[],
  hasCalls: boolean,
): MsgParts['item'] {
  if (msg.role === 'assistant' || hasCalls) {
    const saysSomething = blocks.some((block) => block.type !== 'thinking');
    return saysSomething ? { role: 'assistant', name: wellFormed(msg.name), content: blocks } : undefined;
  }
  const content = blocks.filter((block) => block.type !== 'thinking' && block.type !== 'tool_use');
  if (content.length === 0) return undefined;
  if (msg.role === 'system' && content.every((block) => block.type === 'text')) {
    return {
      role: 'system',
      text: content.map((block) => (block.type === 'text' ? block.text : '')).join('\n'),
    };
  }
  return { role: 'user', name: wellFormed(msg.name), content };
}

function cleanBlock<B extends Exclude<ContentBlock, ToolResultBlock>>(block: B): B {
  if (block.type === 'text')
    return wellFormed(block.text) === block.text ? block : { ...block, text: wellFormed(block.text) };
  if (block.type === 'thinking') {
    const isSigned = block.providerMeta !== undefined; // then every character counts
    return isSigned || block.thinking.isWellFormed()
      ? block
      : { ...block, thinking: wellFormed(block.thinking) };
  }
  if (block.type !== 'tool_use') return block;
  const { rawInput: _, ...call } = block; // what could not be read is not sent again
  return {
    ...call,
    id: cleanId(block.id),
    name: cleanToolName(block.name),
    input: wellFormedJson(block.input),
  } as B;
}

function cleanResult(block: ToolResultBlock): ToolResultBlock {
  const { output } = block;
  return {
    ...block,
    id: cleanId(block.id),
    name: cleanToolName(block.name),
    output: typeof output === 'string' ? wellFormed(output) : output.map(cleanOutput),
  };
}

function cleanOutput(block: ToolOutputBlock): ToolOutputBlock {
  return block.type === 'text' ? { ...block, text: wellFormed(block.text) } : block;
}

/** An id of a usual form: the same one, or one made of it. Some models want their own ids back, odd as they are. */
export function cleanId(id: string): string {
  return fitId(id, /^[\x21-\x7e]{1,64}$/);
}

/** The id if it is of that form, else one made of it. */
export function fitId(id: string, form: RegExp): string {
  return form.test(id) ? id : `call_${fingerprint(id)}`;
}

/** A tool's name that every provider accepts. A model may have made up any name. */
export function cleanToolName(name: string): string {
  if (/^[\w-]{1,64}$/.test(name)) return name;
  return name.slice(0, 64).replace(/[^\w-]/g, '_') || 'unnamed';
}

/** Half a character, which JSON can hold but providers reject, becomes U+FFFD. */
function wellFormed(text: string): string {
  return text.isWellFormed() ? text : text.toWellFormed();
}

function wellFormedJson(input: JsonObject): JsonObject {
  const text = JSON.stringify(input);
  return /\\ud[89a-f]/.test(text) ? (readJson(text.replace(LONE_SURROGATE, '\ufffd')) as JsonObject) : input;
}

function isBlank(text: string): boolean {
  return !/\S/.test(text);
}

function isUseless(block: { readonly thinking: string; readonly providerMeta?: object }): boolean {
  return block.providerMeta === undefined && isBlank(block.thinking);
}
