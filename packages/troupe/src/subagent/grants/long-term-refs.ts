import type { LongTermMemoryBase } from '../../longterm/long-term-memory-base.ts';
import type { KnowledgeBase } from '../../rag/knowledge-base.ts';

/** Reference to a long-term memory or knowledge base that a sub-agent can query. */
export type LongTermRef = {
  readonly kind: 'long_term_memory' | 'knowledge_base';
  readonly id: string;
  readonly description: string;
};

const DEFAULT_DESCRIPTIONS = {
  long_term_memory: 'A long-term memory.',
  knowledge_base: 'A knowledge base.',
};

/** References to a long-term memory and knowledge bases. Without an id, the kind is the id; equal ids are numbered. */
export function longTermRefs(
  longTermMemory: LongTermMemoryBase | undefined,
  knowledge: readonly KnowledgeBase[] = [],
): readonly LongTermRef[] {
  const sources = [
    ...(longTermMemory ? [{ kind: 'long_term_memory' as const, source: longTermMemory }] : []),
    ...knowledge.map((source) => ({ kind: 'knowledge_base' as const, source })),
  ];
  const used = new Set<string>();
  return sources.map(({ kind, source }) => {
    const { id = kind, description = DEFAULT_DESCRIPTIONS[kind] } = source;
    let unique = id;
    for (let n = 2; used.has(unique); n++) unique = `${id}_${n}`;
    used.add(unique);
    return { kind, id: unique, description };
  });
}
