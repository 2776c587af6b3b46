import type { ToolSchema } from '../../model/chat-model-base.ts';
import {
  ARTICLES,
  keywordsOf,
  PREPOSITIONS,
  stem,
  STOP_WORDS,
  withoutPunctuation,
  wordsOf,
} from './words.ts';

/**
 * Subject of a message besides the requested tool: `Paris` of "What is the weather in Paris?" for
 * `get_weather`. Ignores quoted parts. Undefined if nothing is left.
 */
export function restOfSentence(text: string, tool: ToolSchema): string | undefined {
  const keywords = keywordsOf(`${tool.name} ${tool.description ?? ''}`);
  const isKeyword = (word: string): boolean => keywords.has(stem(word));
  const isFiller = (word: string): boolean => isKeyword(word) || STOP_WORDS.has(word);
  const sentences = withoutQuotes(text).split(/(?<=[.?!])\s+/);
  const sentence = sentences.find((one) => wordsOf(one).some(isKeyword)) ?? sentences[0] ?? '';

  const tokens = sentence.split(/\s+/).filter((token) => token !== '');
  const words = tokens.map((token) => withoutPunctuation(token).toLowerCase());
  const first = words.findIndex(isKeyword);
  let start = first + 1;
  while (isFiller(words[start] ?? '')) start++;
  if (PREPOSITIONS.has(words[start] ?? '')) start++;
  while (ARTICLES.has(words[start] ?? '')) start++;

  const isMeaningful = (word: string): boolean => !isFiller(word) && !PREPOSITIONS.has(word);
  const behind = withoutPunctuation(tokens.slice(start).join(' '));
  const before = tokens.filter((_, i) => i < first && isMeaningful(words[i] ?? '')).join(' ');
  return behind || withoutPunctuation(before) || undefined;
}

function withoutQuotes(text: string): string {
  return text.replace(/"[^"]+"|`[^`]+`|“[^“”]+”|(?<!\w)'[^']+'(?!\w)/g, ' ');
}
