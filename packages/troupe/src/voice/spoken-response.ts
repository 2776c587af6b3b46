import type { FinishReason, ModelDelta } from '../message/model-delta.ts';
import { ModelError } from '../model/model-error.ts';
import { HeardText } from '../realtime/heard-text.ts';
import type { RealtimeEvent, RealtimeToolCall, ResponseStatus } from '../realtime/realtime-event.ts';
import { toMsgUsage, type RealtimePricing, type RealtimeUsage } from '../realtime/realtime-usage.ts';
import type { AudioPlayer } from '../tts/audio-player.ts';
import { durationOf } from '../util/audio/pcm.ts';
import { startTimer } from '../util/clock.ts';

/** Time between two looks at the player: one frame of sound. */
const FRAME_MS = 20;
/** Time that a reader waits for the usage of a response that was cut. */
const USAGE_MS = 1000;

/** Events of one response. */
export type ResponseEvent = Extract<RealtimeEvent, { readonly responseId: string }>;

export interface SpokenResponseOptions {
  readonly player: AudioPlayer;
  readonly vendorName: string;
  readonly pricing: RealtimePricing | undefined;
}

/**
 * One response of a realtime model: what it says, how much of that was heard, and its tool calls. Read as the deltas of a model message
 * (`deltas`), its words come when they are heard, so that a message that is cut off has exactly the words that were heard. With tool calls
 * the words come at once, because tools don't wait for the loudspeaker: then `heard` tells later what was heard.
 */
export class SpokenResponse {
  readonly id: string;
  readonly calls: RealtimeToolCall[] = [];
  readonly #options: SpokenResponseOptions;
  readonly #items = new Map<string, HeardText>();
  /** Items with sound, and items that were played to their end. */
  readonly #withSound = new Set<string>();
  readonly #playedItems = new Set<string>();
  /** Items of text that get no sound. */
  readonly #silentItems = new Set<string>();
  readonly #waiting = new Set<() => void>();
  #status: ResponseStatus | undefined;
  #message: string | undefined;
  #usage: RealtimeUsage | undefined;
  #isHeld = false;
  /** The words that were heard, when the person or the program ended the response. */
  #cutText: string | undefined;

  constructor(id: string, options: SpokenResponseOptions) {
    this.id = id;
    this.#options = options;
  }

  /** Whether the model has ended the response. */
  get isDone(): boolean {
    return this.#status !== undefined;
  }

  /** Whether it takes no more sound and words. */
  get isHeld(): boolean {
    return this.#isHeld;
  }

  get isCut(): boolean {
    return this.#cutText !== undefined;
  }

