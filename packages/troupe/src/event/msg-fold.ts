import type { BlockChange, CallDetails } from '../message/block-change.ts';
import type { BlockType, ContentBlock, ToolResultBlock } from '../message/blocks.ts';
import type { Citation } from '../message/citation.ts';
import type { Msg, Role } from '../message/msg.ts';
import { isJsonObject } from '../util/json.ts';
import { PartialJson } from '../util/partial-json.ts';

/** A block of a `MsgView`. Complete blocks are those of the message. */
export type BlockView = ContentBlock & {
  /** Set while the block grows: text so far, arguments of a tool call as far as they are written, output of a tool that still runs. */
  readonly isPartial?: true;
};

/** A message as far as events tell it. Immutable: a message that has changed is a new object. */
export interface MsgView extends Partial<
  Pick<Msg, 'metadata' | 'timestamp' | 'usage' | 'endReason' | 'finishReason' | 'responseId'>
> {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly content: readonly BlockView[];
  /** Names of the agents, from the outermost to the one that printed the message. Empty for messages of users that were added. */
  readonly agentPath: readonly string[];
  /** The agent call that printed the message. */
  readonly replyId?: string;
}

/** A message as `addMsg` takes it: a `Msg`, its JSON, or a `MsgView`. */
export type ViewableMsg = Omit<MsgView, 'content' | 'agentPath'> & {
  readonly content: string | readonly BlockView[];
  readonly agentPath?: readonly string[];
};

type MsgFields = Omit<MsgView, 'content'>;

/** A block that is being written, or is complete. */
interface Part {
  readonly type: BlockType;
  readonly call: { readonly id: string; readonly name: string; readonly executedBy?: string } | undefined;
  readonly input: PartialJson | undefined;
  /** Of text and thinking. Only added to: looking at single characters would cost as much as its length. */
  text: string;
  citations?: readonly Citation[];
  isOpen: boolean;
  /** The whole block, or what is shown of the part; undefined if it has changed since. */
  block: BlockView | undefined;
}

/** Folds the changes of one message, each in constant time. */
export class MsgFold {
  /** Results of the tool calls of this message, in the order of the calls. */
  readonly results: MsgFold[] = [];
  readonly #parts = new Map<number, Part>();
  #fields: MsgFields;
  #view: MsgView | undefined;

  constructor(fields: MsgFields) {
    this.#fields = fields;
  }

  get id(): string {
    return this.#fields.id;
  }

  get agentPath(): readonly string[] {
    return this.#fields.agentPath;
  }

