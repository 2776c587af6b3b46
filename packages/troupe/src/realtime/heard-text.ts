/** Speed of speech, in units per second, while the length of a sound is unknown. One letter is one unit. */
const UNITS_PER_SECOND = 15;
/** Units of one character that stands for a syllable or a word. */
const SYLLABLE_UNITS = 3.5;
const SYLLABLE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;

interface Piece {
  text: string;
  ms: number;
  isWhole: boolean;
}

/**
 * Text of a spoken item, beside its sound: which words were heard when so many milliseconds were played. Within a piece whose sound is
 * complete, time is divided by the length of the words; before that, by the usual speed of speech. A piece is a sentence, where the sound
 * of each sentence is known, or else the whole item.
 */
export class HeardText {
  readonly #pieces: Piece[] = [];

  addText(text: string): void {
    this.#last().text += text;
  }

  addSound(ms: number): void {
    this.#last().ms += ms;
  }

  /** Ends a piece: its text and its sound are complete. */
  endPiece(): void {
    const last = this.#pieces.at(-1);
    if (last !== undefined) last.isWhole = true;
  }

  /** The whole text so far. */
  get text(): string {
    return this.#pieces.map(({ text }) => text).join('');
  }

  /** Length of the sound so far. */
  get totalMs(): number {
    return this.#pieces.reduce((sum, { ms }) => sum + ms, 0);
  }

  /** The words that were heard whole when `ms` milliseconds were played. */
  at(ms: number): string {
    let heard = '';
    let rest = ms;
    for (const piece of this.#pieces) {
      if (piece.isWhole && rest >= piece.ms - 0.5) heard += piece.text;
      else return heard + wordsWithin(piece.text, unitsWithin(piece, rest));
      rest -= piece.ms;
    }
    return heard;
  }

  #last(): Piece {
    const last = this.#pieces.at(-1);
    if (last !== undefined && !last.isWhole) return last;
    const piece: Piece = { text: '', ms: 0, isWhole: false };
    this.#pieces.push(piece);
    return piece;
  }
}

/** Units of a piece that were heard. Before the end of the piece, never more than the usual speed. */
function unitsWithin({ text, ms, isWhole }: Piece, playedMs: number): number {
  if (playedMs <= 0 || ms <= 0) return 0;
  const share = unitsOf(text) * Math.min(1, playedMs / ms);
  return isWhole ? share : Math.min(share, (playedMs / 1000) * UNITS_PER_SECOND);
}

function unitsOf(text: string): number {
  let units = 0;
  for (const character of text) units += SYLLABLE.test(character) ? SYLLABLE_UNITS : 1;
  return units;
}

/** The longest start of the text that has whole words, and at most so many units. */
function wordsWithin(text: string, units: number): string {
  let [at, end, used] = [0, 0, 0];
  for (const character of text) {
    const isSyllable = SYLLABLE.test(character);
    if (isSyllable || /\s/.test(character)) end = at;
    used += isSyllable ? SYLLABLE_UNITS : 1;
    if (used > units + 1e-6) return text.slice(0, end);
    at += character.length;
    if (isSyllable) end = at;
  }
  return text;
}
