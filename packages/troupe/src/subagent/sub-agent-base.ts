import type { MemoryBase } from '../memory/memory-base.ts';
import type { MsgInput } from '../message/msg.ts';
import type { ChatModelBase } from '../model/chat-model-base.ts';
import type { ToolResponse } from '../toolkit/tool/tool-response.ts';
import type { Toolkit } from '../toolkit/toolkit.ts';
import type { AnySchema } from '../util/schema.ts';
import { AgentBase } from '../agent/agent-base.ts';
import { delegateTo } from './delegate.ts';
import type { DelegationContext } from './grants/context-text.ts';
import { compressContext, contextMsg } from './grants/delegation-context.ts';
import { exportAgent } from './export-agent.ts';
import type { SubAgentPermissions } from './grants/permission-bundle.ts';
import { describeQuery, QUERY_SCHEMA } from './query-input.ts';
import type { DelegateOptions, SubAgent, SubAgentClass, SubAgentInit } from './sub-agent.ts';

/**
 * Base class of agents that are used as tools. A subclass writes `reply`. Start here to read this folder:
 * `makeSubagentTool` turns a class and a `SubAgentSpec` into a tool, `Delegation` is that tool, `exportAgent`
 * makes the instance, `delegateTo` runs the task; `grants/` decides which resources of the host an instance
 * gets, `limits/` how much it may spend.
 *
 * Every task has a new instance. Host and sub-agent share only `permissions`: toolkit, memory, hooks and run
 * state are the sub-agent's own, and nothing is printed. The only output is the one response of `delegate`.
 * Folder `subagent`: start here.
 */
export abstract class SubAgentBase extends AgentBase implements SubAgent {
  static readonly inputSchema: AnySchema = QUERY_SCHEMA;
  static readonly describeTask: SubAgentClass['describeTask'] = describeQuery;
  static readonly preContextCompress: SubAgentClass['preContextCompress'] = compressContext;
  static readonly exportAgent = exportAgent;

  readonly permissions: SubAgentPermissions;
  readonly toolkit: Toolkit;
  readonly memory: MemoryBase;
  readonly model: ChatModelBase | undefined;
  readonly tags: readonly string[];
  /** System prompt of the spec. */
  readonly sysPrompt: string | undefined;

  constructor({ name, spec, permissions, toolkit, memory, model }: SubAgentInit) {
    super({ name });
    this.tags = spec.tags ?? [];
    this.sysPrompt = spec.sysPrompt;
    this.permissions = permissions;
    this.toolkit = toolkit;
    this.memory = memory;
    this.model = model;
  }

  override async observe(msgs: MsgInput): Promise<void> {
    await this.memory.add(msgs);
  }

  delegate(
    taskSummary: string,
    context?: DelegationContext,
    options?: DelegateOptions,
  ): Promise<ToolResponse> {
    return delegateTo(this, taskSummary, context, options);
  }

  async loadDelegationContext(context: DelegationContext): Promise<void> {
    await this.memory.add(contextMsg(context, this.permissions.supervisorName));
  }

  healthcheck(): boolean | Promise<boolean> {
    return true;
  }
}
