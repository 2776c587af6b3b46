import type { Logger } from '../../config/logger.ts';
import type { FileSystemHandle } from '../../filesystem/file-system-handle.ts';
import type { LongTermMemoryBase } from '../../longterm/long-term-memory-base.ts';
import type { PermissionPolicy } from '../../permission/permission-policy.ts';
import type { KnowledgeBase } from '../../rag/knowledge-base.ts';
import type { Session } from '../../session/session.ts';
import type { Budget } from '../limits/budget.ts';
import type { SafetyLimits } from '../limits/safety-limits.ts';
import type { Tracer } from '../../tracing/tracer.ts';

/** Resources that a host may grant to its sub-agents. */
export interface SharedResources {
  readonly tracer?: Tracer | undefined;
  readonly filesystem?: FileSystemHandle | undefined;
  readonly session?: Session | undefined;
  readonly longTermMemory?: LongTermMemoryBase | undefined;
  readonly knowledge?: readonly KnowledgeBase[] | undefined;
  /** Decides about the tool calls of sub-agents. */
  readonly permissionPolicy?: PermissionPolicy | undefined;
  readonly safetyLimits?: SafetyLimits | undefined;
}

/**
 * Resources that a program gives to a sub-agent by `exportAgent`, which restricts them to the sub-agent: files to
 * its own folder, sessions to its own ids, limits to a budget of its own.
 */
export interface PermissionBundle extends SharedResources {
  /** @default the logger of the run configuration */
  readonly logger?: Logger | undefined;
  /** Name of the agent or program that the sub-agent works for. */
  readonly supervisorName: string;
}

/** Resources of a sub-agent, restricted to the sub-agent. Host and sub-agent share nothing else. */
export interface SubAgentPermissions extends PermissionBundle {
  readonly logger: Logger;
  readonly safetyLimits: SafetyLimits;
  /** Path of the sub-agent's own folder in the granted file system. */
  readonly home: string;
  /** Limits and spent amounts of the task. */
  readonly budget: Budget;
}
