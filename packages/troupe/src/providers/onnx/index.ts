export { OnnxEmbeddingModel, type OnnxEmbeddingOptions } from './onnx-embedding-model.ts';
