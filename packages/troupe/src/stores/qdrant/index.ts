export type { QdrantOptions } from './qdrant-client.ts';
export { QdrantVectorStore } from './qdrant-vector-store.ts';
