import type { AudioPlayer, PlayedItem } from '../../src/tts/audio-player.ts';
import { durationOf, type PcmAudio } from '../../src/util/audio/pcm.ts';

interface Item {
  ms: number;
  playedMs: number;
  isFinished: boolean;
  isEnded: boolean;
}

/** Loudspeaker whose time a test moves: `advance` plays the next milliseconds. */
export class ManualPlayer implements AudioPlayer {
  readonly items = new Map<string, Item>();
  readonly #listeners = new Set<(item: PlayedItem) => void>();
  isPaused = false;

  play(itemId: string, audio: PcmAudio): void {
    const item = this.#item(itemId);
    if (!item.isEnded && !item.isFinished) item.ms += durationOf(audio);
  }

  finish(itemId: string): void {
    this.#item(itemId).isFinished = true;
    this.#endPlayed();
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
  }

  stop(): void {
    this.isPaused = false;
    for (const [itemId, item] of this.items) if (!item.isEnded) this.#end(itemId, item, false);
  }

  played(itemId: string): number {
    return this.items.get(itemId)?.playedMs ?? 0;
  }

  onEnd(listener: (item: PlayedItem) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Milliseconds that wait to be played. */
  get waitingMs(): number {
    return [...this.items.values()].reduce(
      (sum, item) => sum + (item.isEnded ? 0 : item.ms - item.playedMs),
      0,
    );
  }

  advance(ms: number): void {
    let rest = this.isPaused ? 0 : ms;
    for (const item of this.items.values()) {
      if (item.isEnded) continue;
      const step = Math.min(rest, item.ms - item.playedMs);
      item.playedMs += step;
      rest -= step;
    }
    this.#endPlayed();
  }

  #endPlayed(): void {
    for (const [itemId, item] of this.items)
      if (!item.isEnded && item.isFinished && item.playedMs >= item.ms) this.#end(itemId, item, true);
  }

  #end(itemId: string, item: Item, isComplete: boolean): void {
    item.isEnded = true;
    for (const listener of this.#listeners) listener({ itemId, playedMs: item.playedMs, isComplete });
  }

  #item(itemId: string): Item {
    const known = this.items.get(itemId);
    if (known !== undefined) return known;
    const item = { ms: 0, playedMs: 0, isFinished: false, isEnded: false };
    this.items.set(itemId, item);
    return item;
  }
}
