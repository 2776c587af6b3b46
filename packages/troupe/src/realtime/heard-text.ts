/** Speed of speech, in units per second, while the length of a sound is unknown. One letter is one unit. */
const UNITS_PER_SECOND = 15;
/** Units of one character that stands for a syllable or a word. */
const SYLLABLE_UNITS = 3.5;
const SYLLABLE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;

interface Piece {
  text: string;
  ms: number;
  isWhole: boolean;
  /** Units of the text. */
  units: number;
  /** Places at which words begin or end, and the units before each, in order. */
  readonly cuts: { readonly at: number; readonly units: number }[];
}

/**
 * Text of a spoken item, beside its sound: which words were heard when so many milliseconds were played. Within a piece whose sound is
 * complete, time is divided by the length of the words; before that, by the usual speed of speech. A piece is a sentence, where the sound
 * of each sentence is known, or else the whole item.
 */
export class HeardText {
  readonly #pieces: Piece[] = [];

  addText(text: string): void {
    append(this.#last(), text);
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
      else return heard + wordsWithin(piece, unitsWithin(piece, rest));
      rest -= piece.ms;
    }
    return heard;
  }

  #last(): Piece {
    const last = this.#pieces.at(-1);
    if (last !== undefined && !last.isWhole) return last;
    const piece: Piece = { text: '', ms: 0, isWhole: false, units: 0, cuts: [] };
    this.#pieces.push(piece);
    return piece;
  }
}

/** Adds text to a piece. Reads only the new text, because pieces are asked about for every frame of sound. */
function append(piece: Piece, text: string): void {
  let at = piece.text.length;
  for (const character of text) {
    const isSyllable = SYLLABLE.test(character);
    if (isSyllable || /\s/.test(character)) piece.cuts.push({ at, units: piece.units });
    piece.units += isSyllable ? SYLLABLE_UNITS : 1;
    at += character.length;
    if (isSyllable) piece.cuts.push({ at, units: piece.units });
  }
  piece.text += text;
}

/** Units of a piece that were heard. Before the end of the piece, never more than the usual speed. */
function unitsWithin({ units, ms, isWhole }: Piece, playedMs: number): number {
  if (playedMs <= 0 || ms <= 0) return 0;
  const share = units * Math.min(1, playedMs / ms);
  return isWhole ? share : Math.min(share, (playedMs / 1000) * UNITS_PER_SECOND);
}

/** The longest start of the text that has whole words, and at most so many units. */
function wordsWithin({ text, units, cuts }: Piece, most: number): string {
  const limit = most + 1e-6;
  if (units <= limit) return text;
  let [from, to] = [0, cuts.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((cuts[middle]?.units ?? 0) <= limit) from = middle + 1;
    else to = middle;
  }
  return text.slice(0, cuts[from - 1]?.at ?? 0);
}
