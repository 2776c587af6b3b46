import type { MemoryBase } from '../memory/memory-base.ts';
import type { PendingDecision } from '../message/pending-call.ts';
import type { ChatModelBase } from '../model/chat-model-base.ts';
import type { ToolResponse } from '../toolkit/tool/tool-response.ts';
import type { Toolkit } from '../toolkit/toolkit.ts';
import type { Emit } from '../event/agent-event.ts';
import type { JsonObject } from '../util/json.ts';
import type { AnySchema } from '../util/schema.ts';
import type { AgentBase } from '../agent/agent-base.ts';
import type { DelegationContext } from './grants/context-text.ts';
import type { ContextBundle } from './grants/delegation-context.ts';
import type { PermissionBundle, SubAgentPermissions } from './grants/permission-bundle.ts';
import type { SubAgentSpec } from './sub-agent-spec.ts';

/** Constructor argument of a sub-agent. */
export interface SubAgentInit {
  readonly name: string;
  readonly spec: SubAgentSpec;
  readonly permissions: SubAgentPermissions;
  /** New toolkit with the granted tools, the tools of the spec, and tools for the granted files. */
  readonly toolkit: Toolkit;
  /** New and empty. */
  readonly memory: MemoryBase;
  /** `spec.modelOverride`, otherwise the host's model. */
  readonly model: ChatModelBase | undefined;
}

export interface ExportAgentOptions {
  readonly spec: SubAgentSpec;
  /** Resources for the sub-agent, which `exportAgent` restricts to it. */
  readonly permissions: PermissionBundle;
  /** Source of the tools in `spec.toolsAllowlist`. @default none */
  readonly hostToolkit?: Toolkit | undefined;
  readonly hostModel?: ChatModelBase | undefined;
  /** Runs the health checks, as at registration. @default false */
  readonly runHealthcheck?: boolean | undefined;
}

export interface DelegateOptions {
  /** Complete task text, the sub-agent's input. @default the task summary */
  readonly task?: string | undefined;
  /** Further metadata of the task's message, such as the `context` argument of the tool. */
  readonly metadata?: JsonObject | undefined;
  /** Stops the sub-agent. `delegate` then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Time limit of the task. @default that of the spec, if `exportAgent` was called by a program */
  readonly timeoutMs?: number | undefined;
  /** Whether the memory is cleared after the task. @default true */
  readonly ephemeralMemory?: boolean | undefined;
  /** Receives all events of the sub-agent and of nested sub-agents. Nobody waits for the returned promise. */
  readonly onEvent?: Emit | undefined;
  /** Whether the task continues after the host's call has stopped. @default false */
  readonly isBackground?: boolean | undefined;
  /**
   * Decisions for the pending tool calls of a sub-agent whose state was loaded; the task resumes with them.
   */
  readonly decisions?: readonly PendingDecision[] | undefined;
}

/** Agent working for another agent: gets a task, returns a result. */
export interface SubAgent extends AgentBase {
  readonly permissions: SubAgentPermissions;
  readonly toolkit: Toolkit;
  readonly memory: MemoryBase;
  /** Labels of the spec, in the metadata of every result. */
  readonly tags?: readonly string[] | undefined;

  /**
   * Works on a task. Without a context, the sub-agent is told of its own files, knowledge and limits. Failures are part of the result. Rejects only when the signal stops the task, or with a
   * `ToolSuspension` when the sub-agent has pending tool calls.
   */
  delegate(
    taskSummary: string,
    context?: DelegationContext,
    options?: DelegateOptions,
  ): Promise<ToolResponse>;

  /** Adds the context to the memory. Repeating the same context changes nothing. */
  loadDelegationContext(context: DelegationContext): Promise<void>;

  /** Whether the sub-agent can work. Runs once, at registration. */
  healthcheck(): boolean | Promise<boolean>;
}

/** Class of sub-agents, as `makeSubagentTool` needs it. */
export interface SubAgentClass<Agent extends SubAgent = SubAgent> {
  new (init: SubAgentInit): Agent;
  /** Arguments of the tool, unless the spec has its own. */
  readonly inputSchema: AnySchema;
  /** Task text for validated arguments. */
  describeTask(input: unknown): string;
  /** Reduces the host's context to the delegation context. */
  preContextCompress(
    parentContext: ContextBundle,
    task: string,
  ): DelegationContext | Promise<DelegationContext>;
  /** Makes a sub-agent. @throws SubAgentUnavailable if making it or its health check fails. */
  exportAgent(options: ExportAgentOptions): Promise<Agent>;
}
