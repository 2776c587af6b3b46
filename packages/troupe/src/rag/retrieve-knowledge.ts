import { traced } from '../tracing/instrumentation.ts';
import type { KnowledgeBase, RetrievedDocument, RetrieveOptions } from './knowledge-base.ts';

/**
 * Parts of several knowledge bases for one query: a part with the same id once, best first, at most `limit`. A
 * base that fails fails the whole, unless `onFailure` is given.
 */
export async function retrieveFromAll(
  bases: readonly KnowledgeBase[],
  query: string,
  {
    limit = 5,
    onFailure,
    ...options
  }: RetrieveOptions & {
    readonly onFailure?: ((base: KnowledgeBase, error: unknown) => void) | undefined;
  } = {},
): Promise<readonly RetrievedDocument[]> {
  const found = await Promise.all(
    bases.map(async (base) => {
      try {
        return await tracedRetrieve(base, query, { ...options, limit });
      } catch (error) {
        options.signal?.throwIfAborted();
        if (onFailure === undefined) throw error;
        onFailure(base, error);
        return [];
      }
    }),
  );
  const best = new Map<string, RetrievedDocument>();
  for (const [index, document] of found
    .flat()
    .toSorted((a, b) => b.score - a.score)
    .entries()) {
    const key = document.id ?? `#${index}`;
    if (!best.has(key)) best.set(key, document);
  }
  return [...best.values()].slice(0, limit);
}

function tracedRetrieve(
  base: KnowledgeBase,
  query: string,
  options: RetrieveOptions,
): Promise<readonly RetrievedDocument[]> {
  return traced(
    () => ({ type: 'retrieval', source: base.id ?? 'knowledge_base', query: () => query }),
    () => base.retrieve(query, options),
    { signal: options.signal, outcomeOf: ({ length }) => ({ status: 'ok', count: length }) },
  );
}
