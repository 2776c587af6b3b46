export { AgentBase, type AgentOptions, type CallLifetime, type CallOptions } from './agent/agent-base.ts';
export type { Interrupt } from './agent/interrupt.ts';
export type { AgentHooks } from './agent/agent-hooks.ts';
export type { ListenOptions } from './agent/event-listeners.ts';
export { gotoReasoning, stopAgent, type LoopControl } from './agent/turn/loop-control.ts';
export { agentTool, type AgentToolOptions } from './subagent/agent-tool.ts';
export { ConsoleView, type ConsoleViewOptions } from './agent/printing/console-view.ts';
export { interruptOnCtrlC, type InterruptOnCtrlCOptions } from './user/interrupt-key.ts';
export type { PrintedMsg } from './agent/printing/printer.ts';
export { ReActAgentBase, type ReActHookOptions, type ReActHooks } from './react/react-agent-base.ts';
export type { ReActAgentOptions } from './react/react-agent-options.ts';
export type { AnsweredBy } from './message/answered-by.ts';
export type { EndReason } from './message/end-reason.ts';
export { ReActAgent } from './react/react-agent.ts';
export type { OnBusy } from './agent/call-queue.ts';
export type { DelegationContext } from './subagent/grants/context-text.ts';
export type { SubAgentOptions } from './subagent/delegation.ts';
export { makeSubagentTool, type SubAgentToolOptions } from './subagent/make-subagent-tool.ts';
export type { PermissionBundle } from './subagent/grants/permission-bundle.ts';
export { registerSubAgent } from './subagent/register-sub-agent.ts';
export type { SafetyLimits } from './subagent/limits/safety-limits.ts';
export { SubAgentBase } from './subagent/sub-agent-base.ts';
export { SubAgentUnavailable } from './subagent/sub-agent-error.ts';
export type { SubAgentSpec } from './subagent/sub-agent-spec.ts';
export type { DelegateOptions, SubAgentInit } from './subagent/sub-agent.ts';
export { TaskSubAgent, type TaskSubAgentOptions } from './subagent/task-sub-agent.ts';
export type { Tracer, TraceSpan } from './tracing/tracer.ts';
export { currentTurn } from './agent/turn/current-turn.ts';
export type { Turn } from './agent/turn/turn.ts';
export type { Step, StepKind, StepRunner } from './event/step.ts';
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
export { AutoContextMemory } from './compression/auto-context/auto-context-memory.ts';
export {
  EARLY_AUTO_CONTEXT,
  type AutoContextOptions,
  type AutoContextPrompts,
} from './compression/auto-context/auto-context-options.ts';
export { PINNED_MARK } from './compression/auto-context/context-view.ts';
export { SummaryCompressor, type SummaryCompressorOptions } from './compression/summary-compressor.ts';
export { lineLogger, silentLogger, type Logger, type LogLevel } from './config/logger.ts';
export {
  getLogger,
  getRunConfig,
  withRunConfig,
  type InitOptions,
  type RunConfig,
} from './config/run-config.ts';
export { init } from './studio/init.ts';
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
  EventError,
  EventOf,
  EventType,
  RunStatus,
} from './event/agent-event.ts';
export { AgentStream, type SseResponseInit } from './event/agent-stream.ts';
export type { StreamOptions } from './event/reply-stream.ts';
export { ChatFormatter } from './formatter/chat-formatter.ts';
export { MediaError, MediaLoader, type MediaLoaderOptions } from './formatter/media-loader.ts';
export { MultiAgentFormatter, type MultiAgentFormatterOptions } from './formatter/multi-agent-formatter.ts';
export { TruncatedFormatter, type TruncatedFormatterOptions } from './formatter/truncated-formatter.ts';
export type { HookOptions } from './hooks/hook-table.ts';
export {
  LongTermMemoryBase,
  type LongTermMemoryMode,
  type LongTermOptions,
} from './longterm/long-term-memory-base.ts';
export { InMemoryMemory } from './memory/in-memory-memory.ts';
export { MemoryBase } from './memory/memory-base.ts';
export { CorruptMemoryError } from './memory/stored-memory.ts';
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
export { findHistoryFaults } from './message/history.ts';
export type { FinishReason } from './message/model-delta.ts';
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
  type ModelRequest,
  type ToolChoice,
} from './model/chat-model-base.ts';
export { ModelError, type ModelErrorKind } from './model/model-error.ts';
export { StructuredOutputError } from './model/structured/structured-output-error.ts';
export {
  callStructured,
  type StructuredAnswer,
  type StructuredOptions,
} from './model/structured/structured-output.ts';
export type { StructuredStrategy } from './model/structured/structured-strategy.ts';
export { CacheModel, type CacheOptions } from './model/wrappers/cache-model.ts';
export { FallbackModel, type FallbackOptions } from './model/wrappers/fallback-model.ts';
export { RateLimitModel, type RateLimitOptions } from './model/wrappers/rate-limit-model.ts';
export { RecordingModel, type RecordingOptions } from './model/wrappers/recording-model.ts';
export { ReplayModel, type ReplayOptions } from './model/wrappers/replay-model.ts';
export { RetryModel, type RetryOptions } from './model/wrappers/retry-model.ts';
export type { PermissionPolicy, PermissionRequest } from './permission/permission-policy.ts';
export type { ArgumentMatch, ToolRule } from './permission/tool-rule.ts';
export { PermissionRules, type PermissionRulesOptions } from './permission/permission-rules.ts';
export {
  PERMISSION_MODES,
  type PermissionBehavior,
  type PermissionMode,
} from './permission/permission-table.ts';
export { ChatRoom, type ChatRoomOptions } from './pipeline/chat-room.ts';
export {
  FanoutError,
  FanoutPipeline,
  fanoutPipeline,
  type AgentFailure,
  type FanoutOptions,
} from './pipeline/fanout-pipeline.ts';
export { MsgHub, type MsgHubOptions } from './pipeline/msg-hub.ts';
export { SequentialPipeline, sequentialPipeline } from './pipeline/sequential-pipeline.ts';
export { streamPrintingMessages, type StreamPrintingOptions } from './pipeline/stream-printing-messages.ts';
export { PlanNotebook, type PlanNotebookOptions } from './plan/plan-notebook.ts';
export { KnowledgeBase, type RetrievedDocument, type RetrieveOptions } from './rag/knowledge-base.ts';
export { readAgentScopeSession, type AgentScopeSession } from './session/agentscope-session.ts';
export { AutoSave, type AutoSaveOptions } from './session/auto-save.ts';
export type { SessionComponents } from './session/format/component-state.ts';
export { InMemorySession } from './session/in-memory-session.ts';
export {
  SessionConflictError,
  SessionCorruptError,
  SessionError,
  SessionNotFoundError,
  SessionVersionError,
} from './session/format/session-error.ts';
export { toSessionId, type SessionId } from './session/format/session-key.ts';
export { SessionManager } from './session/session-manager.ts';
export type { ListOptions, PruneOptions, SessionPage } from './session/session-page.ts';
export type { SessionInfo } from './session/format/session-store.ts';
export { Session, type LoadOptions, type SaveOptions } from './session/session.ts';
export {
  StateModule,
  type LoadStateOptions,
  type StateConverter,
  type StateMigration,
} from './state/state-module.ts';
export { CalibratedTokenCounter } from './token/calibrated-token-counter.ts';
export { CharTokenCounter } from './token/char-token-counter.ts';
export { EstimateTokenCounter, type EstimateOptions } from './token/estimate-token-counter.ts';
export type { BackgroundTask, BackgroundTaskState } from './toolkit/background-task.ts';
export { BackgroundTools, type BackgroundToolsOptions } from './toolkit/background-tools.ts';
export { externalTool, type ExternalToolOptions } from './toolkit/tool/external-tool.ts';
export type { ToolGroupOptions } from './toolkit/tool-group-table.ts';
export type { ToolMiddleware } from './toolkit/call/tool-middleware.ts';
export { ToolResponse, type ToolResponseOptions } from './toolkit/tool/tool-response.ts';
export {
  ToolSuspension,
  type ToolResume,
  type ToolSuspensionOptions,
} from './toolkit/tool/tool-suspension.ts';
export type { NamesakeStrategy } from './toolkit/tool-table.ts';
export {
  tool,
  type Tool,
  type ToolCallResult,
  type ToolContext,
  type ToolInput,
  type ToolOptions,
  type ToolRetry,
} from './toolkit/tool/tool.ts';
export { Toolkit, type RegisterToolOptions, type ToolkitOptions } from './toolkit/toolkit.ts';
export { BoundedQueue } from './util/async/bounded-queue.ts';
export type { JsonObject, JsonValue } from './util/json.ts';
export { DownloadError, UnsafeUrlError, type DownloadErrorCode } from './util/net/safe-fetch.ts';
export {
  SchemaError,
  type AnySchema,
  type JsonSchema,
  type SchemaOutput,
  type SchemaProblem,
} from './util/schema.ts';
