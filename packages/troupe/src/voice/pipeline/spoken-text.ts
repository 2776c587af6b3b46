import { HeardText } from '../../realtime/heard-text.ts';
import { MarkdownSpeech, SentenceSplitter, type SpeakableFilter } from '../../tts/speech-text.ts';

/** One sentence of a message, beside its sound. */
export interface Sentence {
  readonly itemId: string;
  readonly text: string;
  readonly heard: HeardText;
  /** Whether it was played to its end, or can not be spoken. */
  isOver: boolean;
}

/** Position in the text of a message at which so many letters of the text were read out. */
interface Mark {
  readonly letters: number;
  readonly end: number;
}

/**
 * Text of one message while it is read out: the sentences of the text, and the part of the text that was heard. Text that is not read out, such as a
 * code block, counts as heard with the words behind it. Positions count letters and digits, because filters remove everything else.
 */
export class SpokenText {
  readonly #filter: SpeakableFilter;
  readonly #splitter = new SentenceSplitter();
  readonly #sentences: Sentence[] = [];
  readonly #marks: Mark[] = [];
  #text = '';
  #letters = 0;
  #isComplete = false;
  readonly #newItemId: () => string;

  constructor(newItemId: () => string, filter: SpeakableFilter = new MarkdownSpeech()) {
    this.#newItemId = newItemId;
    this.#filter = filter;
  }

  /** Adds text. @returns the sentences that are complete now */
  add(text: string): readonly Sentence[] {
    const sentences: Sentence[] = [];
    for (const word of text.split(/(?<=\s)/)) {
      this.#text += word;
      sentences.push(...this.#take(this.#splitter.feed(this.#read(this.#filter.feed(word)))));
    }
    return sentences;
  }

  /** Ends a part of the text, such as the text before a tool call. @returns the rest of its sentences */
  endPart(): readonly Sentence[] {
    const rest = this.#splitter.feed(this.#read(this.#filter.end()));
    return this.#take([...rest, ...this.#splitter.end()]);
  }

  /** Says that no more text comes. */
  complete(): void {
    this.#isComplete = true;
  }

  has(itemId: string): boolean {
    return this.#sentences.some((sentence) => sentence.itemId === itemId);
  }

  /** The part of the text that was heard. @param played milliseconds that were played of a sentence */
  heard(played: (itemId: string) => number): string {
    let letters = 0;
    for (const { itemId, text, heard, isOver } of this.#sentences) {
      const words = isOver ? text : heard.at(played(itemId));
      letters += lettersIn(words);
      if (words !== text) return this.#textUntil(letters);
    }
    return this.#isComplete ? this.#text : this.#textUntil(letters);
  }

  #read(spoken: string): string {
    this.#letters += lettersIn(spoken);
    this.#marks.push({ letters: this.#letters, end: this.#text.length });
    return spoken;
  }

  #take(sentences: readonly string[]): readonly Sentence[] {
    const taken = sentences.map((text): Sentence => {
      const heard = new HeardText();
      heard.addText(text);
      return { itemId: this.#newItemId(), text, heard, isOver: false };
    });
    this.#sentences.push(...taken);
    return taken;
  }

  #textUntil(letters: number): string {
    if (letters === 0) return '';
    const mark = this.#marks.find((one) => one.letters >= letters);
    return this.#text.slice(0, mark?.end).trimEnd();
  }
}

function lettersIn(text: string): number {
  return text.match(/[\p{L}\p{N}]/gu)?.length ?? 0;
}
