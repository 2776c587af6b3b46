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
  /** Ids of calls in the history, which a new call may not use again. */
  readonly isCallIdTaken?: (id: string) => boolean;
  /** Reads the arguments of a finished call. @default JSON, small mistakes repaired */
  readonly parseInput?: (json: string) => JsonObject;
}

/** A block that is being written, or is finished. */
type Part = TextPart | CallPart | AudioPart | { readonly type: 'whole'; readonly block: ContentBlock };
type TextPart = { readonly type: 'text' | 'thinking'; text: string; isOpen: boolean } & Written;
type CallPart = {
  readonly type: 'tool_use';
  readonly id: string;
  readonly name: string;
  json: string;
} & Written;
type AudioPart = { readonly type: 'audio'; readonly mediaType: string; readonly pieces: string[] } & Written;
type Written = { providerMeta?: ProviderMeta; block?: ContentBlock | undefined };

/**
 * Folds a model's deltas into a message, each in constant time, whatever came
 * before: nothing is joined or parsed again.
 *
 * `snapshot` is the message so far, `finish` the whole one, `cutShort` what is
 * left of one that was stopped: its text is kept, half-made calls are dropped.
 * Every call has an id that no other has, whatever the model sent.
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
  readonly #calls = new Map<number, number>();
  readonly #callIds = new Set<string>();
  readonly #changes: BlockChange[] = [];
  readonly #options: MsgDraftOptions;
  /** The blocks at the front that no longer change. It only grows: snapshots look into it. */
  #settled: ContentBlock[] = [];
  #settledParts = 0;
  #forgotten = 0;
  #usage: Usage | undefined;
  /** What answers cost that were given up. */
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

  /** The finished message, once there is one. */
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
        return this.#startCall(delta);
      case 'tool_input':
        return this.#addInput(delta.index, delta.json);
      case 'tool_use_end':
        return this.#endCall(delta.index, delta.providerMeta);
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

  /** The message so far, without calls that are still being made. */
  snapshot(): Msg {
    return this.#final ?? new DraftSnapshot(this, this.#blocks(), this.#changeCount);
  }

  /** The whole message. A call that the model never finished is dropped. */
  finish(metadata?: JsonObject): Msg {
    if (this.#final === undefined) {
      this.#closeOpenPart();
      this.#dropOpenCalls();
      const usage = addUsage(this.#voidUsage, this.#usage);
      const [finishReason, responseId] = [this.#finishReason, this.#responseId];
      const answeredBy = this.#answeredBy;
      const init = { ...this.init(), usage, metadata, finishReason, responseId, answeredBy };
      this.#final = new Msg(init, { blocks: allOf(this.#blocks()) });
    }
    return this.#final;
  }

  /** What is left of a message that was stopped, or undefined if there is nothing yet. */
  cutShort(): Msg | undefined {
    const msg = this.finish();
    return msg.content.length === 0 ? undefined : msg;
  }

  /**
   * What happened from change number `start` up to where `msg` was taken. What came
   * before is forgotten, so that a draft holds no history of itself; who asks for
   * forgotten changes gets undefined.
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

  /** How many changes there were in all. */
  get #changeCount(): number {
    return this.#forgotten + this.#changes.length;
  }

  /** What a provider says about a text, such as its signature, stands at its end: what follows is another. */
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
    this.#tell(type, text);
  }

  /** Tells what the last part says. */
  #tell(type: 'text' | 'thinking', text: string): void {
    const at = { msgId: this.id, index: this.#parts.length - 1 };
    this.#changes.push(
      type === 'text'
        ? { type: 'text_delta', ...at, text }
        : { type: 'thinking_delta', ...at, thinking: text },
    );
  }

  /** Ends the text or sound that something else now follows. */
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

  #startCall(delta: Extract<ModelDelta, { type: 'tool_use_start' }>): void {
    if (this.#openCall(delta.index) !== undefined) return; // said twice: the first one stands
    this.#closeOpenPart();
    const id = this.#uniqueCallId(delta.id);
    this.#calls.set(delta.index, this.#parts.length);
    const part: CallPart = { type: 'tool_use', id, name: delta.name, json: '' };
    if (delta.providerMeta !== undefined) part.providerMeta = merged(undefined, delta.providerMeta);
    this.#start(part, { blockType: 'tool_use', id, name: delta.name });
  }

  #addInput(callIndex: number, json: string): void {
    const call = this.#openCall(callIndex);
    if (call === undefined) return;
    call.part.json += json;
    this.#changes.push({ type: 'tool_input_delta', msgId: this.id, index: call.index, json });
  }

  #endCall(callIndex: number, providerMeta: ProviderMeta | undefined): void {
    const call = this.#openCall(callIndex);
    if (call === undefined) return;
    const { part, index } = call;
    if (providerMeta !== undefined) part.providerMeta = merged(part.providerMeta, providerMeta);
    part.block = this.#readCall(part);
    this.#end(index, part.block);
  }

  /** The call that the model counts as number `callIndex`, until it is finished. The number may be used again. */
  #openCall(callIndex: number): { part: CallPart; index: number } | undefined {
    const index = this.#calls.get(callIndex);
    const part = index === undefined ? undefined : this.#parts[index];
    return index === undefined || part?.type !== 'tool_use' || part.block !== undefined
      ? undefined
      : { part, index };
  }

  #readCall({ id, name, json, providerMeta }: CallPart): ContentBlock {
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

  /** Forgets everything but what it cost. */
  #reset(reason: string): void {
    this.#parts.length = 0;
    this.#settled = [];
    this.#settledParts = 0;
    this.#calls.clear();
    this.#callIds.clear();
    this.#voidUsage = addUsage(this.#voidUsage, this.#usage);
    this.#usage = this.#finishReason = this.#responseId = this.#answeredBy = undefined;
    this.#changes.push({ type: 'msg_reset', msgId: this.id, reason });
  }

  #addBlock(block: ContentBlock): void {
    this.#closeOpenPart();
    const id = block.type === 'tool_use' ? this.#uniqueCallId(block.id) : undefined;
    const whole = toBlock(id === undefined ? block : { ...block, id }, 'block');
    const call = whole.type === 'tool_use' ? { id: whole.id, name: whole.name } : {};
    this.#start({ type: 'whole', block: whole }, { blockType: whole.type, ...call });
    if (whole.type === 'text') this.#tell('text', whole.text);
    if (whole.type === 'thinking') this.#tell('thinking', whole.thinking);
    this.#end(this.#parts.length - 1, whole);
  }

  #uniqueCallId(wanted: string | undefined): string {
    const isTaken = (id: string): boolean =>
      this.#callIds.has(id) || (this.#options.isCallIdTaken?.(id) ?? false);
    let id = wanted || newId('call_');
    if (isTaken(id)) id = newId('call_');
    while (isTaken(id)) id += '_'; // where ids are not random
    this.#callIds.add(id);
    return id;
  }

  #dropOpenCalls(): void {
    this.#parts.forEach((part, index) => {
      if (part.type === 'tool_use' && part.block === undefined) this.#end(index);
    });
  }

  #start(part: Part, details: { blockType: ContentBlock['type']; id?: string; name?: string }): void {
    this.#changes.push({ type: 'block_start', msgId: this.id, index: this.#parts.length, ...details });
    this.#parts.push(part);
  }

  #end(index: number, block?: ContentBlock): void {
    this.#changes.push({ type: 'block_end', msgId: this.id, index, ...(block && { block }) });
  }

  /** The blocks so far. Those at the front that no longer change are not looked at again. */
  #blocks(): BlocksSoFar {
    for (let part = this.#parts[this.#settledParts]; part && isSettled(part);) {
      this.#settled.push(...blockOf(part));
      part = this.#parts[++this.#settledParts];
    }
    const rest = this.#parts.slice(this.#settledParts).flatMap(blockOf);
    return { settled: this.#settled, count: this.#settled.length, rest };
  }
}

/** So many are copied sooner than it can be put off. */
const FEW_BLOCKS = 32;

/** Blocks that need not be copied as long as nobody wants to see them. */
interface BlocksSoFar {
  readonly settled: readonly ContentBlock[];
  /** How many of `settled` there were. */
  readonly count: number;
  readonly rest: readonly ContentBlock[];
}

function allOf({ settled, count, rest }: BlocksSoFar): readonly ContentBlock[] {
  return Object.freeze([...settled.slice(0, count), ...rest]);
}

/** The message at one moment of its draft: it knows which changes it already holds. */
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

/** Whether a part stays as it is. */
function isSettled(part: Part): boolean {
  if (part.type === 'text' || part.type === 'thinking') return !part.isOpen;
  return part.block !== undefined;
}

/** The block of a part; none for a call or sound that is still being made. */
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
