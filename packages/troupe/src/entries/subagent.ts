/** Entry `troupe/subagent`: for authors of sub-agent classes with their own delegation. */

export type { Budget } from '../subagent/limits/budget.ts';
export { toDelegationContext, type ContextBundle } from '../subagent/grants/delegation-context.ts';
export type { LongTermRef } from '../subagent/grants/long-term-refs.ts';
export type { RecentEvent } from '../subagent/grants/recent-events.ts';
export type { SharedResources } from '../subagent/grants/permission-bundle.ts';
export type { SubAgentErrorCode } from '../subagent/sub-agent-error.ts';
export type { SubAgentHost } from '../subagent/sub-agent-host.ts';
export {
  SUBAGENT_RESOURCES,
  type ResourceOverrides,
  type ResourcePolicy,
  type SubAgentResource,
  type SubAgentResourceName,
} from '../subagent/grants/sub-agent-resources.ts';
export type { ExportAgentOptions, SubAgent, SubAgentClass } from '../subagent/sub-agent.ts';
