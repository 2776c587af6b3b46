import type { ImageBlock, TextBlock } from '../message/blocks.ts';

/** A piece of a document that fits a question. */
export interface RetrievedDocument {
  readonly content: TextBlock | ImageBlock;
  /** How well it fits: more is better. */
  readonly score: number;
}

export interface RetrieveOptions {
  /** How many at most. @default 5 */
  readonly limit?: number;
  readonly signal?: AbortSignal | undefined;
}

/** Documents that can be searched by meaning. Engines come with packages of their own. */
export abstract class KnowledgeBase {
  abstract retrieve(query: string, options?: RetrieveOptions): Promise<readonly RetrievedDocument[]>;
}