  /** Ids of the tool calls so far. */
  get callIds(): readonly string[] {
    return [...this.#parts.values()].flatMap(({ type, call }) => (type === 'tool_use' && call?.id) || []);
  }

  /** The message so far. */
  get view(): MsgView {
    if (this.#view === undefined) {
      const content = [...this.#parts.values()].flatMap((part) => (part.block ??= shown(part)) ?? []);
      this.#view = Object.freeze({ ...this.#fields, content: Object.freeze(content) });
    }
    return this.#view;
  }

  /** Sets fields, but not the content. */
  set(fields: Partial<MsgFields>): void {
    this.#fields = { ...this.#fields, ...fields };
    this.#view = undefined;
  }

  /** Takes the whole message. */
  setMsg(fields: MsgFields, content: ViewableMsg['content']): void {
    const blocks: readonly BlockView[] =
      typeof content === 'string' ? [{ type: 'text', text: content }] : content;
    this.set(fields);
    this.#parts.clear();
    for (const [index, block] of blocks.entries()) this.#parts.set(index, partOf(block));
  }

  /** Takes the result of a tool call, or what its tool has shown so far. */
  setResult(result: ToolResultBlock, isPartial: boolean): void {
    this.#view = undefined;
    this.#parts.set(0, partOf(isPartial ? { ...result, isPartial } : result));
  }

  /** Removes all blocks. */
  clear(): void {
    this.#view = undefined;
    this.#parts.clear();
  }

  change(change: BlockChange): void {
    this.#view = undefined;
    switch (change.type) {
      case 'msg_reset':
        return this.clear();
      case 'block_start':
        return void this.#start(change.index, change.blockType, change);
      case 'text_delta':
        return this.#addText(change.index, 'text', change.text);
      case 'thinking_delta':
        return this.#addText(change.index, 'thinking', change.thinking);
      case 'tool_input_delta':
        return this.#addInput(change.index, change.json);
      case 'citations_delta':
        return this.#addCitations(change.index, change.citations);
      case 'image_delta':
        return this.#showImage(change);
      case 'block_end':
        return this.#end(change.index, change.block);
      case 'audio_delta': // the whole sound comes with the end of the block
    }
  }

  #start(
    index: number,
    type: BlockType,
    { toolCallId: id, name, executedBy }: CallDetails = {},
  ): Part | undefined {
    if (type === 'tool_result' && this.#parts.has(index)) return undefined; // the result is known from its own event
    const by = executedBy === undefined ? {} : { executedBy };
    const call = id === undefined || name === undefined ? undefined : { id, name, ...by };
    const input = call && new PartialJson();
    const part: Part = { type, call, input, text: '', isOpen: true, block: undefined };
    this.#parts.set(index, part);
    return part;
  }

  /** Adds text; to a new block, if its start came before the first event that was seen. */
  #addText(index: number, type: 'text' | 'thinking', text: string): void {
    const part = this.#parts.get(index) ?? this.#start(index, type);
    if (!part?.isOpen) return;
    part.text += text;
    part.block = undefined;
  }

  #addCitations(index: number, citations: readonly Citation[]): void {
    const part = this.#parts.get(index);
    if (!part?.isOpen) return;
    part.citations = [...(part.citations ?? []), ...citations];
    part.block = undefined;
  }

  #showImage({ index, data, mediaType }: Extract<BlockChange, { type: 'image_delta' }>): void {
    const part = this.#parts.get(index) ?? this.#start(index, 'image');
    if (!part?.isOpen) return;
    const source = { type: 'base64', mediaType, data } as const;
    part.block = Object.freeze({ type: 'image', source, isPartial: true });
  }

  #addInput(index: number, json: string): void {
    const part = this.#parts.get(index);
    if (!part?.isOpen) return;
    part.input?.add(json);
    part.block = undefined;
  }

  #end(index: number, block: ContentBlock | undefined): void {
    const part = this.#parts.get(index);
    if (block !== undefined) {
      this.#parts.set(index, partOf(block));
    } else if (part?.type === 'text' || part?.type === 'thinking') {
      part.isOpen = false;
      part.block = undefined;
    } else if (part?.block === undefined || part.block.isPartial) {
      this.#parts.delete(index); // a tool call or an image that the model never finished
    }
  }
}

/** The part of a block that is known as a whole. */
function partOf(block: BlockView): Part {
  const isCall = block.type === 'tool_use' || block.type === 'provider_tool_use';
  const call = isCall ? { id: block.id, name: block.name } : undefined;
  return { type: block.type, call, input: undefined, text: '', isOpen: false, block };
}

/** View of a block from its deltas; undefined for media and results, which come whole. */
function shown({ type, call, input, text, citations, isOpen }: Part): BlockView | undefined {
  const mark = isOpen ? ({ isPartial: true } as const) : {};
  if (type === 'text') return Object.freeze({ type, text, ...(citations && { citations }), ...mark });
  if (type === 'thinking') return Object.freeze({ type, thinking: text, ...mark });
  if ((type !== 'tool_use' && type !== 'provider_tool_use') || call === undefined) return undefined;
  const value = input?.value;
  const soFar = { ...call, input: isJsonObject(value) ? value : {}, ...mark };
  const { executedBy = '' } = call;
  return Object.freeze(type === 'tool_use' ? { type, ...soFar } : { type, ...soFar, executedBy });
}
