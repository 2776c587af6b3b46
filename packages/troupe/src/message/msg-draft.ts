import { timestamp } from '../util/clock.ts';
import { newId } from '../util/ids.ts';
import { joinBase64 } from '../util/base64.ts';
import type { JsonObject } from '../util/json.ts';
import { parseToolInput } from '../util/tool-input.ts';
import { toAnsweredBy, type AnsweredBy } from './answered-by.ts';
import type { BlockChange } from './block-change.ts';
import { MAX_BLOCK_DEPTH, toBlock, toJsonObject, type ContentBlock, type ProviderMeta } from './blocks.ts';
import { FINISH_REASONS, type FinishReason, type ModelDelta } from './model-delta.ts';
import { Msg } from './msg.ts';
import { addUsage, toUsage, type Usage } from './usage.ts';

export interface MsgDraftOptions {
  /** True for ids of tool calls in the history. A new tool call with such an id gets another id. */
  readonly isToolCallIdTaken?: (id: string) => boolean;
  /** Reads the arguments of a finished tool call. @default JSON, small mistakes repaired */
  readonly parseInput?: (json: string) => JsonObject;
}

/** A growing or finished block. */
type Part = TextPart | ToolCallPart | AudioPart | { readonly type: 'whole'; readonly block: ContentBlock };
type TextPart = { readonly type: 'text' | 'thinking'; text: string; isOpen: boolean } & Written;
type ToolCallPart = {
  readonly type: 'tool_use';
  readonly id: string;
  readonly name: string;
  json: string;
} & Written;
type AudioPart = { readonly type: 'audio'; readonly mediaType: string; readonly pieces: string[] } & Written;
type Written = { providerMeta?: ProviderMeta; block?: ContentBlock | undefined };

/**
 * Folds a model's deltas into a message. The cost of a delta does not depend on
 * the length so far: nothing is joined or parsed again.
 *
 * `snapshot` is the message so far, `finish` the whole message, `cutShort` the rest
 * of a stopped message: text is kept, unfinished tool calls are dropped.
 * Tool call ids are unique, also if the model sends one id twice.
 *
 * @example
 * ```ts
 * import { MsgDraft } from 'troupe/kernel';
 *
 * const draft = new MsgDraft('Friday');
 * draft.add({ type: 'text', text: 'Hel' });
 * draft.add({ type: 'text', text: 'lo!' });
 * console.log(draft.snapshot().text); // Hello!
 * const msg = draft.finish();
 * console.log(msg.name);
 * ```
 */
export class MsgDraft {
  readonly id: string = newId();
  readonly #timestamp = timestamp();
  readonly #parts: Part[] = [];
  readonly #toolCalls = new Map<number, number>();
  readonly #toolCallIds = new Set<string>();
  readonly #changes: BlockChange[] = [];
  readonly #options: MsgDraftOptions;
  /** The leading blocks that no longer change. The list only grows, because snapshots read from it. */
  #settled: ContentBlock[] = [];
  #settledParts = 0;
  #forgotten = 0;
  #usage: Usage | undefined;
  /** Usage from before the last reset. */
  #voidUsage: Usage | undefined;
  #finishReason: FinishReason | undefined;
  #responseId: string | undefined;
  #answeredBy: AnsweredBy | undefined;
  #final: Msg | undefined;

  constructor(
    readonly name: string,
    options: MsgDraftOptions = {},
  ) {
    this.#options = options;
  }

  get finishReason(): FinishReason | undefined {
    return this.#finishReason;
  }

  get responseId(): string | undefined {
    return this.#responseId;
  }

  /** The finished message; undefined before `finish`. */
  get final(): Msg | undefined {
    return this.#final;
  }

