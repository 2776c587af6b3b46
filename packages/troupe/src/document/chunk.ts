import type { ImageBlock, TextBlock } from '../message/blocks.ts';

/** A value that a filter can compare. */
export type MetadataValue = string | number | boolean;

/**
 * Facts about a chunk or document. The library's own: `source` (file or address), `title`, `heading`, `page`,
 * `slide`, `sheet`.
 */
export type ChunkMetadata = Readonly<Record<string, MetadataValue>>;

/** Part of a document with one place of its own, such as a page, a slide or what stands below a heading. */
export interface Section {
  readonly content: TextBlock | ImageBlock;
  readonly metadata?: ChunkMetadata | undefined;
}

/** A document as a reader gives it, in the order of its sections. Folder `document`: start here. */
export interface SourceDocument {
  /** Id that stays the same when the content changes, such as the path of a file. */
  readonly id: string;
  readonly sections: readonly Section[];
  /** Metadata of all sections. */
  readonly metadata?: ChunkMetadata | undefined;
}

/** The piece of a document that is searched and given to a model. */
export interface Chunk {
  /** Stable: made from the document's id and the content. */
  readonly id: string;
  readonly documentId: string;
  /** Place in the document, from 0. */
  readonly index: number;
  readonly content: TextBlock | ImageBlock;
  readonly metadata: ChunkMetadata;
}

/** Text of a chunk; empty for an image. */
export function textOfChunk({ content }: Pick<Chunk, 'content'>): string {
  return content.type === 'text' ? content.text : '';
}
