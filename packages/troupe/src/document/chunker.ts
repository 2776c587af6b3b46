import { TroupeError } from '../errors.ts';
import { checkNumber } from '../util/check-number.ts';
import { sha256 } from '../util/hash.ts';
import type { Chunk, ChunkMetadata, Section, SourceDocument } from './chunk.ts';
import { estimateTextTokens, tokenQuarters } from './text-tokens.ts';
import { splitSentences } from './sentences.ts';

export interface ChunkerOptions {
  /** Maximum size of a chunk in estimated tokens. @default 256 */
  readonly maxTokens?: number | undefined;
  /** Tokens of the end of a chunk that are repeated at the start of the next. @default 32 */
  readonly overlapTokens?: number | undefined;
  /** Places where a text may be split: between sentences, paragraphs or any two words. @default 'sentence' */
  readonly splitBy?: 'sentence' | 'paragraph' | 'word' | undefined;
}

type Settings = Required<{ [Key in keyof ChunkerOptions]: NonNullable<ChunkerOptions[Key]> }>;

/**
 * Splits a document into chunks. A chunk has at most `maxTokens` and belongs to one section, so that its page,
 * slide or heading is known. Equal content in the same document has the same id in every program and after
 * every restart.
 * @param variant part of the ids, such as the name of the embedding model
 */
export async function chunkDocument(
  document: SourceDocument,
  options: ChunkerOptions = {},
  variant = '',
): Promise<readonly Chunk[]> {
  const { maxTokens = 256, overlapTokens = 32, splitBy = 'sentence' } = options;
  checkNumber('maxTokens', maxTokens, { least: 8, whole: true });
  checkNumber('overlapTokens', overlapTokens, { least: 0, most: Math.floor(maxTokens / 2), whole: true });
  if (!Array.isArray(document.sections))
    throw new TroupeError(
      'invalid_input',
      "A document has an id and sections: { id, sections: [{ content: { type: 'text', text } }] }. markdownSections and readDocument make them.",
    );
  const settings: Settings = { maxTokens, overlapTokens, splitBy };
  const pieces = document.sections.flatMap((section) => piecesOf(section, settings));
  const seen = new Map<string, number>();
  return Promise.all(
    pieces.map(async ({ content, metadata }, index) => {
      const key = JSON.stringify(content);
      const count = seen.get(key) ?? 0;
      seen.set(key, count + 1);
      const parts = [document.id, key, count, ...(variant === '' ? [] : [variant])];
      const id = (await sha256(JSON.stringify(parts))).slice(0, 32);
      return { id, documentId: document.id, index, content, metadata: { ...document.metadata, ...metadata } };
    }),
  );
}

function piecesOf(
  { content, metadata = {} }: Section,
  settings: Settings,
): readonly { content: Section['content']; metadata: ChunkMetadata }[] {
  if (content.type !== 'text') return [{ content, metadata }];
  return splitText(content.text, settings).map((text) => ({ content: { type: 'text', text }, metadata }));
}

/** Parts of a text, each at most `maxTokens`, with overlap. White space at the ends of parts is dropped. */
export function splitText(text: string, { maxTokens, overlapTokens, splitBy }: Settings): readonly string[] {
  const clean = text.toWellFormed().replaceAll('\0', '').trim();
  if (clean === '') return [];
  if (estimateTextTokens(clean) <= maxTokens) return [clean];
  const units = unitsOf(clean, splitBy).flatMap((unit) => hardSplit(unit, maxTokens));
  const parts: string[] = [];
  let current: string[] = [];
  let size = 0;
  for (const unit of units) {
    const tokens = estimateTextTokens(unit);
    if (size + tokens > maxTokens && current.length > 0) {
      parts.push(current.join('').trim());
      current = tailOf(current, Math.min(overlapTokens, maxTokens - tokens));
      size = current.reduce((sum, one) => sum + estimateTextTokens(one), 0);
    }
    current.push(unit);
    size += tokens;
  }
  if (current.length > 0) parts.push(current.join('').trim());
  return parts.filter((part) => part !== '');
}

function unitsOf(text: string, splitBy: Settings['splitBy']): readonly string[] {
  if (splitBy === 'paragraph') return text.split(/(?<=\n[^\S\n]*\n)/);
  if (splitBy === 'word') return text.split(/(?<=\s)(?=\S)/);
  return splitSentences(text);
}

/** A unit that is too long, cut at white space, or anywhere if there is none. In linear time. */
function hardSplit(unit: string, maxTokens: number): readonly string[] {
  if (estimateTextTokens(unit) <= maxTokens) return [unit];
  const parts: string[] = [];
  let [start, at, size, behindSpace] = [0, 0, 0, 0];
  for (const char of unit) {
    if (size + tokenQuarters(char) > 4 * maxTokens) {
      const end = behindSpace > (start + at) / 2 ? behindSpace : at;
      parts.push(unit.slice(start, end));
      size = tokenQuarters(unit.slice(end, at));
      start = end;
    }
    at += char.length;
    size += tokenQuarters(char);
    if (char === ' ') behindSpace = at;
  }
  return [...parts, unit.slice(start)];
}

/** Last units that fit into the overlap. */
function tailOf(units: readonly string[], maxTokens: number): string[] {
  const tail: string[] = [];
  let size = 0;
  for (const unit of units.toReversed()) {
    size += estimateTextTokens(unit);
    if (size > maxTokens) break;
    tail.unshift(unit);
  }
  return tail;
}
