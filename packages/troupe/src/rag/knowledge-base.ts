import type { ImageBlock, TextBlock } from '../message/blocks.ts';

/** A document part that matches a query. */
export interface RetrievedDocument {
  readonly content: TextBlock | ImageBlock;
  /** Relevance; higher is better. */
  readonly score: number;
}

export interface RetrieveOptions {
  /** Maximum number of documents. @default 5 */
  readonly limit?: number;
  readonly signal?: AbortSignal | undefined;
}

/** Port for retrieval of documents by meaning. Implementations are separate packages. */
export abstract class KnowledgeBase {
  /** Id in the delegation context of sub-agents. @default `knowledge_base`, numbered if there are several */
  declare readonly id?: string | undefined;
  /** Content of the knowledge base in a few words, for sub-agents. */
  declare readonly description?: string | undefined;

  abstract retrieve(query: string, options?: RetrieveOptions): Promise<readonly RetrievedDocument[]>;
}
