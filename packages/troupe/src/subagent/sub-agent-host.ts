import type { LongTermMemoryBase } from '../longterm/long-term-memory-base.ts';
import type { MemoryBase } from '../memory/memory-base.ts';
import type { ChatModelBase } from '../model/chat-model-base.ts';
import type { PermissionPolicy } from '../permission/permission-policy.ts';
import type { Toolkit } from '../toolkit/toolkit.ts';
import type { KnowledgeBase } from '../rag/knowledge-base.ts';
import type { SubAgentPermissions } from './grants/permission-bundle.ts';

/** Agent that has sub-agents: a `ReActAgent`, or another sub-agent. */
export interface SubAgentHost {
  /** Id of the agent. Tool results of a model message whose tool calls still run are found by it. */
  readonly id?: string | undefined;
  readonly name: string;
  readonly toolkit: Toolkit;
  /** Source of the delegation context; read only. */
  readonly memory?: MemoryBase | undefined;
  readonly model?: ChatModelBase | undefined;
  readonly longTermMemory?: LongTermMemoryBase | undefined;
  readonly knowledge?: readonly KnowledgeBase[] | undefined;
  /** Decides about the tool calls of the host and of its sub-agents. */
  readonly permissionPolicy?: PermissionPolicy | undefined;
  /** Resources that the host was granted, if it is a sub-agent. Nothing more can be passed on. */
  readonly permissions?: SubAgentPermissions | undefined;
}
