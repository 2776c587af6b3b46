import { currentControl } from '../../agent/turn/current-turn.ts';
import { ScopeSlot } from '../../agent/turn/run-scope.ts';
import type { SubAgentPermissions } from '../grants/permission-bundle.ts';
import type { SubAgent } from '../sub-agent.ts';

/** The innermost delegation that code runs in, whatever agents called each other in between. */
interface DelegationScope {
  readonly agent: SubAgent;
  /** Permissions at the start of the task: replacing those of the agent later gains nothing. */
  readonly permissions: SubAgentPermissions;
  /** Whether the code is a model call that the budget has counted. */
  readonly isInModelStep: boolean;
}

const delegations = new ScopeSlot<DelegationScope>();

/** Permissions of the innermost sub-agent whose task the calling code is part of. */
export function permissionsAround(): SubAgentPermissions | undefined {
  return delegations.get()?.permissions;
}

/** The sub-agent whose own code is running, with no other agent in between. */
export function subAgentHere(): SubAgent | undefined {
  const { agent } = delegations.get() ?? {};
  return currentControl()?.place.agentId === agent?.id ? agent : undefined;
}

/** Runs the task of a sub-agent. */
export function runDelegated<T>(agent: SubAgent, body: () => T): T {
  return delegations.run({ agent, permissions: agent.permissions, isInModelStep: false }, body);
}

/** Whether the calling code is a model call that the budget has counted already. */
export function isInModelStep(): boolean {
  return delegations.get()?.isInModelStep === true;
}

/** Runs a step of a delegation with the right value of `isInModelStep`. */
export function runStepInDelegation<T>(isModelStep: boolean, body: () => T): T {
  const delegation = delegations.get();
  return delegation === undefined
    ? body()
    : delegations.run({ ...delegation, isInModelStep: isModelStep }, body);
}
