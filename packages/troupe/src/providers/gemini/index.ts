export { GeminiChatModel, type GeminiChatModelOptions } from './gemini-chat-model.ts';
export { GeminiTokenCounter, type GeminiTokenCounterOptions } from './gemini-token-counter.ts';
export { googleTools, type GoogleMcpOptions, type GoogleTool } from './google-tools.ts';
