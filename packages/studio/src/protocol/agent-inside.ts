/** Memory, plan, tools, budget, hooks and state of an agent at one moment. */

import type { JsonObject } from 'troupe';

import type { AgentInfo } from './studio-run.ts';
import type { MsgJson } from './tape.ts';

/**
 * `GET api/runs/:id/agents/:agentId?at=&refresh=1` → `AgentInside`. `at`: the last snapshot up to that entry. `refresh`: asks the program
 * now, if it is connected.
 */
export interface AgentInside {
  readonly agent: AgentInfo;
  /** When and at which entry it was read. */
  readonly readAt: string;
  readonly seq: number;
  /** Parts that the agent does not have are missing. */
  readonly memory?: MemoryInside;
  readonly plan?: PlanInside | null;
  readonly toolGroups?: readonly ToolGroupInside[];
  /** Budgets of a sub-agent: of its task, then of the agents around it. */
  readonly budgets?: readonly BudgetInside[];
  readonly hooks: readonly HookInside[];
  /** State tree as `stateDict()` gives it, without secrets. */
  readonly state?: JsonObject;
  readonly sysPrompt?: string;
  /** Parts that were too large and were left out. */
  readonly leftOut: readonly string[];
}

export interface MemoryInside {
  readonly className: string;
  /** `working`: messages of the next prompt. `original`: all messages of the conversation. */
  readonly working: readonly MemoryMsg[];
  readonly original?: readonly MemoryMsg[];
  readonly offloaded?: readonly OffloadedInside[];
  readonly compressions: readonly CompressionInside[];
}

export interface MemoryMsg {
  readonly msg: MsgJson;
  readonly marks: readonly string[];
}

export interface OffloadedInside {
  readonly id: string;
  readonly messages: readonly MsgJson[];
}

export interface CompressionInside {
  readonly at: string;
  readonly strategy: string;
  readonly tokensBefore?: number;
  readonly tokensAfter?: number;
  /** Ids of the messages that it removed. */
  readonly removedIds: readonly string[];
  readonly summaryId?: string;
}

export interface PlanInside {
  readonly name: string;
  readonly description: string;
  readonly state: string;
  readonly outcome?: string;
  readonly subtasks: readonly SubtaskInside[];
}

export interface SubtaskInside {
  readonly name: string;
  readonly description: string;
  readonly state: 'todo' | 'in_progress' | 'done' | 'abandoned';
  readonly outcome?: string;
}

export interface ToolGroupInside {
  readonly name: string;
  readonly description: string;
  readonly isActive: boolean;
  readonly tools: readonly ToolInside[];
}

export interface ToolInside {
  readonly name: string;
  readonly description: string;
  readonly schema: JsonObject;
}

/** Limits and spent amounts. Missing limits do not apply. */
export interface BudgetInside {
  /** Whether it is the budget of a host for all its sub-agents together. */
  readonly isHost: boolean;
  readonly limits: Readonly<Record<string, number>>;
  readonly spent: {
    readonly modelCalls: number;
    readonly delegations: number;
    readonly tokens: number;
    readonly cost: number;
    readonly ms: number;
  };
}

export interface HookInside {
  readonly type: string;
  readonly name: string;
  readonly level: 'instance' | 'class';
}
