import type { ImageBlock, TextBlock } from '../message/blocks.ts';
import { escapeTags, tagPattern } from '../util/escape-tags.ts';
import { oneLine } from '../util/text.ts';
import type { RetrievedDocument } from './knowledge-base.ts';

/** Source of a part that an answer may rest on, as plain JSON. */
export type KnowledgeCitation = {
  /** Number of the part in the prompt, from 1, as in `[1]`. */
  readonly number: number;
  readonly id?: string;
  readonly documentId?: string;
  readonly score: number;
  /** Facts about the place, such as `source`, `title`, `heading` and `page`. */
  readonly metadata?: Readonly<Record<string, string | number | boolean>>;
};

const TAGS = tagPattern('document');

/** Blocks of parts for a prompt: each in a numbered tag with its source, which its content can't close. */
export function documentBlocks(
  documents: readonly RetrievedDocument[],
  first = 1,
): readonly (TextBlock | ImageBlock)[] {
  return documents.flatMap(({ content, score, documentId, metadata = {} }, index) => {
    const { source = documentId, title, heading, page, slide, sheet } = metadata;
    const facts = { source, title, heading, page, slide, sheet, score: score.toFixed(3) };
    const attributes = Object.entries(facts).flatMap(([name, value]) =>
      value === undefined ? [] : [` ${name}="${attributeText(String(value))}"`],
    );
    const open = `<document number="${index + first}"${attributes.join('')}>`;
    if (content.type === 'text')
      return [{ type: 'text', text: `${open}\n${escapeTags(content.text, TAGS)}\n</document>` } as const];
    return [{ type: 'text', text: open } as const, content, { type: 'text', text: '</document>' } as const];
  });
}

/** Sources of parts, in the order of their numbers. */
export function knowledgeCitationsOf(
  documents: readonly RetrievedDocument[],
  first = 1,
): readonly KnowledgeCitation[] {
  return documents.map(({ id, documentId, score, metadata }, index) => ({
    number: index + first,
    ...(id !== undefined && { id }),
    ...(documentId !== undefined && { documentId }),
    score,
    ...(metadata !== undefined && { metadata: { ...metadata } }),
  }));
}

function attributeText(text: string): string {
  return oneLine(text).replace(/["<>]/g, "'").slice(0, 200);
}
