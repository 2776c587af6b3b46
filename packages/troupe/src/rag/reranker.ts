import type { RetrievedDocument } from './knowledge-base.ts';

/** Port: gives parts found for a query new scores, from 0 to 1, and returns them best first. */
export interface Reranker {
  rerank(
    query: string,
    documents: readonly RetrievedDocument[],
    options?: { readonly signal?: AbortSignal | undefined },
  ): Promise<readonly RetrievedDocument[]>;
}
