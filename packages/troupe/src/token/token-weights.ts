type Row = readonly [
  openai: number,
  qwen: number,
  deepseek: number,
  llama: number,
  gemini: number,
  claude: number,
];

/**
 * Tokens per text element by model family, fitted to the tokenizers with about 700 texts;
 * docs/reference/tokens.md shows the accuracy.
 */
const WEIGHTS = {
  /** Word of Latin letters. A capital after a small letter starts a new word. */
  word: [0.95, 1, 0.96, 0.99, 0.95, 0.98],
  /** Each letter of a word after the seventh. */
  longWord: [0.26, 0.22, 0.29, 0.27, 0.19, 0.4],
  /** Addition in texts with accents: tokenizers know English words best. */
  foreignWord: [0.09, 0.56, 0.22, 0.49, 0.18, 0.28],
  /** Capital after another capital. */
  capital: [0.14, 0.12, 0.32, 0.12, 0.19, 0.23],
  accent: [0.54, 0.22, 1.04, 0.24, 0.37, 1.84],
  digit: [0, 0.85, 0, 0, 0.85, 0],
  /** Each group of up to three digits. */
  threeDigits: [1.2, 0.55, 1.15, 1.21, 0.44, 1.1],
  /** ASCII punctuation. */
  mark: [0.28, 0.17, 0.27, 0.23, 0.16, 0.32],
  /** Sequence of punctuation. */
  marks: [0.45, 0.61, 0.59, 0.47, 0.84, 0.55],
  line: [1.02, 0.75, 0.93, 0.95, 1.52, 1.1],
  indent: [0.57, 0.5, 0.46, 0.59, 0.61, 0.35],
  han: [0.64, 0.61, 0.52, 0.67, 0.52, 0.91],
  /** Addition for traditional Chinese, which tokenizers know less well. */
  traditionalHan: [0.2, 0.15, 0.12, 0.14, 0.09, 0.35],
  kana: [0.67, 0.64, 0.65, 0.58, 0.35, 0.94],
  hangul: [0.49, 0.62, 0.65, 0.51, 0.46, 1.33],
  hangulWord: [0.67, 0.58, 0.46, 0.69, 0.53, 0],
  cyrillic: [0.12, 0.12, 0.12, 0.12, 0.12, 0.25],
  cyrillicWord: [0.93, 1.38, 1.15, 1.23, 0.82, 1.97],
  arabic: [0.35, 0.45, 0.43, 0.42, 0.37, 1.13],
  otherLetter: [0.39, 0.68, 0.49, 0.53, 0.33, 1.38],
  /** Chinese and Japanese punctuation. */
  wideMark: [1.86, 0.92, 1.2, 1.96, 2, 2],
  symbol: [1.62, 1.42, 1.44, 1.46, 1, 1.65],
  emoji: [2.08, 1.54, 1.7, 3, 1.38, 3],
} satisfies Record<string, Row>;

export type TokenWeights = Readonly<Record<keyof typeof WEIGHTS, number>>;

/** Columns by model name, in this order: a distilled model has the tokenizer of its base model. */
const COLUMNS: readonly (readonly [pattern: RegExp, column: number])[] = [
  [/llama/i, 3],
  [/qwen|qwq/i, 1],
  [/deepseek/i, 2],
  [/gemini|gemma/i, 4],
  [/claude/i, 5],
];

/** Weights for a model; those of OpenAI if the name is unknown. */
export function weightsFor(modelName: string): TokenWeights {
  const column = COLUMNS.find(([pattern]) => pattern.test(modelName))?.[1] ?? 0;
  const weights = Object.entries(WEIGHTS).map(([key, row]) => [key, row[column]]);
  return Object.fromEntries(weights) as Record<keyof TokenWeights, number>;
}
