export { GeminiChatModel, type GeminiChatModelOptions } from './gemini-chat-model.ts';
export { GeminiTokenCounter, type GeminiTokenCounterOptions } from './gemini-token-counter.ts';
export { googleTools, type GoogleMcpOptions, type GoogleTool } from './google-tools.ts';
export { GeminiSttModel, type GeminiSttOptions } from './gemini-stt-model.ts';
export { GeminiTtsModel, type GeminiTtsOptions } from './gemini-tts-model.ts';
export { GeminiEmbeddingModel } from './gemini-embedding-model.ts';
export { GeminiLiveModel, type GeminiLiveOptions } from './realtime/gemini-live-model.ts';
