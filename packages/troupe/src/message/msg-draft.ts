import { timestamp } from '../util/clock.ts';
import { newId } from '../util/ids.ts';
import type { JsonObject } from '../util/json.ts';
import { parseToolInput } from '../util/tool-input.ts';
import { toAnsweredBy, type AnsweredBy } from './answered-by.ts';
import { callOf, type BlockChange, type CallDetails } from './block-change.ts';
import { toBlock, type ContentBlock, type ProviderMeta, type ToolUseBlock } from './blocks.ts';
import { checkCitations } from './citation.ts';
import {
  audioBlock,
  blockOf,
  callBlock,
  isSettled,
  mergedAnswerMeta,
  mergedMeta,
  partialCall,
  textBlock,
  type AudioPart,
  type Part,
  type ToolCallPart,
} from './draft-parts.ts';
import { FINISH_REASONS, type FinishReason, type ModelDelta } from './model-delta.ts';
import { Msg } from './msg.ts';
import { addUsage, toUsage, type Usage } from './usage.ts';

export interface MsgDraftOptions {
  /** True for ids of tool calls in the history. A new tool call with such an id gets another id. */
  readonly isToolCallIdTaken?: (id: string) => boolean;
  /** Reads the arguments of a finished tool call. @default JSON, small mistakes repaired */
  readonly parseInput?: (json: string) => JsonObject;
}

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
  readonly role = 'assistant';
  readonly #timestamp = timestamp();
  readonly #parts: Part[] = [];
  readonly #toolCalls = new Map<number, number>();
  readonly #toolCallIds = new Set<string>();
  #changes: BlockChange[] = [];
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
  #providerMeta: ProviderMeta | undefined;
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
      case 'citations':
        return this.#addCitations(delta);
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
      case 'partial_image':
        return this.#showImage(delta);
      case 'usage':
        this.#usage = toUsage(delta.usage);
        return;
      case 'finish':
        this.#finishReason = FINISH_REASONS.find((reason) => reason === delta.reason) ?? 'other';
        return;
      case 'response_id':
        if (typeof delta.id === 'string') this.#responseId = delta.id;
        return;
      case 'provider_meta':
        this.#providerMeta = mergedAnswerMeta(this.#providerMeta, delta.providerMeta);
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
    return this.#final ?? new DraftSnapshot(this, this.#blocks(), this.#openCalls(), this.#changeCount);
  }

  /** The whole message, without unfinished tool calls. */
  finish(metadata?: JsonObject): Msg {
    if (this.#final === undefined) {
      this.#closeOpenPart();
      this.#closeRest();
      const usage = addUsage(this.#voidUsage, this.#usage);
      const [finishReason, responseId] = [this.#finishReason, this.#responseId];
      const [answeredBy, providerMeta] = [this.#answeredBy, this.#providerMeta];
      const init = { ...this.init(), usage, metadata, finishReason, responseId, answeredBy, providerMeta };
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

  /** All changes from number `start` on, which are dropped; undefined if some of them were dropped before. */
  takeChanges(start: number): readonly BlockChange[] | undefined {
    const unread = start - this.#forgotten;
    if (unread < 0) return undefined;
    const changes = unread === 0 ? this.#changes : this.#changes.slice(unread);
    this.#forgotten += this.#changes.length;
    this.#changes = [];
    return changes;
  }

  /** The fields that all messages of this draft share. */
  init(): { id: string; name: string; role: 'assistant'; content: []; timestamp: string } {
    return { id: this.id, name: this.name, role: this.role, content: [], timestamp: this.#timestamp };
  }

  /** Number of all changes, dropped ones included. */
  get #changeCount(): number {
    return this.#forgotten + this.#changes.length;
  }

  /** `providerMeta`, such as a signature, ends a text: later text starts a new block. */
  #addText(type: 'text' | 'thinking', text: string, providerMeta: ProviderMeta | undefined): void {
    if (text === '' && providerMeta === undefined) return;
    let index = this.#currentIndex;
    let part = this.#parts[index];
    const isSealed = part?.type === type && part.providerMeta !== undefined && text !== '';
    if (part?.type !== type || !part.isOpen || isSealed) {
      this.#closeOpenPart();
      index = this.#parts.length;
      part = { type, text: '', isOpen: true };
      this.#start(part, { blockType: type });
    }
    if (providerMeta !== undefined) part.providerMeta = mergedMeta(part.providerMeta, providerMeta);
    part.block = undefined;
    if (text === '') return;
    part.text += text;
    this.#addTextDelta(index, type, text);
  }

  #addTextDelta(index: number, type: 'text' | 'thinking', text: string): void {
    const at = { msgId: this.id, index };
    this.#changes.push(
      type === 'text'
        ? { type: 'text_delta', ...at, text }
        : { type: 'thinking_delta', ...at, thinking: text },
    );
  }

  /** Adds sources to the text that is being written. Sources without a text are left out. */
  #addCitations({ citations }: Extract<ModelDelta, { type: 'citations' }>): void {
    const index = this.#currentIndex;
    const part = this.#parts[index];
    if (part?.type !== 'text' || !part.isOpen || citations.length === 0) return;
    checkCitations(citations, 'citations');
    const block = toBlock(
      { type: 'text', text: '', citations: [...(part.citations ?? []), ...citations] },
      'text',
    );
    if (block.type === 'text' && block.citations) part.citations = block.citations;
    part.block = undefined;
    this.#changes.push({ type: 'citations_delta', msgId: this.id, index, citations });
  }

  /** Index of the last part, but for sounds between whose pieces text may come. */
  get #currentIndex(): number {
    const last = this.#parts.length - 1;
    if (this.#parts[last]?.type !== 'audio') return last;
    return this.#parts.findLastIndex(
      (part) => part.type !== 'audio' || part.index === undefined || isSettled(part),
    );
  }

  /** Ends the last text, thinking or audio before a block of another type. */
  #closeOpenPart(): void {
    const index = this.#currentIndex;
    const part = this.#parts[index];
    if (part?.type === 'audio' && part.block === undefined) return this.#endAudio(part, index);
    if ((part?.type !== 'text' && part?.type !== 'thinking') || !part.isOpen) return;
    part.isOpen = false;
    this.#end(index, part.providerMeta || part.citations ? textBlock(part) : undefined);
  }

  #endAudio(part: AudioPart, index: number): void {
    part.block = audioBlock(part);
    this.#end(index, part.block);
  }

  #startToolCall(delta: Extract<ModelDelta, { type: 'tool_use_start' }>): void {
    if (this.#openToolCall(delta.index) !== undefined) return; // a second start of the same tool call is ignored
    this.#closeOpenPart();
    const { name, executedBy, providerMeta } = delta;
    const id = executedBy === undefined ? this.#uniqueToolCallId(delta.id) : delta.id || newId('call_');
    this.#toolCalls.set(delta.index, this.#parts.length);
    const part: ToolCallPart = { type: 'tool_use', id, name, executedBy, json: '' };
    if (providerMeta !== undefined) part.providerMeta = mergedMeta(undefined, providerMeta);
    const blockType = executedBy === undefined ? 'tool_use' : 'provider_tool_use';
    this.#start(part, { blockType, toolCallId: id, name, ...(executedBy !== undefined && { executedBy }) });
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
    if (providerMeta !== undefined) part.providerMeta = mergedMeta(part.providerMeta, providerMeta);
    this.#toolCalls.delete(toolCallIndex);
    part.block = callBlock(part, this.#options.parseInput ?? parseToolInput);
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

  #addAudio({ data, mediaType, index: number, providerMeta }: Extract<ModelDelta, { type: 'audio' }>): void {
    const isSame = (part: Part | undefined): part is AudioPart =>
      part?.type === 'audio' && !isSettled(part) && part.mediaType === mediaType && part.index === number;
    let index = number === undefined ? this.#parts.length - 1 : this.#parts.findLastIndex(isSame);
    let part = this.#parts[index];
    if (!isSame(part)) {
      if (number === undefined) this.#closeOpenPart();
      index = this.#parts.length;
      part = { type: 'audio', mediaType, index: number, pieces: [] };
      this.#start(part, { blockType: 'audio' });
    }
    if (providerMeta !== undefined) part.providerMeta = mergedMeta(part.providerMeta, providerMeta);
    if (data === '') return;
    part.pieces.push(data);
    this.#changes.push({ type: 'audio_delta', msgId: this.id, index, data });
  }

  #showImage({ data, mediaType }: Extract<ModelDelta, { type: 'partial_image' }>): void {
    if (!this.#hasOpenImage) {
      this.#closeOpenPart();
      this.#start({ type: 'image' }, { blockType: 'image' });
    }
    const index = this.#parts.length - 1;
    this.#changes.push({ type: 'image_delta', msgId: this.id, index, data, mediaType });
  }

  /** Whether the last part is an image that is being made. */
  get #hasOpenImage(): boolean {
    const last = this.#parts.at(-1);
    return last?.type === 'image' && last.block === undefined;
  }

  /** Drops everything except the usage. */
  #reset(reason: string): void {
    this.#parts.length = 0;
    this.#settled = [];
    this.#settledParts = 0;
    this.#toolCalls.clear();
    this.#toolCallIds.clear();
    this.#voidUsage = addUsage(this.#voidUsage, this.#usage);
    this.#usage = this.#finishReason = this.#responseId = undefined;
    this.#answeredBy = this.#providerMeta = undefined;
    this.#changes.push({ type: 'msg_reset', msgId: this.id, reason });
  }

  #addBlock(block: ContentBlock): void {
    this.#closeOpenPart();
    const id = block.type === 'tool_use' ? this.#uniqueToolCallId(block.id) : undefined;
    const whole = toBlock(id === undefined ? block : { ...block, id }, 'block');
    const last = this.#parts.at(-1);
    if (whole.type === 'image' && last?.type === 'image' && this.#hasOpenImage) {
      last.block = whole;
      return this.#end(this.#parts.length - 1, whole);
    }
    this.#start({ type: 'whole', block: whole }, { blockType: whole.type, ...callOf(whole) });
    const index = this.#parts.length - 1;
    if (whole.type === 'text') this.#addTextDelta(index, 'text', whole.text);
    if (whole.type === 'thinking') this.#addTextDelta(index, 'thinking', whole.thinking);
    this.#end(index, whole);
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

  /** Ends sounds, and drops unfinished tool calls and images. */
  #closeRest(): void {
    this.#parts.forEach((part, index) => {
      if (isSettled(part)) return;
      if (part.type === 'audio') this.#endAudio(part, index);
      else this.#end(index);
    });
  }

  /** Unfinished tool calls with the length of their arguments so far. */
  #openCalls(): readonly OpenCall[] {
    const open: OpenCall[] = [];
    for (const index of this.#toolCalls.values()) {
      const part = this.#parts[index];
      if (part?.type === 'tool_use' && part.block === undefined && part.executedBy === undefined)
        open.push({ part, length: part.json.length });
    }
    return open;
  }

  #start(part: Part, details: { readonly blockType: ContentBlock['type'] } & CallDetails): void {
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

