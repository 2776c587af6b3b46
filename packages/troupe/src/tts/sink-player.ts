import { getLogger } from '../config/run-config.ts';
import { messageOf } from '../errors.ts';
import { BYTES_PER_SAMPLE, type PcmAudio } from '../util/audio/pcm.ts';
import { elapsedSince, monotonic, startTimer } from '../util/clock.ts';
import type { AudioPlayer, PlayedItem } from './audio-player.ts';
import type { AudioSink } from './audio-sink.ts';

const FRAME_MS = 20;
/** Longest delay that is caught up. After a longer one the loudspeaker was silent meanwhile, so the rest is played later. */
const MAX_CATCH_UP_MS = 200;
/** Ended items whose length is known, and whose late sound is dropped. */
const MAX_ENDED_ITEMS = 64;

interface Item {
  /** Sound that waits, in order. */
  readonly pieces: PcmAudio[];
  /** Bytes of the first piece that are written. */
  offset: number;
  writtenMs: number;
  isFinished: boolean;
}

/**
 * Plays items on a sink in real time: writes frames of 20 ms when they are due, so that a stop takes effect at once and at
 * most one frame is written too early. What is written counts as played. A sink that asks to wait slows the player. The program
 * lives while sound plays.
 */
export class SinkPlayer implements AudioPlayer {
  readonly #sink: AudioSink;
  /** Items with sound to come, in order. */
  readonly #items = new Map<string, Item>();
  readonly #endedMs = new Map<string, number>();
  readonly #listeners = new Set<(item: PlayedItem) => void>();
  /** Time at which the current stretch of sound began, and what was written since. */
  #start: number | undefined;
  #sinceStartMs = 0;
  #cancelTimer: (() => void) | undefined;
  #isPaused = false;
  #isWriting = false;
  /** Whether the sink has failed: one warning is enough. */
  #hasFailed = false;

  constructor(sink: AudioSink) {
    this.#sink = sink;
  }

  /** The item that is played, or that comes next. While the sink is written to, the item of that sound. */
  get currentItem(): string | undefined {
    return this.#items.keys().next().value;
  }

  play(itemId: string, audio: PcmAudio): void {
    if (this.#endedMs.has(itemId) || audio.data.length === 0) return;
    const item = this.#itemOf(itemId);
    if (item.isFinished) return;
    item.pieces.push(audio);
    this.#run();
  }

  finish(itemId: string): void {
    if (this.#endedMs.has(itemId)) return;
    this.#itemOf(itemId).isFinished = true;
    this.#run();
  }

  pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.#rest();
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#run();
  }

  stop(): void {
    this.#isPaused = false;
    const stopped = [...this.#items].map(([itemId]) => ({ itemId, playedMs: this.played(itemId) }));
    this.#items.clear();
    this.#rest();
    if (stopped.length > 0) this.#flush();
    for (const { itemId, playedMs } of stopped) this.#end({ itemId, playedMs, isComplete: false });
  }

  played(itemId: string): number {
    return this.#endedMs.get(itemId) ?? this.#items.get(itemId)?.writtenMs ?? 0;
  }

  onEnd(listener: (item: PlayedItem) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #itemOf(itemId: string): Item {
    const known = this.#items.get(itemId);
    if (known !== undefined) return known;
    const item: Item = { pieces: [], offset: 0, writtenMs: 0, isFinished: false };
    this.#items.set(itemId, item);
    return item;
  }

  /** Starts the timer, unless it runs. */
  #run(): void {
    if (this.#isPaused || this.#cancelTimer !== undefined || this.#isWriting) return;
    this.#start ??= monotonic();
    void this.#tick();
  }

  #rest(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#start = undefined;
    this.#sinceStartMs = 0;
  }

  async #tick(): Promise<void> {
    this.#cancelTimer = undefined;
    this.#isWriting = true;
    while (this.#endFinished() && this.#isDue()) {
      try {
        const waits = this.#writeFrame();
        if (waits) await waits;
      } catch (error) {
        if (!this.#hasFailed) getLogger().log('warn', `Sound could not be played: ${messageOf(error)}`);
        this.#hasFailed = true;
      }
    }
    this.#isWriting = false;
    if (this.#isPaused || this.#items.size === 0) return this.#rest();
    if (![...this.#items.values()].some(({ pieces }) => pieces.length > 0)) return this.#rest(); // waits for sound
    this.#start ??= monotonic(); // stopped or paused while the sink was slow
    this.#cancelTimer = startTimer(FRAME_MS, () => void this.#tick());
  }

  /** Ends items that are played to their end. @returns whether there is sound to write */
  #endFinished(): boolean {
    for (const [itemId, { pieces, isFinished, writtenMs }] of this.#items) {
      if (pieces.length > 0) return true;
      if (!isFinished) return false;
      this.#items.delete(itemId);
      this.#end({ itemId, playedMs: writtenMs, isComplete: true });
    }
    return false;
  }

  #isDue(): boolean {
    if (this.#isPaused || this.#start === undefined) return false;
    const behindMs = elapsedSince(this.#start) + FRAME_MS - this.#sinceStartMs;
    if (behindMs > MAX_CATCH_UP_MS) this.#start += behindMs - FRAME_MS;
    return behindMs >= FRAME_MS;
  }

  /** Writes at most one frame of the first item. */
  #writeFrame(): void | Promise<void> {
    const [item] = this.#items.values();
    const [piece] = item?.pieces ?? [];
    if (item === undefined || piece === undefined) return;
    const { data, rate } = piece;
    const size = Math.round((rate * FRAME_MS) / 1000) * BYTES_PER_SAMPLE;
    const frame = data.subarray(item.offset, item.offset + size);
    item.offset += frame.length;
    if (item.offset >= data.length) {
      item.pieces.shift();
      item.offset = 0;
    }
    const lengthMs = (frame.length / BYTES_PER_SAMPLE / rate) * 1000;
    item.writtenMs += lengthMs;
    this.#sinceStartMs += lengthMs;
    return this.#sink.write({ data: frame, rate });
  }

  #flush(): void {
    try {
      this.#sink.flush();
    } catch (error) {
      getLogger().log('warn', `Sound could not be stopped: ${messageOf(error)}`);
    }
  }

  #end(item: PlayedItem): void {
    this.#endedMs.set(item.itemId, item.playedMs);
    for (const oldest of this.#endedMs.keys()) {
      if (this.#endedMs.size <= MAX_ENDED_ITEMS) break;
      this.#endedMs.delete(oldest);
    }
    for (const listener of this.#listeners) listener(item);
  }
}
