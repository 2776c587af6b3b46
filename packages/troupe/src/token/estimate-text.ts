import type { TokenWeights } from './token-weights.ts';

type Kind =
  | 'capital'
  | 'small'
  | 'accent'
  | 'digit'
  | 'mark'
  | 'line'
  | 'space'
  | 'han'
  | 'kana'
  | 'hangul'
  | 'cyrillic'
  | 'arabic'
  | 'otherLetter'
  | 'wideMark'
  | 'symbol'
  | 'emoji'
  | 'nothing';

/** First UTF-16 units of the ranges of each kind. */
const STARTS: Readonly<Record<Kind, readonly number[]>> = {
  space: [0x00, 0x0b, 0x0e],
  line: [0x0a, 0x0d],
  mark: [0x21, 0x3a, 0x5b, 0x7b],
  digit: [0x30],
  capital: [0x41],
  small: [0x61],
  accent: [0xc0, 0x1e00],
  cyrillic: [0x400],
  arabic: [0x600, 0xfb00, 0xfe70],
  hangul: [0x1100, 0xac00],
  kana: [0x3040],
  han: [0x3100, 0xf900],
  otherLetter: [0x370, 0x530, 0x780, 0x1200, 0x1f00],
  wideMark: [0x2e80, 0xfe10, 0xff00],
  symbol: [0x80, 0x2000, 0xfff0],
  emoji: [0xd800, 0xe000], // first half of characters above 0xffff
  nothing: [0xdc00, 0xfe00], // their second half, and variation selectors
};
const RANGES = Object.entries(STARTS)
  .flatMap(([kind, starts]) => starts.map((start) => ({ start, kind: kind as Kind })))
  .sort((a, b) => a.start - b.start);
const rangeOfUnit = new Uint8Array(0x10000);
for (const [i, { start }] of RANGES.entries()) rangeOfUnit.fill(i, start);

/** Frequent characters of traditional Chinese only. */
const TRADITIONAL = new Set('這們來說對會國學經發當應將點關實權與還沒從兩樣麼讓');

const LONG_WORD = 7;
/** Ratio at which a whole text counts as non-English, or as traditional Chinese. */
const LETTERS_PER_ACCENT = 40;
const HAN_PER_TRADITIONAL = 25;
/** Repeated characters, e.g. a ruler, take few tokens. */
const MARKS_PER_TOKEN = 16;
const SPACES_PER_TOKEN = 64;

/** Estimated tokens of a text, in one pass over its characters. */
export function estimateText(text: string, weights: TokenWeights): number {
  let tokens = 0;
  let letters = 0;
  let longLetters = 0;
  let accents = 0;
  let han = 0;
  let traditional = 0;
  let unitBefore = -1;
  let kindBefore: Kind = 'line';
  let repeats = 0; // of the same character
  let length = 0; // of the word or number

  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    const kind = kindOf(unit);
    repeats = unit === unitBefore ? repeats + 1 : 0;
    switch (kind) {
      case 'small':
      case 'capital':
      case 'accent':
        if (!isLatin(kindBefore) || (kind === 'capital' && kindBefore === 'small')) {
          tokens += weights.word;
          length = 0;
        }
        letters++;
        if (++length > LONG_WORD) longLetters++;
        if (kind === 'accent') accents++;
        if (kind === 'capital' && kindBefore === 'capital') tokens += weights.capital;
        break;
      case 'digit':
        length = kindBefore === 'digit' ? length + 1 : 0;
        tokens += weights.digit;
        if (length % 3 === 0) tokens += weights.threeDigits;
        break;
      case 'mark':
        if (kindBefore !== 'mark') tokens += weights.marks;
        if (repeats % MARKS_PER_TOKEN === 0) tokens += weights.mark;
        break;
      case 'symbol':
        if (repeats % MARKS_PER_TOKEN === 0) tokens += weights.symbol;
        break;
      case 'line':
        if (kindBefore !== 'line' || repeats % MARKS_PER_TOKEN === MARKS_PER_TOKEN - 1)
          tokens += weights.line;
        break;
      case 'space':
        if (repeats % SPACES_PER_TOKEN === 1) tokens += weights.indent;
        break;
      case 'cyrillic':
        if (kindBefore !== 'cyrillic') tokens += weights.cyrillicWord;
        tokens += weights.cyrillic;
        break;
      case 'han':
        han++;
        if (TRADITIONAL.has(text.charAt(i))) traditional++;
        break;
      case 'hangul':
        if (kindBefore !== 'hangul') tokens += weights.hangulWord;
        tokens += weights.hangul;
        break;
      case 'nothing':
        break;
      default:
        tokens += weights[kind];
    }
    unitBefore = unit;
    kindBefore = kind;
  }
  tokens += accents * weights.accent + longLetters * weights.longWord + han * weights.han;
  tokens += longLetters * share(accents * LETTERS_PER_ACCENT, letters) * weights.foreignWord;
  tokens += han * share(traditional * HAN_PER_TRADITIONAL, han) * weights.traditionalHan;
  return Math.ceil(tokens);
}

function share(part: number, whole: number): number {
  return whole === 0 ? 0 : Math.min(1, part / whole);
}

function kindOf(unit: number): Kind {
  return RANGES[rangeOfUnit[unit] ?? 0]?.kind ?? 'nothing';
}

function isLatin(kind: Kind): boolean {
  return kind === 'small' || kind === 'capital' || kind === 'accent';
}
