import type { Logger } from '../../config/logger.ts';
import type { FileSystemHandle } from '../../filesystem/file-system-handle.ts';
import type { LongTermMemoryBase } from '../../longterm/long-term-memory-base.ts';
import type { PermissionPolicy } from '../../permission/permission-policy.ts';
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
  /** Decides about the tool calls of sub-agents. */
  readonly permissionPolicy?: PermissionPolicy | undefined;
  readonly safetyLimits?: SafetyLimits | undefined;
}

/** Resources granted to a sub-agent, restricted to its task. Host and sub-agent share nothing else. */
export interface PermissionBundle extends SharedResources {
  readonly logger: Logger;
  readonly safetyLimits: SafetyLimits;
  /** Name of the agent that the sub-agent works for. */
  readonly supervisorName: string;
  /** Path of the sub-agent's own folder in the granted file system. */
  readonly home: string;
  /** Limits and spent amounts of the task. */
  readonly budget: Budget;
}