  /** Whether all of its sound was played or dropped, and no more comes. */
  get isPlayed(): boolean {
    return this.isCut || (this.isDone && [...this.#withSound].every((id) => this.#playedItems.has(id)));
  }

  get usage(): RealtimeUsage | undefined {
    return this.#usage;
  }

  /** Everything that the model said, heard or not. */
  get text(): string {
    return [...this.#items.values()].map(({ text }) => text).join('');
  }

  /** Words heard up to now, or until the response was cut. */
  get heard(): string {
    return this.#cutText ?? this.#heardNow();
  }

  has(itemId: string): boolean {
    return this.#items.has(itemId);
  }

  /** Spoken items with the time that was played of each. */
  playedItems(): readonly { readonly itemId: string; readonly playedMs: number; readonly totalMs: number }[] {
    return Array.from(this.#withSound, (itemId) => ({
      itemId,
      playedMs: this.#options.player.played(itemId),
      totalMs: this.#items.get(itemId)?.totalMs ?? 0,
    }));
  }

  /** Takes an event. Sound and words after a cut have no effect. */
  take(event: ResponseEvent): void {
    const { player } = this.#options;
    if (event.type === 'response_done') {
      if (this.isDone) return;
      this.#status = event.status;
      this.#usage = event.usage;
      this.#message = event.message;
      for (const item of this.#items.values()) item.endPiece();
      if (!this.#isHeld && !this.isCut) for (const id of this.#withSound) player.finish(id);
    } else if (this.#isHeld || this.isCut || this.isDone) {
      return;
    } else if (event.type === 'audio_delta') {
      this.#item(event.itemId).addSound(durationOf(event.audio));
      this.#withSound.add(event.itemId);
      player.play(event.itemId, event.audio);
    } else if (event.type === 'audio_done') {
      if (this.#withSound.has(event.itemId)) player.finish(event.itemId);
    } else if (event.type === 'transcript_delta') {
      if (event.isSilent) this.#silentItems.add(event.itemId);
      this.#item(event.itemId).addText(event.text);
    } else if (event.type === 'tool_call') {
      this.calls.push(event.call);
    }
    this.#wake();
  }

  /** Says that an item was played to its end, or stopped. */
  itemPlayed(itemId: string): void {
    if (this.#isHeld || !this.#withSound.has(itemId)) return;
    this.#playedItems.add(itemId);
    this.#wake();
  }

  /** Stops taking sound and words: what comes later is neither played nor heard. */
  hold(): void {
    this.#isHeld = true;
  }

  /** Ends the response at what was heard. Its tool calls count if the model has ended it before. */
  cut(): void {
    if (this.isCut) return;
    this.#cutText = this.#heardNow();
    if (!this.isDone) this.calls.length = 0; // the model does not know of half a response
    this.#wake();
  }

  /** Resolves when the response was played to its end or cut. */
  async played(): Promise<void> {
    while (!this.isPlayed) await this.#changed();
  }

  /** Resolves when nothing is to be waited for any more before the input of the response is stored: it needs tools, or is over. */
  async urgent(): Promise<void> {
    while (!(this.isDone && this.calls.length > 0) && !this.isPlayed) await this.#changed();
  }

  /**
   * The response as deltas of a model message.
   * @param onCut called when the reader has all heard words of a response that was cut
   * @throws ModelError if it failed before it said anything
   */
  async *deltas(signal: AbortSignal, onCut: () => void): AsyncGenerator<ModelDelta, void, void> {
    let told = '';
    for (;;) {
      signal.throwIfAborted();
      const isOver = this.isDone && (this.calls.length > 0 || (this.isPlayed && !this.isCut));
      const text = this.#cutText ?? (isOver ? this.text : this.#heardNow());
      if (text.length > told.length) {
        const news = text.slice(told.length);
        told = text;
        yield { type: 'text', text: news };
        continue;
      }
      if (isOver) break;
      if (this.isCut) {
        if (!this.isDone) await this.#changed(USAGE_MS, signal); // the usage comes with the end
        if (this.#usage !== undefined)
          yield { type: 'usage', usage: toMsgUsage(this.#usage, this.#options.pricing) };
        return onCut();
      }
      await this.#changed(this.#withSound.size > 0 ? FRAME_MS : undefined, signal);
    }
    yield* this.#ending(told);
  }

  *#ending(told: string): Generator<ModelDelta, void, void> {
    const { vendorName, pricing } = this.#options;
    for (const [index, { id, name, json }] of this.calls.entries()) {
      yield { type: 'tool_use_start', index, id, name };
      yield { type: 'tool_input', index, json };
      yield { type: 'tool_use_end', index };
    }
    if (this.#usage !== undefined) yield { type: 'usage', usage: toMsgUsage(this.#usage, pricing) };
    yield { type: 'response_id', id: this.id };
    if (this.#status === 'failed' && told === '' && this.calls.length === 0)
      throw new ModelError(this.#message ?? `${vendorName} gave no answer.`, {
        kind: 'overloaded',
        vendor: vendorName,
      });
    yield { type: 'finish', reason: this.#finishReason() };
  }

  #finishReason(): FinishReason {
    if (this.calls.length > 0) return 'tool_calls';
    if (this.#status === 'incomplete')
      return this.#message === 'content_filter' ? 'content_filter' : 'length';
    return this.#status === 'completed' ? 'stop' : 'other';
  }

  /** Words of spoken items as far as they were heard, and of other items whole. */
  #heardNow(): string {
    let heard = '';
    for (const [id, item] of this.#items) {
      if (!this.#withSound.has(id)) heard += this.#waitsForSound(id) ? '' : item.text;
      else heard += item.at(this.#options.player.played(id));
    }
    return heard;
  }

  /** Whether an item has words and may get sound: its words come before the sound. */
  #waitsForSound(itemId: string): boolean {
    return !this.isDone && !this.#silentItems.has(itemId);
  }

  #item(itemId: string): HeardText {
    const known = this.#items.get(itemId);
    if (known !== undefined) return known;
    const item = new HeardText();
    this.#items.set(itemId, item);
    return item;
  }

  /** Resolves at the next event, after `ms`, or when the signal is aborted. */
  #changed(ms?: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        cancel?.();
        this.#waiting.delete(wake);
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      const cancel = ms === undefined ? undefined : startTimer(ms, wake);
      this.#waiting.add(wake);
      signal?.addEventListener('abort', wake, { once: true });
    });
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
  }
}
