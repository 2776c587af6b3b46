/** Entry `troupe/kernel`: parts of agents and toolkits, for authors of new kinds of them. Folder `entries`: start here; each file is one entry. */

export type { ModelPrompt } from '../agent/turn/hook-results.ts';
export { continueTrace, traceHeaders, type TraceHeaders } from '../tracing/instrumentation.ts';
export type { SpanAttributes } from '../tracing/tracer.ts';
export {
  observeProgram,
  type ObservedCall,
  type ObservedPlace,
  type ObservedPrompt,
  type ProgramObserver,
} from '../agent/program-observers.ts';
export type { Observer } from '../agent/subscribers.ts';
export type { StepInit } from '../event/step.ts';
export type { Emit, EventBody, EventOrigin } from '../event/agent-event.ts';
export type { RunListener } from '../event/reply-stream.ts';
export { HookedModule, hookTypes } from '../hooks/hooked-module.ts';
export type { HookPoint, PostHook, PreHook, ResultKind } from '../hooks/run-hooks.ts';
export { Exchange } from '../message/exchange.ts';
export { MsgDraft, partialToolCalls, type MsgDraftOptions } from '../message/msg-draft.ts';
export type { SavedToolRule } from '../permission/tool-rule.ts';
export type { ArgumentMeaning } from '../toolkit/tool/known-tools.ts';
export type { Confinement, ConfinementProfile } from '../toolkit/tool/confinement.ts';
export {
  PERMISSION_TABLE,
  type PermissionFacts,
  type PermissionRow,
} from '../permission/permission-table.ts';
export type { AuthorizeRequest, CallToolOptions, Offload, ToolVerdict } from '../toolkit/call/tool-call.ts';
export type { NextOptions, NextToolCall, ToolCallContext } from '../toolkit/call/tool-middleware.ts';
export type { Suspension } from '../toolkit/tool/tool-suspension.ts';
export type { LiveSchema, PlainToolOptions, ToolSettings } from '../toolkit/tool/tool.ts';
export type { ToolGroupDescription } from '../toolkit/tool-table.ts';
export { abortableItems } from '../util/abort.ts';
export type { JsonLimits } from '../util/json.ts';
export { toJsonSchema, validateWith, type Validation } from '../util/schema.ts';
export {
  isSuspended,
  type SuspendedToolCall,
  type ToolCallOutcome,
} from '../toolkit/call/tool-call-outcome.ts';
