import type { ChunkMetadata } from '../document/chunk.ts';
import type { ImageBlock, TextBlock } from '../message/blocks.ts';
import type { ChunkFilter } from '../vector/chunk-filter.ts';

/** A document part that matches a query. */
export interface RetrievedDocument {
  readonly content: TextBlock | ImageBlock;
  /** Relevance; higher is better. */
  readonly score: number;
  /** Id of the part. Parts with the same id are given to the model once. */
  readonly id?: string | undefined;
  readonly documentId?: string | undefined;
  /** Facts for a citation, such as `source`, `title`, `heading` and `page`. */
  readonly metadata?: ChunkMetadata | undefined;
}

export interface RetrieveOptions {
  /** Maximum number of documents. @default 5 */
  readonly limit?: number;
  /** Documents below this score are left out. @default the knowledge base's own */
  readonly minScore?: number | undefined;
  readonly filter?: ChunkFilter | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Port for retrieval of documents by meaning. `SimpleKnowledge` is the one that comes with the library.
 * Folder `rag`: start here.
 */
export abstract class KnowledgeBase {
  /** Id in the delegation context of sub-agents. @default `knowledge_base`, numbered if there are several */
  declare readonly id?: string | undefined;
  /** Content of the knowledge base in a few words, for sub-agents. */
  declare readonly description?: string | undefined;

  abstract retrieve(query: string, options?: RetrieveOptions): Promise<readonly RetrievedDocument[]>;
}
