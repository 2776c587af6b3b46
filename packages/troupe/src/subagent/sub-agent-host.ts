import type { LongTermMemoryBase } from '../longterm/long-term-memory-base.ts';
import type { MemoryBase } from '../memory/memory-base.ts';
import type { ChatModelBase } from '../model/chat-model-base.ts';
import type { PermissionPolicy } from '../permission/permission-policy.ts';
import type { Toolkit } from '../toolkit/toolkit.ts';
import type { PermissionBundle } from './grants/permission-bundle.ts';

/** Who has sub-agents. A `ReActAgent` is one, and so is a sub-agent. */
export interface SubAgentHost {
  readonly name: string;
  readonly toolkit: Toolkit;
  /** Is read for what a sub-agent is told, and never changed. */
  readonly memory?: MemoryBase | undefined;
  readonly model?: ChatModelBase | undefined;
  readonly longTermMemory?: LongTermMemoryBase | undefined;
  /** Decides about its tool calls, and so about those of its sub-agents. */
  readonly permissionPolicy?: PermissionPolicy | undefined;
  /** What the host got itself, if it is a sub-agent: it can't lend more than that. */
  readonly permissions?: PermissionBundle | undefined;
}
