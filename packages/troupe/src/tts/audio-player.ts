import type { PcmAudio } from '../util/audio/pcm.ts';

/** Why the sound of an item ended, and how much of it was played. */
export interface PlayedItem {
  readonly itemId: string;
  /** Milliseconds of the item that were played. */
  readonly playedMs: number;
  /** Whether all of its sound was played. False after `stop`. */
  readonly isComplete: boolean;
}

/**
 * Port to a loudspeaker with a position. Sound belongs to items (one spoken message each), played one after another. The clock
 * is that of the player: `played` counts sound that was heard, not sound that was sent.
 */
export interface AudioPlayer {
  /** Adds sound to an item. Sound of an item that has ended is dropped. */
  play(itemId: string, audio: PcmAudio): void;
  /** Says that an item gets no more sound. */
  finish(itemId: string): void;
  /** Stops the sound at once and keeps the rest, until `resume` or `stop`. */
  pause(): void;
  resume(): void;
  /** Drops all sound that was not played, and ends its items. Later sound of these items is dropped. */
  stop(): void;
  /** Milliseconds of an item that were played so far. 0 for an unknown item. */
  played(itemId: string): number;
  /**
   * Calls the listener once for each item, when it was played to its end or stopped. `played` gives the same number from then on. The
   * returned function removes the listener.
   */
  onEnd(listener: (item: PlayedItem) => void): () => void;
}
