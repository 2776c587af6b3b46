export { AgentBase, type AgentOptions, type CallLifetime, type CallOptions } from './agent/agent-base.ts';
export type { Interrupt } from './agent/interrupt.ts';
export type { AgentHooks } from './agent/agent-hooks.ts';
export { agentTool, type AgentToolOptions } from './subagent/agent-tool.ts';
export { ConsoleView } from './agent/console-view.ts';
export { interruptOnCtrlC, type InterruptOnCtrlCOptions } from './user/interrupt-key.ts';
export type { PrintedMsg } from './agent/printer.ts';
export { ReActAgentBase, type ReActHooks } from './react/react-agent-base.ts';
export type { ReActAgentOptions } from './react/react-agent-options.ts';
export type { EndReason } from './message/end-reason.ts';
export { ReActAgent } from './react/react-agent.ts';
export type { OnBusy } from './agent/call-queue.ts';
export type { Budget } from './subagent/limits/budget.ts';
export {
  toDelegationContext,
  type ContextBundle,
  type DelegationContext,
  type RecentEvent,
} from './subagent/grants/delegation-context.ts';
export type { SubAgentOptions } from './subagent/delegation.ts';
export { makeSubagentTool, type SubAgentToolOptions } from './subagent/make-subagent-tool.ts';
export type { PermissionBundle, SharedResources } from './subagent/grants/permission-bundle.ts';
export { registerSubAgent } from './subagent/register-sub-agent.ts';
export type { SafetyLimits } from './subagent/limits/safety-limits.ts';
export { SubAgentBase } from './subagent/sub-agent-base.ts';
export { SubAgentUnavailable, type SubAgentErrorCode } from './subagent/sub-agent-error.ts';
export type { SubAgentHost } from './subagent/sub-agent-host.ts';
export {
  SUBAGENT_RESOURCES,
  type ResourceOverrides,
  type ResourcePolicy,
  type SubAgentResource,
  type SubAgentResourceName,
} from './subagent/grants/sub-agent-resources.ts';
export type { SubAgentSpec } from './subagent/sub-agent-spec.ts';
export type {
  DelegateOptions,
  ExportAgentOptions,
  SubAgent,
  SubAgentClass,
  SubAgentInit,
} from './subagent/sub-agent.ts';
export { TaskSubAgent, type TaskSubAgentOptions } from './subagent/task-sub-agent.ts';
export type { Tracer, TraceSpan } from './tracing/tracer.ts';
export type { Observer } from './agent/subscribers.ts';
export { currentTurn } from './agent/current-turn.ts';
export type { Turn } from './agent/turn.ts';
export { type Step, type StepInit, type StepKind, type StepRunner } from './event/step.ts';
export { UserAgent, type UserAgentOptions } from './user/user-agent.ts';
export {
  ProgrammaticUserInput,
  TerminalUserInput,
  UserInputBase,
  type AnswerFunction,
  type ProgrammedAnswer,
  type TerminalUserInputOptions,
  type UserInputData,
  type UserInputRequest,
} from './user/user-input.ts';
export type {
  AutoContextEvent,
  AutoContextStrategy,
  CompressionStrategy,
} from './compression/auto-context/auto-context-event.ts';
export { AutoContextMemory } from './compression/auto-context/auto-context-memory.ts';
export type {
  AutoContextOptions,
  AutoContextPrompts,
} from './compression/auto-context/auto-context-options.ts';
export { AutoContextTokenCounter } from './compression/auto-context/auto-context-token-counter.ts';
export { PINNED_MARK } from './compression/auto-context/context-view.ts';
export {
  isContextCompressor,
  type ContextCompressor,
  type CompressionTask,
} from './compression/context-compressor.ts';
export { SummaryCompressor, type SummaryCompressorOptions } from './compression/summary-compressor.ts';
export { lineLogger, silentLogger, type Logger, type LogLevel } from './config/logger.ts';
export {
  getLogger,
  getRunConfig,
  init,
  withRunConfig,
  type InitOptions,
  type RunConfig,
} from './config/run-config.ts';
export {
  AgentBusyError,
  AgentClosedError,
  HookError,
  InputEndedError,
  InterruptedError,
  InvalidMsgError,
  StateError,
  TroupeError,
  type ErrorCode,
  type InterruptSource,
} from './errors.ts';
export type {
  AgentEvent,
  CompressionEvent,
  Emit,
  EventBody,
  EventError,
  EventOrigin,
  RunStatus,
} from './event/agent-event.ts';
export { replyStream, type RunListener, type StreamOptions } from './event/reply-stream.ts';
export type { FileLimits } from './filesystem/file-limits.ts';
export {
  FilePolicy,
  type FileGrant,
  type FileGrantInput,
  type FileOperation,
} from './filesystem/file-policy.ts';
export type { FileMatches, FileSearchOptions, GrepOptions, LineMatch } from './filesystem/file-search.ts';
export {
  FileSystemBase,
  type FileContent,
  type FileEntry,
  type FileInfo,
  type FileKind,
  type ReadOptions,
  type WriteOptions,
} from './filesystem/file-system-base.ts';
export { FileSystemError, type FileSystemErrorKind } from './filesystem/file-system-error.ts';
export { FileSystemHandle, type FileSystemHandleOptions } from './filesystem/file-system-handle.ts';
export type { FileLines, TextEdit } from './filesystem/file-text.ts';
export { InMemoryFileSystem, type InMemoryFileSystemOptions } from './filesystem/in-memory-file-system.ts';
export { joinPath, parsePath, type LogicalPath } from './filesystem/logical-path.ts';
export { ChatFormatter } from './formatter/chat-formatter.ts';
export { FormatterBase, type FormatContext } from './formatter/formatter-base.ts';
export {
  MediaError,
  MediaLoader,
  type LoadedMedia,
  type MediaLoaderOptions,
} from './formatter/media-loader.ts';
export { MultiAgentFormatter, type MultiAgentFormatterOptions } from './formatter/multi-agent-formatter.ts';
export type {
  AssistantItem,
  MediaBlock,
  Prompt,
  PromptItem,
  SystemItem,
  ToolItem,
  UserItem,
} from './formatter/prompt.ts';
export {
  TruncatedFormatter,
  type TruncatedFormatterOptions,
  type Truncation,
} from './formatter/truncated-formatter.ts';
export type { HookOptions } from './hooks/hook-table.ts';
export { HookedModule, hookTypes } from './hooks/hooked-module.ts';
export type { HookPoint, PostHook, PreHook, ResultKind } from './hooks/run-hooks.ts';
export {
  LongTermMemoryBase,
  type LongTermMemoryMode,
  type LongTermOptions,
} from './longterm/long-term-memory-base.ts';
export { InMemoryMemory } from './memory/in-memory-memory.ts';
export {
  COMPRESSED_MARK,
  MemoryBase,
  type AddOptions,
  type MarkChange,
  type MemoryFilter,
} from './memory/memory-base.ts';
export { CorruptMemoryError, type ConversationId } from './memory/stored-memory.ts';
export type { BlockChange } from './message/block-change.ts';
export type {
  AudioBlock,
  BlockOf,
  BlockType,
  ContentBlock,
  FileBlock,
  ImageBlock,
  MediaSource,
  ProviderMeta,
  TextBlock,
  ThinkingBlock,
  ToolOutputBlock,
  ToolResultBlock,
  ToolStatus,
  ToolUseBlock,
  VideoBlock,
} from './message/blocks.ts';
export { Exchange } from './message/exchange.ts';
export { findHistoryFaults } from './message/history.ts';
export type { FinishReason, ModelDelta } from './message/model-delta.ts';
export { MsgDraft, type MsgDraftOptions } from './message/msg-draft.ts';
export {
  Msg,
  type MsgExtras,
  type MsgInit,
  type MsgInput,
  type Role,
  type StructuredMsg,
} from './message/msg.ts';
export type { PendingCall, PendingDecision } from './message/pending-call.ts';
export { addUsage, type Pricing, type Usage } from './message/usage.ts';
export {
  ChatModelBase,
  type GenerationOptions,
  type ModelCallOptions,
  type ModelCapabilities,
  type ModelRequest,
  type StructuredFormat,
  type ToolChoice,
  type ToolSchema,
} from './model/chat-model-base.ts';
export type { Deadlines } from './model/http/deadlines.ts';
export type { HttpModelOptions } from './model/http/http-chat-model.ts';
export {
  ModelError,
  type Deadline,
  type ModelErrorDetails,
  type ModelErrorKind,
} from './model/model-error.ts';
export { StructuredOutputError } from './model/structured/structured-output-error.ts';
export {
  callStructured,
  type StructuredAnswer,
  type StructuredAttempt,
  type StructuredOptions,
} from './model/structured/structured-output.ts';
export type { StructuredStrategy } from './model/structured/structured-strategy.ts';
export { CacheModel, type CacheOptions, type CacheStore } from './model/wrappers/cache-model.ts';
export { FallbackModel, type Fallback, type FallbackOptions } from './model/wrappers/fallback-model.ts';
export { MemoryCacheStore } from './model/wrappers/memory-cache-store.ts';
export { RateLimitModel, type RateLimitOptions } from './model/wrappers/rate-limit-model.ts';
export { RecordingModel, type RecordingOptions } from './model/wrappers/recording-model.ts';
export type { RedactOptions } from './model/wrappers/redactor.ts';
export { ReplayModel, type ReplayOptions } from './model/wrappers/replay-model.ts';
export type { RequestLimits } from './model/wrappers/request-limiter.ts';
export { RetryModel, type Retry, type RetryOptions } from './model/wrappers/retry-model.ts';
export {
  parseTape,
  type Tape,
  type TapedCall,
  type TapedError,
  type TimedDelta,
} from './model/wrappers/tape.ts';
export { WrapperModel, type RelayOptions } from './model/wrappers/wrapper-model.ts';
export type { PermissionPolicy, PermissionRequest } from './permission/permission-policy.ts';
export type { ArgumentMatch, PermissionRule, SavedPermissionRule } from './permission/permission-rule.ts';
export {
  PermissionRules,
  type ArgumentMeaning,
  type PermissionRulesOptions,
} from './permission/permission-rules.ts';
export {
  PERMISSION_MODES,
  PERMISSION_TABLE,
  type PermissionBehavior,
  type PermissionFacts,
  type PermissionMode,
  type PermissionRow,
} from './permission/permission-table.ts';
export { ChatRoom, type ChatRoomOptions } from './pipeline/chat-room.ts';
export { FanoutPipeline, fanoutPipeline, type FanoutOptions } from './pipeline/fanout-pipeline.ts';
export { MsgHub, type MsgHubOptions } from './pipeline/msg-hub.ts';
export { SequentialPipeline, sequentialPipeline } from './pipeline/sequential-pipeline.ts';
export { streamPrintingMessages, type StreamPrintingOptions } from './pipeline/stream-printing-messages.ts';
export { InMemoryPlanStorage } from './plan/in-memory-plan-storage.ts';
export type { FinalState, NewPlan, SettableState } from './plan/plan-edits.ts';
export { PlanError } from './plan/plan-error.ts';
export type { PlanHint, PlanHints, PlanRules, PlanToHint } from './plan/plan-hints.ts';
export {
  PlanNotebook,
  type PlanChangeHook,
  type PlanNotebookOptions,
  type RegisterPlanToolsOptions,
} from './plan/plan-notebook.ts';
export { PlanStorageBase, type AddPlanOptions } from './plan/plan-storage-base.ts';
export { Plan, type PlanInit } from './plan/plan.ts';
export { SubTask } from './plan/sub-task.ts';
export type { WorkItem, WorkItemInit, WorkState, WorkWords } from './plan/work-item.ts';
export { KnowledgeBase, type RetrievedDocument, type RetrieveOptions } from './rag/knowledge-base.ts';
export { readAgentScopeSession, type AgentScopeSession } from './session/agentscope-session.ts';
export { AutoSave, type AutoSaveOptions, type SaveSignals } from './session/auto-save.ts';
export type { SessionComponents } from './session/format/component-state.ts';
export { InMemorySession } from './session/in-memory-session.ts';
export {
  SessionConflictError,
  SessionCorruptError,
  SessionError,
  SessionNotFoundError,
  SessionVersionError,
} from './session/format/session-error.ts';
export {
  toSessionId,
  type CheckedKey,
  type SessionId,
  type SessionKey,
} from './session/format/session-key.ts';
export { SessionManager } from './session/session-manager.ts';
export type { ListOptions, PruneOptions, SessionPage, Whose } from './session/session-page.ts';
export type {
  Commit,
  LanePart,
  ListCursor,
  ListQuery,
  LogRange,
  SessionInfo,
  SessionStore,
  StoredHead,
  StoredItem,
} from './session/format/session-store.ts';
export { Session, type LoadOptions, type SaveOptions } from './session/session.ts';
export {
  StateModule,
  type LoadStateOptions,
  type StateConverter,
  type StateList,
  type StateMigration,
  type StateParts,
} from './state/state-module.ts';
export { CalibratedTokenCounter } from './token/calibrated-token-counter.ts';
export { CharTokenCounter } from './token/char-token-counter.ts';
export { EstimateTokenCounter, type EstimateOptions } from './token/estimate-token-counter.ts';
export { TokenCounterBase, type CountOptions } from './token/token-counter-base.ts';
export type { BackgroundTask, BackgroundTaskState } from './toolkit/background-task.ts';
export { BackgroundTools, type BackgroundToolsOptions } from './toolkit/background-tools.ts';
export { externalTool, type ExternalToolOptions } from './toolkit/tool/external-tool.ts';
export type { AuthorizeRequest, CallToolOptions, Offload, ToolVerdict } from './toolkit/call/tool-call.ts';
export type { ToolGroupOptions } from './toolkit/tool-groups.ts';
export {
  isSuspended,
  type SuspendedToolCall,
  type ToolCallOutcome,
} from './toolkit/call/tool-call-outcome.ts';
export type { NextToolCall, ToolCallContext, ToolMiddleware } from './toolkit/call/tool-middleware.ts';
export { ToolResponse, type ToolResponseOptions } from './toolkit/tool/tool-response.ts';
export {
  ToolSuspension,
  type Suspension,
  type ToolResume,
  type ToolSuspensionOptions,
} from './toolkit/tool/tool-suspension.ts';
export type { NamesakeStrategy } from './toolkit/tool-table.ts';
export {
  tool,
  type Tool,
  type LiveSchema,
  type PlainToolOptions,
  type ToolCallResult,
  type ToolContext,
  type ToolInput,
  type ToolOptions,
  type ToolRetry,
  type ToolSettings,
} from './toolkit/tool/tool.ts';
export { Toolkit, type RegisterToolOptions, type ToolkitOptions } from './toolkit/toolkit.ts';
export { abortableItems } from './util/abort.ts';
export { BoundedQueue } from './util/async/bounded-queue.ts';
export type { JsonLimits, JsonObject, JsonValue } from './util/json.ts';
export { DownloadError, UnsafeUrlError, type DownloadErrorCode } from './util/net/safe-fetch.ts';
export {
  SchemaError,
  toJsonSchema,
  validateWith,
  type AnySchema,
  type JsonSchema,
  type SchemaOutput,
  type SchemaProblem,
  type Validation,
} from './util/schema.ts';
