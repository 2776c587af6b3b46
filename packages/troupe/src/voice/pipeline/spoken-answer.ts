import type { Usage } from '../../message/usage.ts';
import type { AudioPlayer } from '../../tts/audio-player.ts';
import type { SpeakableFilter } from '../../tts/speech-text.ts';
import type { TtsModelBase } from '../../tts/tts-model-base.ts';
import { abortable, abortableItems } from '../../util/abort.ts';
import { BoundedQueue } from '../../util/async/bounded-queue.ts';
import { durationOf, type PcmAudio } from '../../util/audio/pcm.ts';
import { SpokenText, type Sentence } from './spoken-text.ts';

/** Sentences whose sound may wait to be played. Later ones are not made yet, because a barge-in would waste them. */
const MAX_AHEAD = 4;

export interface SpokenAnswerOptions {
  readonly ttsModel: TtsModelBase;
  readonly player: AudioPlayer;
  readonly newFilter: (() => SpeakableFilter) | undefined;
  readonly onSentence: (sentence: Sentence) => void;
  readonly onAudio: (sentence: Sentence, audio: PcmAudio) => void;
  readonly onUsage: (usage: Usage) => void;
  readonly onFailure: (error: unknown) => void;
}

/**
 * Speech of one answer of an agent: its messages, sentence by sentence, while they grow. Sound is made a few sentences ahead of the
 * loudspeaker. A sentence that can not be spoken is left out.
 */
export class SpokenAnswer {
  readonly id: string;
  readonly #options: SpokenAnswerOptions;
  readonly #texts = new Map<string, SpokenText>();
  readonly #sentences = new BoundedQueue<Sentence>(Number.MAX_SAFE_INTEGER); // bounded by the text of one answer
  /** Sentences that are not over. */
  readonly #open = new Map<string, Sentence>();
  readonly #stop = new AbortController();
  #wake: () => void = () => {};
  #count = 0;
  #isComplete = false;
  /** Resolves when the last sound of the answer was made. Never rejects. */
  readonly spoken: Promise<void>;

  constructor(id: string, options: SpokenAnswerOptions) {
    this.id = id;
    this.#options = options;
    this.spoken = this.#speak().catch((error: unknown) => {
      if (!this.isCut) options.onFailure(error);
    });
  }

  get isCut(): boolean {
    return this.#stop.signal.aborted;
  }

  /** Whether everything was played or dropped, and no more comes. */
  get isOver(): boolean {
    return this.isCut || (this.#isComplete && this.#open.size === 0);
  }

  /** Whether sound is played, or waits to be made or played. */
  get isSpeaking(): boolean {
    return !this.isCut && this.#open.size > 0;
  }

  /** Ids of the messages whose text is spoken. */
  get msgIds(): readonly string[] {
    return [...this.#texts.keys()];
  }

  /** The part of a message's text that was heard. */
  heard(msgId: string): string {
    return this.#texts.get(msgId)?.heard((itemId) => this.#options.player.played(itemId)) ?? '';
  }

  add(msgId: string, text: string): void {
    if (this.isCut || this.#isComplete) return;
    let spoken = this.#texts.get(msgId);
    if (spoken === undefined) {
      spoken = new SpokenText(() => `${this.id}_${++this.#count}`, this.#options.newFilter?.());
      this.#texts.set(msgId, spoken);
    }
    this.#queue(spoken.add(text));
  }

  /** Ends a part of a message: its last sentence is complete. */
  endPart(msgId: string): void {
    if (!this.isCut) this.#queue(this.#texts.get(msgId)?.endPart() ?? []);
  }

  /** Forgets the text of a message that begins again. Sentences without sound are not spoken. */
  reset(msgId: string): void {
    const text = this.#texts.get(msgId);
    this.#texts.delete(msgId);
    for (const sentence of this.#open.values())
      if (text?.has(sentence.itemId) && sentence.heard.totalMs === 0) this.#end(sentence);
  }

  /** Ends the answer: no more text comes. */
  complete(): void {
    if (this.#isComplete) return;
    for (const [msgId, text] of this.#texts) {
      this.endPart(msgId);
      text.complete();
    }
    this.#isComplete = true;
    this.#sentences.close();
  }

  /** Ends the answer at what was heard. The player must be stopped before. */
  cut(): void {
    this.#isComplete = true;
    this.#sentences.close();
    this.#stop.abort();
    this.#open.clear();
  }

  /** Says that the sound of a sentence was played to its end. */
  itemPlayed(itemId: string): void {
    if (!this.isCut) this.#end(this.#open.get(itemId));
  }

  #queue(sentences: readonly Sentence[]): void {
    for (const sentence of sentences) {
      this.#open.set(sentence.itemId, sentence);
      void this.#sentences.put(sentence);
    }
  }

  #end(sentence: Sentence | undefined): void {
    if (sentence === undefined) return;
    sentence.isOver = true;
    this.#open.delete(sentence.itemId);
    this.#wake();
  }

  async #speak(): Promise<void> {
    const { signal } = this.#stop;
    let made = 0;
    for await (const sentence of this.#sentences) {
      const isAhead = (): boolean => made - (this.#count - this.#open.size) >= MAX_AHEAD;
      while (isAhead()) await abortable(new Promise<void>((resolve) => (this.#wake = resolve)), signal);
      signal.throwIfAborted();
      made++;
      if (sentence.isOver) continue; // its message has begun again
      await this.#speakSentence(sentence, signal);
    }
  }

  async #speakSentence(sentence: Sentence, signal: AbortSignal): Promise<void> {
    const { ttsModel, player, onSentence, onAudio, onUsage, onFailure } = this.#options;
    const { itemId, text, heard } = sentence;
    onSentence(sentence);
    let hasSound = false;
    try {
      for await (const { audio, usage } of abortableItems(ttsModel.synthesize(text, { signal }), signal)) {
        signal.throwIfAborted();
        if (usage !== undefined) onUsage(usage);
        if (audio === undefined || audio.data.length === 0) continue;
        hasSound = true;
        heard.addSound(durationOf(audio));
        player.play(itemId, audio);
        onAudio(sentence, audio);
      }
    } catch (error) {
      signal.throwIfAborted();
      onFailure(error);
    }
    heard.endPiece();
    if (hasSound) player.finish(itemId);
    else this.#end(sentence);
  }
}
