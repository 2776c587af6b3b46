import { splitSentences } from '../document/sentences.ts';
import { cosineSimilarity, type EmbeddingModelBase } from '../embedding/embedding-model-base.ts';
import type { RetrievedDocument } from './knowledge-base.ts';
import type { Reranker } from './reranker.ts';

/** Weight of the best sentence; the rest is the score that a part had before. */
const SENTENCE = 0.5;
/** Sentences of one part that are compared. */
const MAX_SENTENCES = 40;

/**
 * Reranker with an embedding model: a part is as good as the sentence in it that is nearest to the query. The vector of a
 * whole part mixes what all its sentences say. Give it a `CachedEmbeddingModel`, so that a sentence is embedded once.
 */
export class SentenceReranker implements Reranker {
  readonly #model: EmbeddingModelBase;

  constructor(model: EmbeddingModelBase) {
    this.#model = model;
  }

  async rerank(
    query: string,
    documents: readonly RetrievedDocument[],
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<readonly RetrievedDocument[]> {
    const sentences = documents.map(({ content }) =>
      content.type === 'text' ? sentencesOf(content.text) : [],
    );
    if (sentences.flat().length === 0) return documents;
    const asked = await this.#model.embed([query], { purpose: 'query', signal });
    const { embeddings } = await this.#model.embed(sentences.flat(), { signal });
    const [target = new Float32Array()] = asked.embeddings;
    let next = 0;
    return documents
      .map((document, at) => {
        const own = embeddings.slice(next, (next += sentences[at]?.length ?? 0));
        const best = Math.max(0, ...own.map((vector) => cosineSimilarity(target, vector)));
        return { ...document, score: (1 - SENTENCE) * Math.max(0, document.score) + SENTENCE * best };
      })
      .toSorted((a, b) => b.score - a.score);
  }
}

function sentencesOf(text: string): readonly string[] {
  return splitSentences(text)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== '')
    .slice(0, MAX_SENTENCES);
}
