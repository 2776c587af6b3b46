import type { Logger } from '../../config/logger.ts';
import type { FileSystemHandle } from '../../filesystem/file-system-handle.ts';
import type { LongTermMemoryBase } from '../../longterm/long-term-memory-base.ts';
import type { PermissionPolicy } from '../../permission/permission-policy.ts';
import type { Session } from '../../session/session.ts';
import type { Budget } from '../limits/budget.ts';
import type { SafetyLimits } from '../limits/safety-limits.ts';
import type { Tracer } from '../../tracing/tracer.ts';

/** What a host may lend to its sub-agents. */
export interface SharedHeap {
  readonly tracer?: Tracer | undefined;
  readonly filesystem?: FileSystemHandle | undefined;
  readonly session?: Session | undefined;
  readonly longTermMemory?: LongTermMemoryBase | undefined;
  /** Decides about the tool calls of sub-agents. */
  readonly permissionPolicy?: PermissionPolicy | undefined;
  readonly safetyLimits?: SafetyLimits | undefined;
}

/** What a sub-agent got from its host, confined to what it may do. It is all that the two share. */
export interface PermissionBundle extends SharedHeap {
  readonly logger: Logger;
  readonly safetyLimits: SafetyLimits;
  /** The agent for which it works. */
  readonly supervisorName: string;
  /** The folder that is its own, if there is a file system. */
  readonly home: string;
  /** What it may spend. */
  readonly budget: Budget;
}
