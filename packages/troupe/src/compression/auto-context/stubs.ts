import type { ContentBlock, ToolOutputBlock, ToolResultBlock } from '../../message/blocks.ts';
import { Msg } from '../../message/msg.ts';
import type { Usage } from '../../message/usage.ts';
import { newId } from '../../util/ids.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../util/json.ts';

/**
 * A text in a message that may be shortened: text of the message, output of a tool result, or input of a tool
 * call.
 */
export interface Slot {
  readonly kind: 'text' | 'result' | 'input';
  /** Index of the block; -1 for the text of the message. */
  readonly at: number;
  readonly text: string;
}

export interface ShortenOptions {
  readonly uuid: string;
  /**
   * New text by slot. The text of an input slot is ignored: `inputPreview` characters stay of each text in
   * the input.
   */
  readonly texts: ReadonlyMap<Slot, string>;
  readonly inputPreview: number;
  /** Media to keep: all, none, or only media outside of shortened tool results. */
  readonly media: 'all' | 'beside' | 'none';
  readonly usage?: Usage | undefined;
}

const TAGS = /<!--\s*CONTEXT_OFFLOAD:?\s*uuid=[^<>]*?-->/g;

/** Tag in a text that names the offload with the original messages. */
export function offloadTag(uuid: string): string {
  return `<!-- CONTEXT_OFFLOAD: uuid=${uuid} -->`;
}

/** Removes tags written by a model. */
export function withoutTags(text: string): string {
  return text.replace(TAGS, '').trim();
}

/** Beginning of a text, followed by the tag of the offload. */
export function previewOf(text: string, chars: number, uuid: string): string {
  const head = text.length > chars && chars > 0 ? `${headOf(text, chars)}...` : text.slice(0, chars);
  return head === '' ? offloadTag(uuid) : `${head}\n${offloadTag(uuid)}`;
}

/** Beginning of a text without a split surrogate pair. */
export function headOf(text: string, chars: number): string {
  return text.slice(0, splitsCharacter(text, chars) ? chars - 1 : chars);
}

/** True if the index splits a surrogate pair. */
export function splitsCharacter(text: string, index: number): boolean {
  return /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(index - 1, index + 1));
}

/** Message of the agent with a summary that replaces several messages. */
export function summaryStub(
  text: string,
  uuid: string,
  name: string,
  isCurrentRound = false,
  usage?: Usage,
): Msg {
  const meta = { offloaduuid: uuid, ...(isCurrentRound && { compressed_current_round: true }) };
  return Msg.assistant(`${text}\n${offloadTag(uuid)}`, {
    name,
    metadata: { _compress_meta: meta, ...(usage && { _chat_usage: usage }) },
  });
}

/** All texts of a message that may be shortened. */
export function slotsOf(msg: Msg): readonly Slot[] {
  const slots: Slot[] = [];
  const text = msg.getTextContent();
  if (text !== undefined) slots.push({ kind: 'text', at: -1, text });
  for (const [at, block] of msg.getContentBlocks().entries()) {
    if (block.type === 'tool_result') slots.push({ kind: 'result', at, text: outputText(block) });
    if (block.type === 'tool_use') slots.push({ kind: 'input', at, text: JSON.stringify(block.input) });
  }
  return slots;
}

/** Text of a tool result without media. */
export function outputText({ output }: Pick<ToolResultBlock, 'output'>): string {
  if (typeof output === 'string') return output;
  return output.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
}

/** Copy of a message with shorter texts. Tool calls and results keep their ids and names. */
export function shortened(msg: Msg, options: ShortenOptions): Msg {
  const { uuid, texts, usage } = options;
  const bySlot = new Map([...texts].map(([slot, text]) => [slot.at, text]));
  return msg.with({
    id: newId(),
    content: contentOf(msg, bySlot, options),
    metadata: {
      ...msg.metadata,
      _compress_meta: { offloaduuid: uuid },
      ...(usage && { _chat_usage: usage }),
    },
  });
}

function contentOf(
  msg: Msg,
  texts: ReadonlyMap<number, string>,
  { uuid, inputPreview, media }: ShortenOptions,
): string | ContentBlock[] {
  const own = texts.get(-1);
  if (typeof msg.content === 'string') return own ?? msg.content;
  const isToolMsg = msg.hasContentBlocks(['tool_use', 'tool_result']);
  let hasText = own === undefined;
  const blocks: ContentBlock[] = [];
  for (const [at, block] of msg.content.entries()) {
    const text = texts.get(at);
    if (block.type === 'text' && own !== undefined) {
      if (!hasText) blocks.push({ type: 'text', text: own });
      hasText = true;
    } else if (block.type === 'tool_result') {
      blocks.push(text === undefined ? block : { ...block, output: outputOf(block, text, media === 'all') });
    } else if (block.type === 'tool_use') {
      blocks.push(
        text === undefined
          ? block
          : { ...withoutRaw(block), input: cutInput(block.input, inputPreview, uuid) },
      );
    } else if (block.type === 'thinking') {
      if (isToolMsg) blocks.push(block); // some providers require thinking together with tool calls
    } else if (media !== 'none' || block.type === 'text') blocks.push(block);
  }
  return blocks;
}

function outputOf(
  { output }: ToolResultBlock,
  text: string,
  keepMedia: boolean,
): string | readonly ToolOutputBlock[] {
  const media = typeof output === 'string' || !keepMedia ? [] : output.filter(({ type }) => type !== 'text');
  return media.length === 0 ? text : [{ type: 'text', text }, ...media];
}

function withoutRaw<Block extends { readonly rawInput?: string }>({
  rawInput: _,
  ...block
}: Block): Omit<Block, 'rawInput'> {
  return block;
}

/** Cuts long texts in an input. Keeps the keys unless that saves less than a quarter. */
function cutInput(input: JsonObject, chars: number, uuid: string): JsonObject {
  const cut = cutTexts(input, chars, uuid) as JsonObject;
  const whole = JSON.stringify(input);
  const isEnough = JSON.stringify(cut).length < whole.length * 0.75;
  return isEnough ? cut : { offloaded: previewOf(whole, chars, uuid) };
}

function cutTexts(value: JsonValue, chars: number, uuid: string): JsonValue {
  if (typeof value === 'string')
    return value.length > chars + TAG_CHARS ? previewOf(value, chars, uuid) : value;
  if (Array.isArray(value)) return value.map((item: JsonValue) => cutTexts(item, chars, uuid));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, cutTexts(item, chars, uuid)]));
}

/** Length of a tag. Texts up to a preview and a tag are not cut. */
const TAG_CHARS = 64;
