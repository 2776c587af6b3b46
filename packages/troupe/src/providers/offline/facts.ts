import { arithmeticTokens, findArithmetic, isNumber, type Arithmetic } from './arithmetic.ts';
import { ARTICLES, PREPOSITIONS, STOP_WORDS, withoutPunctuation, wordsOf } from './words.ts';

/** Facts found in a message by simple patterns. */
export interface Facts {
  readonly text: string;
  /** The words in lower case. */
  readonly words: ReadonlySet<string>;
  readonly arithmetic: Arithmetic | undefined;
  readonly numbers: readonly number[];
  readonly quoted: readonly string[];
  readonly fileNames: readonly string[];
  readonly folder: string | undefined;
  readonly urls: readonly string[];
  /** E.g. `Europe/Berlin`. */
  readonly timeZone: string | undefined;
}

/** Maximum characters of a message to read. */
const MAX_LENGTH = 4_000;

export function readFacts(message: string): Facts {
  const text = message.slice(0, MAX_LENGTH);
  const tokens = text
    .split(/\s+/)
    .map(withoutPunctuation)
    .filter((token) => token !== '');
  const arithmetic = findArithmetic(text);
  return {
    text,
    words: new Set(wordsOf(text)),
    arithmetic,
    numbers: numbersOf(text, arithmetic),
    quoted: quotedIn(text),
    fileNames: tokens.filter(isFileName),
    folder: folderIn(tokens),
    urls: tokens.filter(isUrl),
    timeZone: tokens.find((token) => /^(?:[A-Z]\w+\/[A-Z][\w/]+|UTC|GMT)$/.test(token)),
  };
}

function numbersOf(text: string, arithmetic: Arithmetic | undefined): readonly number[] {
  if (arithmetic !== undefined && arithmetic.operands.length > 0) return arithmetic.operands;
  return arithmeticTokens(text).flatMap((token) =>
    token !== undefined && isNumber(token) ? [Number(token)] : [],
  );
}

/** Apostrophes inside of words are no quotes. */
function quotedIn(text: string): readonly string[] {
  const quotes = text.matchAll(/"([^"]+)"|`([^`]+)`|“([^“”]+)”|(?<!\w)'([^']+)'(?!\w)/g);
  return [...quotes].map(([, ...parts]) => parts.find((part) => part !== undefined) ?? '');
}

function isFileName(token: string): boolean {
  if (isUrl(token) || token === 'e.g' || token === 'i.e') return false;
  if (/^(?:\.{0,2}|~)\//.test(token)) return true;
  const extension = token.slice(token.lastIndexOf('.') + 1);
  return extension.length < token.length && /^[A-Za-z][A-Za-z0-9]{0,7}$/.test(extension);
}

function isUrl(token: string): boolean {
  return /^https?:\/\//i.test(token);
}

/**
 * Word after `in`, `of`, …, if it looks like a folder: with a slash, at the end of the sentence, or before a
 * word such as `folder`.
 */
function folderIn(tokens: readonly string[]): string | undefined {
  for (const [i, token] of tokens.entries()) {
    if (!PREPOSITIONS.has(token.toLowerCase())) continue;
    const at = i + (ARTICLES.has(tokens[i + 1]?.toLowerCase() ?? '') ? 2 : 1);
    const candidate = tokens[at] ?? '';
    const next = tokens[at + 1];
    const isNamed = candidate.includes('/') || next === undefined || isFolderWord(next);
    const isSpecific =
      !isFolderWord(candidate) && !STOP_WORDS.has(candidate.toLowerCase()) && candidate !== 'current';
    if (isNamed && isSpecific && !isUrl(candidate) && /^[\w./-]+$/.test(candidate)) return candidate;
  }
  return undefined;
}

function isFolderWord(word: string): boolean {
  return ['folder', 'directory', 'dir', 'project'].includes(word.toLowerCase());
}
