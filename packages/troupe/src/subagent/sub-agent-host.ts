import type { LongTermMemoryBase } from '../longterm/long-term-memory-base.ts';
import type { MemoryBase } from '../memory/memory-base.ts';
import type { ChatModelBase } from '../model/chat-model-base.ts';
import type { PermissionPolicy } from '../permission/permission-policy.ts';
import type { Toolkit } from '../toolkit/toolkit.ts';
import type { PermissionBundle } from './grants/permission-bundle.ts';

/** Agent that has sub-agents: a `ReActAgent`, or another sub-agent. */
export interface SubAgentHost {
  readonly name: string;
  readonly toolkit: Toolkit;
  /** Source of the delegation context; read only. */
  readonly memory?: MemoryBase | undefined;
  readonly model?: ChatModelBase | undefined;
  readonly longTermMemory?: LongTermMemoryBase | undefined;
  /** Decides about the tool calls of the host and of its sub-agents. */
  readonly permissionPolicy?: PermissionPolicy | undefined;
  /** Resources that the host was granted, if it is a sub-agent. Nothing more can be passed on. */
  readonly permissions?: PermissionBundle | undefined;
}
