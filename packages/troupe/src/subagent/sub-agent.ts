import type { MemoryBase } from '../memory/memory-base.ts';
import type { PendingDecision } from '../message/pending-call.ts';
import type { ChatModelBase } from '../model/chat-model-base.ts';
import type { ToolResponse } from '../toolkit/tool/tool-response.ts';
import type { Toolkit } from '../toolkit/toolkit.ts';
import type { Emit } from '../event/agent-event.ts';
import type { AnySchema } from '../util/schema.ts';
import type { AgentBase } from '../agent/agent-base.ts';
import type { ContextBundle, DelegationContext } from './grants/delegation-context.ts';
import type { PermissionBundle } from './grants/permission-bundle.ts';
import type { SubAgentSpec } from './sub-agent-spec.ts';

/** What a sub-agent is made of. */
export interface SubAgentInit {
  readonly name: string;
  readonly spec: SubAgentSpec;
  readonly permissions: PermissionBundle;
  /** Its own, with the tools that it may use. */
  readonly toolkit: Toolkit;
  /** Its own, empty. */
  readonly memory: MemoryBase;
  /** That of the spec, or the host's. */
  readonly model: ChatModelBase | undefined;
}

export interface ExportAgentOptions {
  readonly spec: SubAgentSpec;
  readonly permissions: PermissionBundle;
  /** Where the tools of the allow-list come from. @default there are none */
  readonly hostToolkit?: Toolkit | undefined;
  readonly hostModel?: ChatModelBase | undefined;
  /** Whether it is asked if it is well, as when it is registered. @default false */
  readonly runHealthcheck?: boolean | undefined;
}

export interface DelegateOptions {
  /** All that the sub-agent is asked. @default the summary of the task */
  readonly task?: string | undefined;
  /** Stops the sub-agent. `delegate` then rejects with the reason. */
  readonly signal?: AbortSignal | undefined;
  /** @default as long as it likes */
  readonly timeoutMs?: number | undefined;
  /** Whether its memory is emptied when it is done. @default true */
  readonly ephemeralMemory?: boolean | undefined;
  /** Sees all events of the sub-agent and of those below it, which nobody else does. It is not waited for. */
  readonly observer?: Emit | undefined;
  /** Whether it goes on when the call of the host stops in which it began. @default false */
  readonly isBackground?: boolean | undefined;
  /** For a sub-agent whose state was loaded: it goes on with what is decided about its pending calls. */
  readonly decisions?: readonly PendingDecision[] | undefined;
}

/** An agent that works for another one: it is given a task and returns one result. */
export interface SubAgent extends AgentBase {
  readonly permissions: PermissionBundle;
  readonly toolkit: Toolkit;
  readonly memory: MemoryBase;

  /**
   * Works on a task. Whatever goes wrong is in the result. Rejects only if it is stopped by the signal, or with a
   * `ToolSuspension` when calls of it wait for somebody outside.
   */
  delegate(
    taskSummary: string,
    context?: DelegationContext,
    options?: DelegateOptions,
  ): Promise<ToolResponse>;

  /** Puts the context into its memory. A second time changes nothing. */
  loadDelegationContext(context: DelegationContext): Promise<void>;

  /** Whether it can work. Asked once, when it is registered. */
  healthcheck(): boolean | Promise<boolean>;
}

/** A class of sub-agents. */
export interface SubAgentClass<Agent extends SubAgent = SubAgent> {
  new (init: SubAgentInit): Agent;
  /** The arguments of the tool, unless a spec says otherwise. */
  readonly inputSchema: AnySchema;
  /** The task that the arguments mean, in words. */
  describeTask(input: unknown): string;
  /** Makes what the host knows small enough for a sub-agent. */
  preContextCompress(
    parentContext: ContextBundle,
    task: string,
  ): DelegationContext | Promise<DelegationContext>;
  /** Makes a sub-agent. @throws SubAgentUnavailable if that fails, or if it is not well. */
  exportAgent(options: ExportAgentOptions): Promise<Agent>;
}