/**
 * The unfinished tool calls of a message that is being written, such as that of a `reasoningChunk` hook, with their arguments as far
 * as they are written. The content of such a message holds finished tool calls only. Empty for other messages.
 */
export function partialToolCalls(msg: Msg): readonly ToolUseBlock[] {
  return msg instanceof DraftSnapshot ? msg.partialCalls : [];
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

/** An unfinished tool call of a snapshot. */
interface OpenCall {
  readonly part: ToolCallPart;
  readonly length: number;
}

function allOf({ settled, count, rest }: BlocksSoFar): readonly ContentBlock[] {
  return Object.freeze([...settled.slice(0, count), ...rest]);
}

/** A draft's message at one moment, with the number of changes up to then. */
export class DraftSnapshot extends Msg {
  readonly #draft: MsgDraft;
  readonly #openCalls: readonly OpenCall[];
  readonly #position: number;

  constructor(draft: MsgDraft, soFar: BlocksSoFar, openCalls: readonly OpenCall[], position: number) {
    const isLong = soFar.count > FEW_BLOCKS;
    super(draft.init(), { blocks: isLong ? [] : allOf(soFar) });
    if (isLong) {
      let blocks: readonly ContentBlock[] | undefined;
      const content = (): readonly ContentBlock[] => (blocks ??= allOf(soFar));
      Object.defineProperty(this, 'content', { get: content, enumerable: true });
    }
    this.#draft = draft;
    this.#openCalls = openCalls;
    this.#position = position;
    Object.freeze(this);
  }

  /** Unfinished tool calls, with their arguments as far as they are written. */
  get partialCalls(): readonly ToolUseBlock[] {
    return this.#openCalls.map(({ part: { id, name, json }, length }) =>
      partialCall({ id, name, json: json.slice(0, length) }),
    );
  }

  get draft(): MsgDraft {
    return this.#draft;
  }

  get position(): number {
    return this.#position;
  }
}
