export { LlamaCppModel, type LlamaCppModelOptions } from './llama-cpp-model.ts';
