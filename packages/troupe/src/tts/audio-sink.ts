import type { PcmAudio } from '../util/audio/pcm.ts';

/** Port to a place where sound goes: a loudspeaker, a file, a connection. */
export interface AudioSink {
  /** Takes the next piece of sound. Returns a promise if the producer should wait. */
  write(audio: PcmAudio): void | Promise<void>;
  /** Drops sound that was not played yet, because the speaker was interrupted. */
  flush(): void;
}
