export { AgentBase, type AgentOptions, type CallOptions, type Interrupt } from './agent/agent-base.ts';
export type { AgentHooks } from './agent/agent-hooks.ts';
export { ConsoleView } from './agent/console-view.ts';
export { interruptOnCtrlC, type InterruptOnCtrlCOptions } from './agent/interrupt-key.ts';
export type { PrintedMsg } from './agent/printer.ts';
export { ReActAgentBase, type ReActHooks } from './agent/react-agent-base.ts';
export type { OnBusy } from './agent/run-lane.ts';
export type { Observer } from './agent/subscribers.ts';
export { currentTurn, Turn, type StepRunner } from './agent/turn.ts';
export { UserAgent, type UserAgentOptions } from './agent/user-agent.ts';
export {
  ProgrammaticUserInput,
  TerminalUserInput,
  UserInputBase,
  type AnswerFunction,
  type ProgrammedAnswer,
  type TerminalUserInputOptions,
  type UserInputData,
  type UserInputRequest,
} from './agent/user-input.ts';
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
export type { AgentEvent, Emit, EventBody, EventError, EventOrigin, RunStatus } from './event/agent-event.ts';
export { replyStream, type RunListener, type StreamOptions } from './event/reply-stream.ts';
export type { HookOptions } from './hooks/hook-table.ts';
export { HookedModule, hookTypes } from './hooks/hooked-module.ts';
export type { HookPoint, PostHook, PreHook, ResultKind } from './hooks/weave.ts';
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
export { Msg, type MsgExtras, type MsgInit, type MsgInput, type Role } from './message/msg.ts';
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
export {
  ModelError,
  type Deadline,
  type ModelErrorDetails,
  type ModelErrorKind,
} from './model/model-error.ts';
export { ChatRoom, type ChatRoomOptions } from './pipeline/chat-room.ts';
export { FanoutPipeline, fanoutPipeline, type FanoutOptions } from './pipeline/fanout-pipeline.ts';
export { MsgHub, type MsgHubOptions } from './pipeline/msg-hub.ts';
export { SequentialPipeline, sequentialPipeline } from './pipeline/sequential-pipeline.ts';
export { streamPrintingMessages, type StreamPrintingOptions } from './pipeline/stream-printing-messages.ts';
export {
  StateModule,
  type LoadStateOptions,
  type StateConverter,
  type StateMigration,
} from './state/state-module.ts';
export { abortableItems } from './util/abort.ts';
export { BoundedQueue } from './util/bounded-queue.ts';
export type { JsonLimits, JsonObject, JsonValue } from './util/json.ts';
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
