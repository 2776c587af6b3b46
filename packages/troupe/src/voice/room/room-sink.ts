import type { AudioSink } from '../../tts/audio-sink.ts';
import type { PcmAudio } from '../../util/audio/pcm.ts';

/** One agent's right to be heard: one agent speaks at a time. */
export interface SpeakingRight {
  /** Takes the right, if nobody else has it. @returns whether the agent has it now */
  take(): boolean;
  /** Resolves when nobody has the right. */
  whenFree(): Promise<void>;
}

/** Where the player of an agent in a room writes: the sound waits while another agent speaks. */
export class RoomSink implements AudioSink {
  readonly #right: SpeakingRight;
  readonly #speak: (audio: PcmAudio) => void;
  readonly #drop: () => void;
  /** Changes with each flush: sound that waited before is dropped. */
  #generation = 0;
  #wake: () => void = () => {};

  constructor(right: SpeakingRight, speak: (audio: PcmAudio) => void, drop: () => void) {
    this.#right = right;
    this.#speak = speak;
    this.#drop = drop;
  }

  write(audio: PcmAudio): void | Promise<void> {
    if (this.#right.take()) return this.#speak(audio);
    return this.#speakLater(audio, this.#generation);
  }

  flush(): void {
    this.#generation++;
    this.#wake();
    this.#drop();
  }

  async #speakLater(audio: PcmAudio, generation: number): Promise<void> {
    while (generation === this.#generation) {
      const flushed = new Promise<void>((resolve) => (this.#wake = resolve));
      await Promise.race([this.#right.whenFree(), flushed]);
      if (generation !== this.#generation) return;
      if (this.#right.take()) return this.#speak(audio);
    }
  }
}
