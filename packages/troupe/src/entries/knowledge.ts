/** Entry `troupe/knowledge`: embeddings, vector stores, knowledge bases and long-term memories. */

export { CachedEmbeddingModel } from '../embedding/cached-embedding-model.ts';
export {
  EmbeddingModelBase,
  type EmbeddedBatch,
  type Embedding,
  type EmbeddingInput,
  type EmbeddingModality,
  type EmbeddingModelOptions,
  type EmbeddingResponse,
  type EmbedOptions,
} from '../embedding/embedding-model-base.ts';
export { HttpEmbeddingModel, type HttpEmbeddingOptions } from '../embedding/http-embedding-model.ts';
export { MemoryEmbeddingCache, type EmbeddingCache } from '../embedding/memory-embedding-cache.ts';
export type { Chunk, ChunkMetadata, MetadataValue, Section, SourceDocument } from '../document/chunk.ts';
export { chunkDocument, type ChunkerOptions } from '../document/chunker.ts';
export { markdownSections } from '../document/markdown-sections.ts';
export { personalMemory, taskMemory, toolMemory, type MemoryScheme } from '../longterm/memory-scheme.ts';
export {
  SimpleLongTermMemory,
  type MemoryEntry,
  type SimpleLongTermMemoryOptions,
} from '../longterm/simple-long-term-memory.ts';
export type { KnowledgeCitation } from '../rag/citation-text.ts';
export { knowledgeTool } from '../rag/knowledge-tool.ts';
export { ModelReranker } from '../rag/model-reranker.ts';
export type { Reranker } from '../rag/reranker.ts';
export { SentenceReranker } from '../rag/sentence-reranker.ts';
export {
  SimpleKnowledge,
  type SimpleKnowledgeOptions,
  type SyncOptions,
  type SyncProgress,
  type SyncReport,
} from '../rag/simple-knowledge.ts';
export { TermReranker } from '../rag/term-reranker.ts';
export type { ChunkFilter, FieldCondition, NumberRange } from '../vector/chunk-filter.ts';
export { InMemoryVectorStore } from '../vector/in-memory-vector-store.ts';
export {
  VectorStoreBase,
  type ChunkSelection,
  type FoundChunk,
  type SearchMode,
  type SearchQuery,
  type StoredChunk,
  type StoredDocument,
  type StoreSearch,
} from '../vector/vector-store-base.ts';
