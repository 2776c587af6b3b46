export { OpenAIChatModel, type OpenAIChatModelOptions } from './openai-chat-model.ts';
export { OpenAIResponsesModel, type OpenAIResponsesModelOptions } from './openai-responses-model.ts';
export { OpenAISttModel, type OpenAISttOptions } from './openai-stt-model.ts';
export { OpenAITtsModel, type OpenAITtsOptions } from './openai-tts-model.ts';
export type { OpenAIEndpointOptions } from './endpoint.ts';
export { CHAT_VENDORS, type ChatVendor, type ChatVendorName, type ThinkingField } from './vendors.ts';
export { OpenAITokenCounter, type OpenAITokenCounterOptions } from '../../token/openai-token-counter.ts';
export {
  openaiTools,
  type OpenAIFileSearchOptions,
  type OpenAIImageOptions,
  type OpenAIComputerDisplay,
  type OpenAIMcpOptions,
  type OpenAIToolUse,
  type OpenAITool,
  type OpenAIWebSearchOptions,
} from './tools/openai-tools.ts';
export {
  chatProviderTools,
  type ChatProviderTool,
  type DashScopeSearchOptions,
  type OpenRouterSearchOptions,
  type PerplexitySearchOptions,
  type XaiSearchOptions,
  type ZhipuSearchOptions,
} from './tools/chat-provider-tools.ts';
export { OpenAIEmbeddingModel, type OpenAIEmbeddingOptions } from './openai-embedding-model.ts';
export {
  OpenAIRealtimeModel,
  type ClientSecret,
  type ClientSecretOptions,
  type OpenAIRealtimeOptions,
} from './realtime/openai-realtime-model.ts';
