import type { SttModelBase } from '../../stt/stt-model-base.ts';
import { BoundedQueue } from '../../util/async/bounded-queue.ts';
import { durationOf, type PcmAudio } from '../../util/audio/pcm.ts';
import type { Usage } from '../../message/usage.ts';

export interface ListeningOptions {
  /** Name of the speaker. */
  readonly userName: string;
  readonly sttModel: SttModelBase;
  readonly onText: (text: string) => void;
  readonly onUsage: (usage: Usage) => void;
}

/** One turn of the person, written down while it is spoken, if the model can do so. */
export class Listening {
  readonly itemId: string;
  readonly userName: string;
  readonly #sound = new BoundedQueue<PcmAudio>(Number.MAX_SAFE_INTEGER); // bounded by the longest turn
  readonly #abort = new AbortController();
  #ms = 0;
  #bytes = 0;
  /** The whole text. Rejects if the model fails. */
  readonly text: Promise<string>;

  constructor(itemId: string, options: ListeningOptions) {
    this.itemId = itemId;
    this.userName = options.userName;
    this.text = this.#write(options);
    this.text.catch(() => {}); // read later
  }

  /** Length of the sound so far. */
  get ms(): number {
    return this.#ms;
  }

  /** Bytes of the sound so far. */
  get bytes(): number {
    return this.#bytes;
  }

  hear(audio: PcmAudio): void {
    this.#bytes += audio.data.byteLength;
    this.#ms += durationOf(audio);
    void this.#sound.put(audio);
  }

  /** Ends the turn: no more sound comes. */
  end(): void {
    this.#sound.close();
  }

  /** Forgets the turn. */
  abort(): void {
    this.#abort.abort(new Error('The turn was dropped.'));
    this.#sound.close();
  }

  async #write({ sttModel, onText, onUsage }: ListeningOptions): Promise<string> {
    const { signal } = this.#abort;
    let whole = '';
    for await (const { text = '', usage } of sttModel.transcribe(this.#sound, { signal })) {
      signal.throwIfAborted();
      whole += text;
      if (usage !== undefined) onUsage(usage);
      if (text !== '') onText(text);
    }
    return whole.trim();
  }
}
