export { AnthropicChatModel, type AnthropicChatModelOptions } from './anthropic-chat-model.ts';
export { AnthropicTokenCounter, type AnthropicTokenCounterOptions } from './anthropic-token-counter.ts';
export { CLAUDE_MODELS, type ClaudeModel } from './claude-models.ts';
export {
  anthropicTools,
  type AnthropicMcpOptions,
  type AnthropicTool,
  type AnthropicToolUse,
  type WebFetchOptions,
  type WebSearchOptions,
} from './tools/anthropic-tools.ts';
