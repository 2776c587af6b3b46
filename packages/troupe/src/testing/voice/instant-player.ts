import type { AudioPlayer, PlayedItem } from '../../tts/audio-player.ts';
import { durationOf, type PcmAudio } from '../../util/audio/pcm.ts';

/** Player for tests and programs without a loudspeaker: all sound counts as heard at once. */
export class InstantPlayer implements AudioPlayer {
  readonly #playedMs = new Map<string, number>();
  readonly #open = new Set<string>();
  readonly #listeners = new Set<(item: PlayedItem) => void>();

  play(itemId: string, audio: PcmAudio): void {
    if (this.#playedMs.has(itemId) && !this.#open.has(itemId)) return;
    this.#open.add(itemId);
    this.#playedMs.set(itemId, this.played(itemId) + durationOf(audio));
  }

  finish(itemId: string): void {
    if (this.#open.delete(itemId)) this.#end(itemId, true);
  }

  pause(): void {}

  resume(): void {}

  stop(): void {
    const open = [...this.#open];
    this.#open.clear();
    for (const itemId of open) this.#end(itemId, false);
  }

  played(itemId: string): number {
    return this.#playedMs.get(itemId) ?? 0;
  }

  onEnd(listener: (item: PlayedItem) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #end(itemId: string, isComplete: boolean): void {
    for (const listener of this.#listeners) listener({ itemId, playedMs: this.played(itemId), isComplete });
  }
}