  add(delta: ModelDelta): void {
    if (this.#final !== undefined) return;
    switch (delta.type) {
      case 'text':
        return this.#addText('text', delta.text, delta.providerMeta);
      case 'thinking':
        return this.#addText('thinking', delta.thinking, delta.providerMeta);
      case 'tool_use_start':
        return this.#startToolCall(delta);
      case 'tool_input':
        return this.#addInput(delta.index, delta.json);
      case 'tool_use_end':
        return this.#endToolCall(delta.index, delta.providerMeta);
      case 'audio':
        return this.#addAudio(delta);
      case 'block':
        return this.#addBlock(delta.block);
      case 'usage':
        this.#usage = toUsage(delta.usage);
        return;
      case 'finish':
        this.#finishReason = FINISH_REASONS.find((reason) => reason === delta.reason) ?? 'other';
        return;
      case 'response_id':
        if (typeof delta.id === 'string') this.#responseId = delta.id;
        return;
      case 'answered_by': {
        const { type: _, ...model } = delta;
        this.#answeredBy = toAnsweredBy(model);
        return;
      }
      case 'reset':
        return this.#reset(delta.reason);
    }
  }

  /** The message so far, without unfinished tool calls. */
  snapshot(): Msg {
    return this.#final ?? new DraftSnapshot(this, this.#blocks(), this.#changeCount);
  }

  /** The whole message, without unfinished tool calls. */
  finish(metadata?: JsonObject): Msg {
    if (this.#final === undefined) {
      this.#closeOpenPart();
      this.#dropOpenToolCalls();
      const usage = addUsage(this.#voidUsage, this.#usage);
      const [finishReason, responseId] = [this.#finishReason, this.#responseId];
      const answeredBy = this.#answeredBy;
      const init = { ...this.init(), usage, metadata, finishReason, responseId, answeredBy };
      this.#final = new Msg(init, { blocks: allOf(this.#blocks()) });
    }
    return this.#final;
  }

  /** The rest of a stopped message; undefined if there is no block yet. */
  cutShort(): Msg | undefined {
    const msg = this.finish();
    return msg.content.length === 0 ? undefined : msg;
  }

  /**
   * Changes from number `start` up to the moment of the snapshot `msg`. Drops the changes
   * before `start`, so that a draft does not hold its whole history; returns undefined
   * if changes after `start` were dropped.
   */
  changesUpTo(msg: Msg, start: number): readonly BlockChange[] | undefined {
    if (start < this.#forgotten) return undefined;
    this.#changes.splice(0, start - this.#forgotten);
    this.#forgotten = start;
    const end = msg instanceof DraftSnapshot ? msg.position : this.#changeCount;
    return this.#changes.slice(0, Math.max(0, end - start));
  }

  /** The fields that all messages of this draft share. */
  init(): { id: string; name: string; role: 'assistant'; content: []; timestamp: string } {
    return { id: this.id, name: this.name, role: 'assistant', content: [], timestamp: this.#timestamp };
  }

  /** Number of all changes, dropped ones included. */
  get #changeCount(): number {
    return this.#forgotten + this.#changes.length;
  }

  /** `providerMeta`, such as a signature, ends a text: later text starts a new block. */
  #addText(type: 'text' | 'thinking', text: string, providerMeta: ProviderMeta | undefined): void {
    if (text === '' && providerMeta === undefined) return;
    let part = this.#parts.at(-1);
    const isSealed = part?.type === type && part.providerMeta !== undefined && text !== '';
    if (part?.type !== type || !part.isOpen || isSealed) {
      this.#closeOpenPart();
      part = { type, text: '', isOpen: true };
      this.#start(part, { blockType: type });
    }
    if (providerMeta !== undefined) part.providerMeta = merged(part.providerMeta, providerMeta);
    part.block = undefined;
    if (text === '') return;
    part.text += text;
    this.#addTextDelta(type, text);
  }

  /** Adds the change with the text of the last part. */
  #addTextDelta(type: 'text' | 'thinking', text: string): void {
    const at = { msgId: this.id, index: this.#parts.length - 1 };
    this.#changes.push(
      type === 'text'
        ? { type: 'text_delta', ...at, text }
        : { type: 'thinking_delta', ...at, thinking: text },
    );
  }

  /** Ends the last text, thinking or audio before a block of another type. */
  #closeOpenPart(): void {
    const part = this.#parts.at(-1);
    if (part?.type === 'audio' && part.block === undefined) {
      part.block = audioBlock(part);
      return this.#end(this.#parts.length - 1, part.block);
    }
    if ((part?.type !== 'text' && part?.type !== 'thinking') || !part.isOpen) return;
    part.isOpen = false;
    this.#end(this.#parts.length - 1, part.providerMeta && textBlock(part));
  }

  #startToolCall(delta: Extract<ModelDelta, { type: 'tool_use_start' }>): void {
    if (this.#openToolCall(delta.index) !== undefined) return; // a second start of the same tool call is ignored
    this.#closeOpenPart();
    const id = this.#uniqueToolCallId(delta.id);
    this.#toolCalls.set(delta.index, this.#parts.length);
    const part: ToolCallPart = { type: 'tool_use', id, name: delta.name, json: '' };
    if (delta.providerMeta !== undefined) part.providerMeta = merged(undefined, delta.providerMeta);
    this.#start(part, { blockType: 'tool_use', toolCallId: id, name: delta.name });
  }

  #addInput(toolCallIndex: number, json: string): void {
    const call = this.#openToolCall(toolCallIndex);
    if (call === undefined) return;
    call.part.json += json;
    this.#changes.push({ type: 'tool_input_delta', msgId: this.id, index: call.index, json });
  }

