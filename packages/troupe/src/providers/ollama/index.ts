export { OllamaChatModel, type OllamaChatModelOptions } from './ollama-chat-model.ts';
export { OllamaEmbeddingModel, type OllamaEmbeddingOptions } from './ollama-embedding-model.ts';
