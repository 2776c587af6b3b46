/** Entry `troupe/provider`: for authors of models, model wrappers, formatters and token counters. */

export { FormatterBase, type FormatContext } from '../formatter/formatter-base.ts';
export type { LoadedMedia } from '../formatter/media-loader.ts';
export type {
  AssistantItem,
  MediaBlock,
  Prompt,
  PromptItem,
  SystemItem,
  ToolItem,
  UserItem,
} from '../formatter/prompt.ts';
export type { Truncation } from '../formatter/truncated-formatter.ts';
export type { ModelDelta } from '../message/model-delta.ts';
export type {
  Caching,
  ModelCallOptions,
  ModelCapabilities,
  StructuredFormat,
  ToolSchema,
} from '../model/chat-model-base.ts';
export type { Deadlines } from '../model/http/deadlines.ts';
export type { AskedFor, HttpCallOptions } from '../model/http/http-call-options.ts';
export type { HttpModelOptions } from '../model/http/http-chat-model.ts';
export type { ModelHosting } from '../model/http/model-hosting.ts';
export type { DeadlineName, ModelErrorDetails, ModelOrigin } from '../model/model-error.ts';
export type { StructuredAttempt } from '../model/structured/structured-output.ts';
export { traced, type TraceOptions } from '../tracing/instrumentation.ts';
export type { SpanOutcome, TracedModel, TracedOperation } from '../tracing/traced-operation.ts';
export type { CacheStore } from '../model/wrappers/memory-cache-store.ts';
export type { Fallback } from '../model/wrappers/fallback-model.ts';
export { MemoryCacheStore } from '../model/wrappers/memory-cache-store.ts';
export type { RedactOptions } from '../model/wrappers/redactor.ts';
export type { RequestLimits } from '../model/wrappers/request-limiter.ts';
export type { Retry } from '../model/wrappers/retry-model.ts';
export {
  parseTape,
  type Tape,
  type TapedCall,
  type TapedError,
  type TimedDelta,
} from '../model/wrappers/tape.ts';
export { WrapperModel, type RelayOptions } from '../model/wrappers/wrapper-model.ts';
export { TokenCounterBase, type CountOptions } from '../token/token-counter-base.ts';
export type { ProviderToolBlock, ProviderToolResultBlock, ProviderToolUseBlock } from '../message/blocks.ts';
export type { Citation } from '../message/citation.ts';