  #endToolCall(toolCallIndex: number, providerMeta: ProviderMeta | undefined): void {
    const call = this.#openToolCall(toolCallIndex);
    if (call === undefined) return;
    const { part, index } = call;
    if (providerMeta !== undefined) part.providerMeta = merged(part.providerMeta, providerMeta);
    part.block = this.#readToolCall(part);
    this.#end(index, part.block);
  }

  /** The unfinished tool call with the model's number `toolCallIndex`. A model may reuse the number after the end. */
  #openToolCall(toolCallIndex: number): { part: ToolCallPart; index: number } | undefined {
    const index = this.#toolCalls.get(toolCallIndex);
    const part = index === undefined ? undefined : this.#parts[index];
    return index === undefined || part?.type !== 'tool_use' || part.block !== undefined
      ? undefined
      : { part, index };
  }

  #readToolCall({ id, name, json, providerMeta }: ToolCallPart): ContentBlock {
    const call = { type: 'tool_use', id, name, input: {}, providerMeta };
    if (json.trim() === '') return toBlock(call, 'tool call');
    try {
      return toBlock({ ...call, input: (this.#options.parseInput ?? parseToolInput)(json) }, 'tool call');
    } catch {
      return toBlock({ ...call, rawInput: json }, 'tool call');
    }
  }

  #addAudio({ data, mediaType, providerMeta }: Extract<ModelDelta, { type: 'audio' }>): void {
    let part = this.#parts.at(-1);
    if (part?.type !== 'audio' || part.block !== undefined || part.mediaType !== mediaType) {
      this.#closeOpenPart();
      part = { type: 'audio', mediaType, pieces: [] };
      this.#start(part, { blockType: 'audio' });
    }
    if (providerMeta !== undefined) part.providerMeta = merged(part.providerMeta, providerMeta);
    if (data === '') return;
    part.pieces.push(data);
    this.#changes.push({ type: 'audio_delta', msgId: this.id, index: this.#parts.length - 1, data });
  }

  /** Drops everything except the usage. */
  #reset(reason: string): void {
    this.#parts.length = 0;
    this.#settled = [];
    this.#settledParts = 0;
    this.#toolCalls.clear();
    this.#toolCallIds.clear();
    this.#voidUsage = addUsage(this.#voidUsage, this.#usage);
    this.#usage = this.#finishReason = this.#responseId = this.#answeredBy = undefined;
    this.#changes.push({ type: 'msg_reset', msgId: this.id, reason });
  }

  #addBlock(block: ContentBlock): void {
    this.#closeOpenPart();
    const id = block.type === 'tool_use' ? this.#uniqueToolCallId(block.id) : undefined;
    const whole = toBlock(id === undefined ? block : { ...block, id }, 'block');
    const call = whole.type === 'tool_use' ? { toolCallId: whole.id, name: whole.name } : {};
    this.#start({ type: 'whole', block: whole }, { blockType: whole.type, ...call });
    if (whole.type === 'text') this.#addTextDelta('text', whole.text);
    if (whole.type === 'thinking') this.#addTextDelta('thinking', whole.thinking);
    this.#end(this.#parts.length - 1, whole);
  }

  #uniqueToolCallId(wanted: string | undefined): string {
    const isTaken = (id: string): boolean =>
      this.#toolCallIds.has(id) || (this.#options.isToolCallIdTaken?.(id) ?? false);
    let id = wanted || newId('call_');
    if (isTaken(id)) id = newId('call_');
    while (isTaken(id)) id += '_'; // needed where ids are not random, as in tests
    this.#toolCallIds.add(id);
    return id;
  }

  #dropOpenToolCalls(): void {
    this.#parts.forEach((part, index) => {
      if (part.type === 'tool_use' && part.block === undefined) this.#end(index);
    });
  }

  #start(part: Part, details: { blockType: ContentBlock['type']; toolCallId?: string; name?: string }): void {
    this.#changes.push({ type: 'block_start', msgId: this.id, index: this.#parts.length, ...details });
    this.#parts.push(part);
  }

  #end(index: number, block?: ContentBlock): void {
    this.#changes.push({ type: 'block_end', msgId: this.id, index, ...(block && { block }) });
  }

  /** The blocks so far. Settled blocks at the front are not visited again. */
  #blocks(): BlocksSoFar {
    for (let part = this.#parts[this.#settledParts]; part && isSettled(part);) {
      this.#settled.push(...blockOf(part));
      part = this.#parts[++this.#settledParts];
    }
    const rest = this.#parts.slice(this.#settledParts).flatMap(blockOf);
    return { settled: this.#settled, count: this.#settled.length, rest };
  }
}

