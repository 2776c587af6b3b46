export { OpenAIChatModel, type OpenAIChatModelOptions } from './openai-chat-model.ts';
export { OpenAIResponsesModel, type OpenAIResponsesModelOptions } from './openai-responses-model.ts';
export type { OpenAIEndpointOptions } from './endpoint.ts';
export { CHAT_VENDORS, type ChatVendor, type ChatVendorName } from './vendors.ts';
export { OpenAITokenCounter, type OpenAITokenCounterOptions } from '../../token/openai-token-counter.ts';
export {
  openaiTools,
  type OpenAIFileSearchOptions,
  type OpenAIImageOptions,
  type OpenAIMcpOptions,
  type OpenAITool,
  type OpenAIWebSearchOptions,
} from './openai-tools.ts';
export { chatProviderTools, type ChatProviderTool, type XaiSearchOptions } from './chat-provider-tools.ts';
