import type { AudioPlayer, PlayedItem } from '../../tts/audio-player.ts';
import type { AudioSink } from '../../tts/audio-sink.ts';
import { SinkPlayer } from '../../tts/sink-player.ts';
import type { PcmAudio } from '../../util/audio/pcm.ts';

/** Items whose reported positions are kept. */
const MAX_REPORTS = 64;

/**
 * Player behind a connection. Sends sound when the sound is due, so that little of it waits at the other end. Counts as played the part that the other end reports,
 * or, without reports, the part that was sent.
 */
export class SocketPlayer implements AudioPlayer {
  readonly #player: SinkPlayer;
  readonly #reports = new Map<string, number>();
  /** Whether the other end reports from the start: then sound without a report was not played. */
  hasReports = false;

  constructor(send: (itemId: string, audio: PcmAudio) => void | Promise<void>) {
    const sink: AudioSink = {
      write: (audio) => send(this.#player.currentItem ?? '', audio),
      flush: () => {},
    };
    this.#player = new SinkPlayer(sink);
  }

  /** Takes a report of the other end. It never counts for more than what was sent, or for less than a report before. */
  report(itemId: string, ms: number): void {
    const played = Math.max(this.#reports.get(itemId) ?? 0, Math.min(ms, this.#player.played(itemId)));
    this.#reports.delete(itemId);
    this.#reports.set(itemId, played);
    for (const oldest of this.#reports.keys()) {
      if (this.#reports.size <= MAX_REPORTS) break;
      this.#reports.delete(oldest);
    }
  }

  play(itemId: string, audio: PcmAudio): void {
    this.#player.play(itemId, audio);
  }

  finish(itemId: string): void {
    this.#player.finish(itemId);
  }

  pause(): void {
    this.#player.pause();
  }

  resume(): void {
    this.#player.resume();
  }

  stop(): void {
    this.#player.stop();
  }

  played(itemId: string): number {
    return this.#reports.get(itemId) ?? (this.hasReports ? 0 : this.#player.played(itemId));
  }

  onEnd(listener: (item: PlayedItem) => void): () => void {
    return this.#player.onEnd((item) => listener({ ...item, playedMs: this.played(item.itemId) }));
  }
}