/** Up to this number of blocks, copying at once is cheaper than copying on demand. */
const FEW_BLOCKS = 32;

/** Blocks of a snapshot, copied on demand. */
interface BlocksSoFar {
  readonly settled: readonly ContentBlock[];
  /** Number of blocks of `settled` that belong to the snapshot. */
  readonly count: number;
  readonly rest: readonly ContentBlock[];
}

function allOf({ settled, count, rest }: BlocksSoFar): readonly ContentBlock[] {
  return Object.freeze([...settled.slice(0, count), ...rest]);
}

/** A draft's message at one moment, with the number of changes up to then. */
export class DraftSnapshot extends Msg {
  readonly #draft: MsgDraft;
  readonly #position: number;

  constructor(draft: MsgDraft, soFar: BlocksSoFar, position: number) {
    const isLong = soFar.count > FEW_BLOCKS;
    super(draft.init(), { blocks: isLong ? [] : allOf(soFar) });
    if (isLong) {
      let blocks: readonly ContentBlock[] | undefined;
      const content = (): readonly ContentBlock[] => (blocks ??= allOf(soFar));
      Object.defineProperty(this, 'content', { get: content, enumerable: true });
    }
    this.#draft = draft;
    this.#position = position;
    Object.freeze(this);
  }

  get draft(): MsgDraft {
    return this.#draft;
  }

  get position(): number {
    return this.#position;
  }
}

/** True if the part no longer changes. */
function isSettled(part: Part): boolean {
  if (part.type === 'text' || part.type === 'thinking') return !part.isOpen;
  return part.block !== undefined;
}

/** The block of a part; none for an unfinished tool call or audio. */
function blockOf(part: Part): readonly ContentBlock[] {
  if (part.type === 'text' || part.type === 'thinking') part.block ??= textBlock(part);
  return part.block === undefined ? [] : [part.block];
}

function textBlock(part: TextPart): ContentBlock {
  const meta = part.providerMeta && { providerMeta: part.providerMeta };
  const block: ContentBlock =
    part.type === 'text'
      ? { type: 'text', text: part.text, ...meta }
      : { type: 'thinking', thinking: part.text, ...meta };
  return Object.freeze(block);
}

function audioBlock({ mediaType, pieces, providerMeta }: AudioPart): ContentBlock {
  const source = { type: 'base64', mediaType, data: joinBase64(pieces) };
  return toBlock({ type: 'audio', source, providerMeta }, 'audio');
}

function merged(before: ProviderMeta | undefined, after: ProviderMeta): ProviderMeta {
  return toJsonObject({ ...before, ...after }, 'providerMeta', MAX_BLOCK_DEPTH - 1);
}
